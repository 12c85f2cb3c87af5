import { createHash } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from "jose";
import { expect, it, onTestFinished } from "vitest";
import { Browser } from "../testing/browser.ts";
import { PEER_CLIENT, startIdentityPeer } from "../testing/identity-peer.ts";
import { sendRaw } from "../testing/send-raw.ts";
import { startSignInServer } from "../testing/start-sign-in-server.ts";

/** The same with `oidc-provider`, and a browser in which its user can sign in. */
async function startWithPeer(settings: object = {}, others: readonly object[] = []) {
  const user = {
    subject: "u-1",
    claims: { preferred_username: "Alice@example.com", name: "Alice", groups: ["platform"] },
  };
  const server = await startSignInServer(
    async (callback) => {
      const peer = await startIdentityPeer([callback], () => user);
      onTestFinished(() => peer.close());
      return peer.issuer;
    },
    settings,
    others,
  );
  const { url } = server;
  const signIn = async (browser: Browser, to = "/console/"): Promise<Response> =>
    browser.follow(`${url}/auth/login/peer?to=${encodeURIComponent(to)}`, (at) =>
      at.startsWith(`${url}/console/`),
    );
  const pageToken = async (browser: Browser): Promise<string> => {
    const answer = await browser.request(`${url}/auth/session`);
    return ((await answer.json()) as { csrf: string }).csrf;
  };
  const change = async (browser: Browser, headers: Record<string, string>, body?: object) =>
    browser.request(`${url}/api/v1/projects/web/stacks`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body ?? { name: "one" }),
    });
  return { ...server, user, signIn, pageToken, change };
}

it("a user signs in, has the roles of the groups of the identity provider, and signs out", async () => {
  const { url, admin, signIn, pageToken, change, logged, user } = await startWithPeer();
  await admin("POST", "/teams", { name: "ops", groups: ["platform"] });
  await admin("PUT", "/projects/web/roles/team/ops", { role: "admin" });
  const browser = new Browser();
  const back = await signIn(browser, "/console/p/web?x=1");
  expect(back.headers.get("location")).toBe("/console/p/web?x=1");
  const set = back.headers.getSetCookie().find((line) => line.startsWith("stackwright="));
  expect(set).toMatch(/; HttpOnly; SameSite=Lax; Max-Age=604800$/);
  const caller = (await (await browser.request(`${url}/api/v1/caller`)).json()) as object;
  expect(caller).toMatchObject({
    actor: "user-alice",
    user: "alice",
    projects: ["web"],
    project_roles: { web: ["registry:admin"] },
  });
  const token = await pageToken(browser);
  const made = await change(browser, { origin: url, "x-stackwright-csrf": token });
  expect(made.status).toBe(201);

  // The groups are those of the last sign-in; the user stays the same, whatever it is called now.
  user.claims = { preferred_username: "root", name: "Alice", groups: [] };
  expect((await signIn(browser)).status).toBe(302);
  const now = (await (await browser.request(`${url}/api/v1/caller`)).json()) as object;
  expect(now).toMatchObject({ user: "alice", roles: [] });

  const secret = browser.cookies(url).get("stackwright") ?? "";
  const out = await browser.request(`${url}/auth/logout`, {
    method: "POST",
    headers: { "x-stackwright-csrf": await pageToken(browser) },
  });
  expect(out.status).toBe(204);
  browser.set(url, "stackwright", secret);
  expect((await browser.request(`${url}/api/v1/caller`)).status).toBe(401);
  const audit = JSON.stringify((await admin("GET", "/registry/audit")).json);
  for (const action of ["SignInFirst", "SignIn", "SignOut", "CreateStack"]) {
    expect(audit).toContain(action);
  }
  for (const hidden of [secret, secret.split(".")[1] ?? "", token, PEER_CLIENT.secret]) {
    expect(audit + logged()).not.toContain(hidden);
  }
});

it("a user that an admin made is linked by the admin, or by an address that a trusted provider verified", async () => {
  const { url, admin, signIn, user } = await startWithPeer({ link_verified_email: true });
  const caller = async (browser: Browser) =>
    ((await (await browser.request(`${url}/api/v1/caller`)).json()) as { user?: string }).user;
  const signedIn = async (subject: string, claims: object) => {
    user.subject = subject;
    user.claims = { preferred_username: "x", name: "X", groups: [], ...claims };
    const browser = new Browser();
    await signIn(browser);
    return { browser, name: await caller(browser) };
  };
  for (const name of ["ann", "ben", "cat", "svc"]) {
    const more = name === "svc" ? { service: true } : {};
    await admin("POST", "/users", { name, email: `${name}@example.com`, ...more });
  }
  const identity = { provider: "peer", subject: "s-ann" };
  const linked = await admin("POST", "/users/ann/identities", identity);
  expect(linked.status).toBe(201);
  expect((await admin("POST", "/users/ben/identities", identity)).status).toBe(409);
  const none = { provider: "none", subject: "s" };
  expect((await admin("POST", "/users/ben/identities", none)).status).toBe(422);
  expect((await admin("POST", "/users/svc/identities", { ...identity, subject: "s" })).status).toBe(
    422,
  );
  const first = await signedIn("s-ann", { email: "other@example.com" });
  expect(first.name).toBe("ann");

  // An address that is not verified, or is said to be in words, links nothing.
  for (const email_verified of [false, "true", undefined]) {
    const { name } = await signedIn(`s-${String(email_verified)}`, {
      email: "ben@example.com",
      ...(email_verified !== undefined && { email_verified }),
    });
    expect(name).not.toBe("ben");
  }
  const verified = { email: "Ben@Example.com", email_verified: true };
  expect((await signedIn("s-ben", verified)).name).toBe("ben");
  expect((await signedIn("s-ben", { email: "moved@example.com" })).name).toBe("ben");
  // Who has signed in, and a service account, is taken over by no address.
  for (const email of ["ben@example.com", "moved@example.com", "svc@example.com"]) {
    const { name } = await signedIn(`s-thief-${email}`, { email, email_verified: true });
    expect(["ben", "svc"]).not.toContain(name);
  }
  const { json } = await admin("GET", "/users/ann/identities");
  const [found] = (json as { identities: { id: string; subject: string }[] }).identities;
  expect(found).toMatchObject({
    subject: "s-ann",
    issuer: expect.stringMatching(/^http/) as string,
  });
  expect((await admin("DELETE", `/users/ben/identities/${found?.id}`)).status).toBe(404);
  expect((await admin("DELETE", `/users/ann/identities/${found?.id}`)).status).toBe(204);
  expect(await caller(first.browser)).toBeUndefined();
  expect((await signedIn("s-ann", {})).name).not.toBe("ann");
});

it("a user signs a command in with the browser, and the token is that of the user", async () => {
  const { url, admin } = await startWithPeer();
  const verifier = "v".repeat(50);
  const asked = new URLSearchParams({
    client_id: "terraform-cli",
    response_type: "code",
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    redirect_uri: "http://localhost:10001/login",
    state: "some-state",
  }).toString();
  const browser = new Browser();
  const page = `${url}/oauth/authorize?${asked}`;
  const first = await (await browser.request(page)).text();
  const [, path = ""] = /<a href="([^"]+)">Sign in with peer/.exec(first) ?? [];
  const back = await browser.follow(url + path.replaceAll("&#38;", "&"), (at) => at === page);
  expect(back.status).toBe(302);
  const shown = await (await browser.request(page)).text();
  expect(shown).toContain("Continue as alice");
  const [, proof = ""] = /name="page_token" value="([^"]+)"/.exec(shown) ?? [];
  const agree = async (from: Browser, token: string) =>
    from.request(`${url}/oauth/authorize`, {
      method: "POST",
      body: `${asked}&page_token=${token}`,
    });
  expect((await agree(new Browser(), proof)).status).toBe(401);
  const agreed = await agree(browser, proof);
  const location = new URL(agreed.headers.get("location") ?? "");
  const form = {
    client_id: "terraform-cli",
    grant_type: "authorization_code",
    code: location.searchParams.get("code") ?? "",
    code_verifier: verifier,
    redirect_uri: "http://localhost:10001/login",
  };
  const answer = await fetch(`${url}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams(form),
  });
  const { access_token: token } = (await answer.json()) as { access_token: string };
  const caller = async () => {
    const headers = { authorization: `Bearer ${token}` };
    const found = await fetch(`${url}/api/v1/caller`, { headers });
    return { status: found.status, json: (await found.json()) as object };
  };
  expect(await caller()).toMatchObject({ status: 200, json: { user: "alice", roles: [] } });
  await admin("PUT", "/roles/user/alice", { role: "viewer" });
  expect(await caller()).toMatchObject({ json: { roles: ["registry:reader"] } });
  await admin("PATCH", "/users/alice", { disabled: true });
  expect((await caller()).status).toBe(401);
});

it("a group of one identity provider is not that of another one", async () => {
  const { url, admin, signIn, user } = await startWithPeer({}, [
    { name: "other", issuer: "https://other.example.com" },
  ]);
  const groups = ["platform"];
  expect((await admin("POST", "/teams", { name: "ops", groups })).status).toBe(422);
  expect((await admin("POST", "/teams", { name: "ops", groups, provider: "none" })).status).toBe(
    422,
  );
  for (const [name, provider] of [
    ["ops", "other"],
    ["dev", "peer"],
  ]) {
    expect((await admin("POST", "/teams", { name, groups, provider })).status).toBe(201);
    await admin("PUT", `/roles/team/${name}`, { role: name === "ops" ? "admin" : "viewer" });
  }
  user.claims = { preferred_username: "alice", name: "Alice", groups };
  const browser = new Browser();
  await signIn(browser);
  const roles = async () =>
    ((await (await browser.request(`${url}/api/v1/caller`)).json()) as { roles: string[] }).roles;
  expect(await roles()).toEqual(["registry:reader"]);
  await admin("PATCH", "/teams/ops", { provider: "peer" });
  expect((await roles()).toSorted()).toEqual(["registry:admin", "registry:reader"]);
});

it("a page of another site changes nothing with the session, and reads nothing", async () => {
  const { url, admin, signIn, pageToken, change } = await startWithPeer();
  const browser = new Browser();
  await signIn(browser);
  await admin("PUT", "/roles/user/alice", { role: "admin" });
  const csrf = { "x-stackwright-csrf": await pageToken(browser) };
  const evil = "https://evil.example.com";
  for (const headers of [
    {},
    { origin: url },
    csrf,
    { ...csrf, origin: evil },
    { ...csrf, origin: url, "sec-fetch-site": "cross-site" },
    { ...csrf, origin: url, "sec-fetch-site": "same-site" },
    { origin: url, "x-stackwright-csrf": "A".repeat(43) },
  ] as Record<string, string>[]) {
    expect([headers, (await change(browser, headers)).status]).toEqual([headers, 403]);
  }
  const read = { headers: { "sec-fetch-site": "cross-site" } };
  expect((await browser.request(`${url}/api/v1/caller`, read)).status).toBe(403);
  // No other face of the server takes the cookie, and the sign-out needs the page as well.
  expect((await browser.request(`${url}/api/v2/account/details`)).status).toBe(401);
  expect((await browser.request(`${url}/state/v1/default/web/one`)).status).toBe(401);
  expect((await browser.request(`${url}/auth/logout`, { method: "POST" })).status).toBe(403);
  const good = { ...csrf, "sec-fetch-site": "same-origin" };
  expect((await change(browser, good)).status).toBe(201);
  // The registry's routes for credentials are behind the same checks.
  const post = async (headers: Record<string, string>) =>
    (
      await browser.request(`${url}/api/v1/registry/tokens`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ roles: ["registry:reader"] }),
      })
    ).status;
  expect([await post({}), await post(good)]).toEqual([403, 201]);
});

it("of a session and a token in one request the token alone counts, and of two sessions none", async () => {
  const { url, token, signIn } = await startWithPeer();
  const browser = new Browser();
  await signIn(browser);
  const secret = browser.cookies(url).get("stackwright") ?? "";
  const cookie = ["cookie", `stackwright=${secret}`] as const;
  const caller = async (headers: readonly (readonly [string, string])[]) => {
    const { status, text } = await sendRaw(`${url}/api/v1/caller`, headers);
    return [status, (JSON.parse(text) as { user?: string }).user];
  };
  expect(await caller([cookie])).toEqual([200, "alice"]);
  for (const [name, value] of [
    ["authorization", `Bearer ${token}`],
    ["x-auth-token", token],
  ] as const) {
    expect(await caller([cookie, [name, value]])).toEqual([200, undefined]);
    expect(await caller([[name, value], cookie])).toEqual([200, undefined]);
  }
  for (const value of ["Bearer none", "Basic none", ""]) {
    expect(await caller([cookie, ["authorization", value]])).toEqual([401, undefined]);
  }
  // In one header or in two, equal ones as well.
  for (const other of [secret, "none"]) {
    expect(await caller([cookie, ["cookie", `stackwright=${other}`]])).toEqual([401, undefined]);
    const both = `stackwright=${secret}; stackwright=${other}`;
    expect(await caller([["cookie", both]])).toEqual([401, undefined]);
  }
  const sites = ["same-origin", "cross-site"].map((site) => ["sec-fetch-site", site] as const);
  expect(await caller([cookie, ...sites])).toEqual([403, undefined]);
});

it("a page whose name was made to lead to this machine has no session, and no token of a page", async () => {
  const { url, token, admin, signIn, pageToken } = await startWithPeer();
  const browser = new Browser();
  await signIn(browser);
  await admin("PUT", "/roles/user/alice", { role: "admin" });
  const { host, port } = new URL(url);
  const cookie = `stackwright=${browser.cookies(url).get("stackwright") ?? ""}`;
  const csrf = await pageToken(browser);
  const ask = async (of: string, path: string, method = "GET", body?: object) =>
    sendRaw(
      url + path,
      [
        ["host", of],
        ["cookie", cookie],
        ["origin", `http://${of}`],
        // What the browser says of a page under the same name.
        ["sec-fetch-site", "same-origin"],
        ["x-stackwright-csrf", csrf],
      ],
      { method, ...(body !== undefined && { body }) },
    );
  const stacks = "/api/v1/projects/web/stacks";
  const foreign = ["evil.example.com", `127.0.0.1.evil.example.com:${port}`, "192.0.2.1", "a b"];
  for (const of of foreign) {
    const read = await ask(of, "/api/v1/caller");
    const changed = await ask(of, stacks, "POST", { name: "one" });
    const session = await ask(of, "/auth/session");
    await ask(of, "/auth/logout", "POST");
    const device = await ask(of, "/oauth/device");
    expect([of, read.status, changed.status, session.status]).toEqual([of, 401, 401, 204]);
    for (const { text } of [read, changed, session, device]) expect(text).not.toContain("alice");
  }
  // The same from this machine; a token is no matter of a browser.
  for (const of of [host, `localhost:${port}`, `[::1]:${port}`]) {
    expect([of, (await ask(of, "/api/v1/caller")).status]).toEqual([of, 200]);
  }
  const named = [
    ["host", "evil.example.com"] as const,
    ["authorization", `Bearer ${token}`] as const,
  ];
  expect((await sendRaw(`${url}/api/v1/caller`, named)).status).toBe(200);
  expect((await ask(host, stacks, "POST", { name: "one" })).status).toBe(201);
});

it("a session that was planted in a browser is never the session of who signs in there", async () => {
  const { url, signIn } = await startWithPeer();
  const attacker = new Browser();
  await signIn(attacker);
  const planted = attacker.cookies(url).get("stackwright") ?? "";
  const victim = new Browser();
  victim.set(url, "stackwright", planted);
  await signIn(victim);
  expect(victim.cookies(url).get("stackwright")).not.toBe(planted);
  expect((await attacker.request(`${url}/api/v1/caller`)).status).toBe(401);
  expect((await victim.request(`${url}/api/v1/caller`)).status).toBe(200);
});

it("sessions are listed, ended by their user and by an admin, and end with the user", async () => {
  const { url, admin, signIn } = await startWithPeer();
  const [first, second] = [new Browser(), new Browser()];
  await signIn(first);
  await signIn(second);
  const listed = (await admin("GET", "/sessions")).json as { sessions: { id: string }[] };
  expect(listed.sessions).toHaveLength(2);
  expect(JSON.stringify(listed)).not.toContain(first.cookies(url).get("stackwright"));
  for (const { id } of listed.sessions.slice(0, 1)) {
    expect((await admin("DELETE", `/sessions/${id}`)).status).toBe(204);
  }
  const statuses = async () =>
    Promise.all(
      [first, second].map(async (one) => (await one.request(`${url}/api/v1/caller`)).status),
    );
  expect((await statuses()).toSorted((a, b) => a - b)).toEqual([200, 401]);
  await admin("PATCH", "/users/alice", { disabled: true });
  expect(await statuses()).toEqual([401, 401]);
  const refused = await signIn(first);
  expect(refused.status).toBe(401);
});

it("a return that was not begun in this browser, or leads elsewhere, is refused", async () => {
  const { url, signIn } = await startWithPeer();
  // Login CSRF: an attacker's code in the browser of somebody else.
  const attacker = new Browser();
  let stolen = "";
  await attacker.follow(`${url}/auth/login/peer`, (at) => {
    if (at.startsWith(`${url}/auth/callback`)) stolen = at;
    return stolen !== "";
  });
  const victim = new Browser();
  expect((await victim.request(stolen)).status).toBe(401);
  await victim.request(`${url}/auth/login/peer`);
  expect((await victim.request(stolen)).status).toBe(401);
  expect(victim.cookies(url).has("stackwright")).toBe(false);
  // A code is good once.
  expect((await attacker.request(stolen)).status).toBe(302);
  expect((await attacker.request(stolen)).status).toBe(401);
  for (const to of [
    "https://evil.example.com/",
    "//evil.example.com",
    "/console/\\evil",
    "/\\evil",
  ]) {
    expect([to, (await signIn(new Browser(), to)).headers.get("location")]).toEqual([
      to,
      "/console/",
    ]);
  }
  expect((await fetch(`${url}/auth/login/other`)).status).toBe(404);
});

type Forge = (claims: Record<string, unknown>, keys: Keys) => Promise<string>;
interface Keys {
  readonly own: CryptoKey;
  readonly other: CryptoKey;
}

it("forged answers of an identity provider are refused: other keys, audiences, nonces, issuers, times, and none", async () => {
  const { publicKey, privateKey: own } = await generateKeyPair("RS256");
  const { privateKey: other } = await generateKeyPair("RS256");
  const jwk = { ...(await exportJWK(publicKey)), kid: "k", alg: "RS256" };
  const sign = async (claims: Record<string, unknown>, key: CryptoKey): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: "k" }).sign(key);
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  let claims: Record<string, unknown> = {};
  let forge: Forge = async () => "";
  const rogue = createServer((request, response) => {
    const { port } = rogue.address() as AddressInfo;
    const issuer = `http://127.0.0.1:${port}`;
    const answer = async (): Promise<object> => {
      if (request.url === "/jwks") return { keys: [jwk] };
      if (request.url === "/token") {
        return {
          access_token: "a",
          token_type: "Bearer",
          id_token: await forge(claims, { own, other }),
        };
      }
      return {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        id_token_signing_alg_values_supported: ["RS256"],
        response_types_supported: ["code"],
      };
    };
    response.setHeader("content-type", "application/json");
    void (async () => response.end(JSON.stringify(await answer())))();
  });
  await new Promise<void>((done) => rogue.listen(0, "127.0.0.1", done));
  onTestFinished(() => {
    rogue.closeAllConnections();
    rogue.close();
  });
  const issuer = `http://127.0.0.1:${(rogue.address() as AddressInfo).port}`;
  const { url, admin } = await startSignInServer(async () => issuer);
  const attempt = async (made: Forge, change?: (query: URLSearchParams) => void) => {
    const browser = new Browser();
    const left = await browser.request(`${url}/auth/login/peer`);
    const query = new URL(left.headers.get("location") ?? "").searchParams;
    expect(query.get("code_challenge_method")).toBe("S256");
    const nowS = Math.floor(Date.now() / 1_000);
    forge = made;
    claims = {
      iss: issuer,
      aud: PEER_CLIENT.id,
      sub: "u",
      nonce: query.get("nonce"),
      iat: nowS,
      exp: nowS + 300,
    };
    const returned = new URLSearchParams({ code: "c", state: query.get("state") ?? "" });
    change?.(returned);
    return (await browser.request(`${url}/auth/callback/peer?${returned.toString()}`)).status;
  };
  expect(await attempt(async (given, { own: key }) => sign(given, key))).toBe(302);
  const forgeries: Readonly<Record<string, Forge>> = {
    "another key": async (given, keys) => sign(given, keys.other),
    "alg none": async (given) => `${part({ alg: "none" })}.${part(given)}.`,
    "another audience": async (given, keys) => sign({ ...given, aud: "other" }, keys.own),
    "another nonce": async (given, keys) => sign({ ...given, nonce: "replayed" }, keys.own),
    "no nonce": async (given, keys) => sign({ ...given, nonce: undefined }, keys.own),
    "another issuer": async (given, keys) =>
      sign({ ...given, iss: "https://x.example.com" }, keys.own),
    "an expired one": async (given, keys) => sign({ ...given, iat: 1, exp: 2 }, keys.own),
  };
  for (const [name, made] of Object.entries(forgeries)) {
    expect([name, await attempt(made)]).toEqual([name, 401]);
  }
  const good: Forge = async (given, keys) => sign(given, keys.own);
  expect(await attempt(good, (query) => query.delete("state"))).toBe(401);
  expect(await attempt(good, (query) => query.set("state", "other"))).toBe(401);
  expect(await attempt(good, (query) => query.set("iss", "https://x.example.com"))).toBe(401);
  const { users } = (await admin("GET", "/users")).json as { users: object[] };
  expect(users).toHaveLength(1);
});

/** A server with a token of some roles, a code that it asked for, and what pages do with codes. */
async function startWithCode(body: object = { roles: ["registry:reader"], projects: ["web"] }) {
  const server = await startSignInServer(async () => "http://127.0.0.1:1");
  const { url, admin } = server;
  const made = await admin("POST", "/registry/tokens", { description: "reads", ...body });
  const { token, token_id: id } = made.json as { readonly token: string; token_id: string };
  const ask = async (authorization = `Bearer ${token}`): Promise<Response> =>
    fetch(`${url}/auth/codes`, { method: "POST", headers: { authorization } });
  const codeOf = async (answer: Response): Promise<string> => {
    expect(answer.status).toBe(201);
    return new URL(((await answer.json()) as { url: string }).url).hash.slice("#code=".length);
  };
  const send = async (path: string, code: string, headers: Record<string, string>) => {
    const sent = { "x-stackwright-code": code, ...headers };
    const answer = await fetch(`${url}${path}`, { method: "POST", headers: sent });
    return { status: answer.status, json: (await answer.json()) as Record<string, string> };
  };
  const own = { origin: url };
  const look = async (code: string, headers: Record<string, string> = own) =>
    send("/auth/code/owner", code, headers);
  const take = async (code: string, csrf = "", headers: Record<string, string> = own) =>
    send("/auth/code", code, { ...headers, ...(csrf !== "" && { "x-stackwright-csrf": csrf }) });
  /** What a page does once its user agreed. */
  const redeem = async (code: string) => take(code, (await look(code)).json["csrf"]);
  return { ...server, token, id, ask, codeOf, look, take, redeem };
}

it("a browser is signed in once by the code that a token asks for, with no more than the token has", async () => {
  const { url, admin, token, id, ask, codeOf, look, redeem } = await startWithCode();
  expect((await ask("Bearer sw_no")).status).toBe(401);
  const answer = await ask();
  const address = ((await answer.clone().json()) as { readonly url: string }).url;
  expect(address).toMatch(new RegExp(`^${url}/console/#code=[\\w-]{75}$`));
  expect(address).not.toContain(token);
  const tokens = async () => ((await admin("GET", "/tokens")).json as { tokens: object[] }).tokens;
  const before = await tokens();
  const code = await codeOf(answer);
  const owner = { account: "default", token: id, description: "reads" };
  expect((await look(code)).json).toEqual({ ...owner, csrf: expect.any(String) as string });
  // A code that nobody uses leaves no token.
  expect(await tokens()).toEqual(before);
  const taken = await redeem(code);
  expect(taken.status).toBe(200);
  expect((await look(code)).status).toBe(401);
  const caller = async () => {
    const headers = { authorization: `Bearer ${taken.json["token"]}` };
    return (await fetch(`${url}/api/v1/caller`, { headers })).json();
  };
  expect(await caller()).toMatchObject({ roles: ["registry:reader"], projects: ["web"] });
  const late = await codeOf(await ask());
  expect((await admin("DELETE", `/registry/credentials/${id}`)).status).toBe(204);
  expect(await caller()).toMatchObject({ status: 401 });
  // The code of a revoked token gives none.
  expect((await look(late)).status).toBe(401);
  const audit = JSON.stringify((await admin("GET", "/registry/audit")).json);
  expect(audit).toContain("AskForConsoleCode");
  expect(audit).toContain("GiveConsoleToken");
  expect(audit).not.toContain(code.slice(32));
});

it("a code is used by a page of the server alone, after it has shown whose the code is", async () => {
  const { url, ask, codeOf, look, take } = await startWithCode();
  const [code, other] = [await codeOf(await ask()), await codeOf(await ask())];
  const evil = { origin: "https://evil.example.com" };
  for (const headers of [
    {},
    evil,
    { ...evil, "sec-fetch-site": "cross-site" },
    { origin: url, "sec-fetch-site": "same-site" },
  ] as Record<string, string>[]) {
    const { csrf } = (await look(code)).json;
    expect([headers, (await look(code, headers)).status]).toEqual([headers, 403]);
    expect([headers, (await take(code, csrf, headers)).status]).toEqual([headers, 403]);
  }
  // Without the answer of the question, or with that about another code.
  for (const csrf of ["", "A".repeat(43), (await look(other)).json["csrf"]]) {
    expect([csrf, (await take(code, csrf)).status]).toEqual([csrf, 403]);
  }
  const { csrf } = (await look(code)).json;
  expect((await take(code, csrf, { "sec-fetch-site": "same-origin" })).status).toBe(200);
});

it("a user who has as many tokens as may be gets no further one by a code", {
  timeout: 30_000,
}, async () => {
  const { admin, credentials, ask, codeOf, redeem } = await startWithCode();
  expect((await admin("POST", "/users", { name: "ann" })).status).toBe(201);
  await admin("PUT", "/projects/web/roles/user/ann", { role: "viewer" });
  const given = { account: "default", user: "ann", roles: ["admin"] as const };
  const { token } = await credentials.createToken(given);
  const code = await codeOf(await ask(`Bearer ${token}`));
  for (let made = 1; made < 200; made += 1) await credentials.createToken(given);
  const refused = await ask(`Bearer ${token}`);
  expect([refused.status, await refused.json()]).toEqual([
    422,
    expect.objectContaining({ code: "unprocessable" }),
  ]);
  expect(await redeem(code)).toMatchObject({
    status: 422,
    json: { detail: expect.stringContaining("200 tokens") as string },
  });
});
