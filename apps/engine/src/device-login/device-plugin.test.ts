import { expect, it, onTestFinished } from "vitest";
import { Browser } from "../testing/browser.ts";
import { startIdentityPeer } from "../testing/identity-peer.ts";
import { startApi } from "../testing/start-api.ts";
import { startSignInServer } from "../testing/start-sign-in-server.ts";

const GRANT = "urn:ietf:params:oauth:grant-type:device_code";

interface Asked {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri: string;
}

/** A server on which `u-1`, called alice, and `u-2`, called bob, sign in. */
async function start({ trustProxy = false } = {}) {
  let subject = "alice";
  const server = await startSignInServer(
    async (callback) => {
      const peer = await startIdentityPeer([callback], () => ({
        subject,
        claims: { preferred_username: subject, name: subject },
      }));
      onTestFinished(() => peer.close());
      return peer.issuer;
    },
    {},
    [],
    trustProxy,
  );
  const { url } = server;
  const page = `${url}/oauth/device`;
  const signIn = async (name: string, to = "/oauth/device"): Promise<Browser> => {
    subject = name;
    const browser = new Browser();
    const back = await browser.follow(
      `${url}/auth/login/peer?to=${encodeURIComponent(to)}`,
      (at) => at === `${url}${to}`,
    );
    expect(back.headers.get("location")).toBe(to);
    return browser;
  };
  const pageToken = async (browser: Browser): Promise<string> => {
    const text = await (await browser.request(page)).text();
    return /name="page_token" value="([^"]+)"/.exec(text)?.[1] ?? "";
  };
  const command = async (path: string, form: Readonly<Record<string, string>>) => {
    const answer = await fetch(`${page}${path}`, {
      method: "POST",
      body: new URLSearchParams({ client_id: "stackwright", ...form }),
    });
    const { status, headers } = answer;
    return { status, headers, json: (await answer.json()) as Record<string, unknown> };
  };
  const ask = async (form: Readonly<Record<string, string>> = {}): Promise<Asked> =>
    (await command("/code", form)).json as unknown as Asked;
  const poll = async ({ device_code }: Pick<Asked, "device_code">) =>
    command("/token", { grant_type: GRANT, device_code });
  const submit = async (
    browser: Browser,
    path: string,
    form: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = { "sec-fetch-site": "same-origin" },
  ) => {
    const body = new URLSearchParams({ page_token: await pageToken(browser), ...form });
    const answer = await browser.request(`${page}${path}`, { method: "POST", body, headers });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const audit = async () => JSON.stringify((await server.admin("GET", "/registry/audit")).json);
  return { ...server, page, signIn, pageToken, command, ask, poll, submit, audit };
}

it("a command gets a token of the user who typed its code elsewhere and agreed, limited by the role that it asked for", async () => {
  const { url, page, admin, signIn, ask, poll, submit, audit, logged } = await start();
  const services = await (await fetch(`${url}/.well-known/terraform.json`)).json();
  expect(services).toMatchObject({
    "device.v1": {
      client: "stackwright",
      code: "/oauth/device/code",
      token: "/oauth/device/token",
    },
  });
  const asked = await ask({ host: "build-1", scope: "planner" });
  expect(asked).toMatchObject({
    user_code: expect.stringMatching(/^[B-Z]{5}-[B-Z]{5}$/),
    verification_uri: page,
    expires_in: 600,
    interval: 5,
  });
  expect(JSON.stringify(asked)).not.toContain("verification_uri_complete");

  const stranger = await new Browser().request(page);
  expect(await stranger.text()).toContain('href="/auth/login/peer?to=%2Foauth%2Fdevice"');
  const alice = await signIn("alice");
  const shown = await submit(alice, "", { user_code: asked.user_code.toLowerCase() });
  expect(shown.status).toBe(200);
  expect(shown.text).toContain("build-1");
  expect(shown.text).toContain("127.0.0.1");
  expect(shown.text).toContain("of what alice may, at most that of the role planner");
  expect(shown.headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
  const form = { user_code: asked.user_code, decision: "agreed" };
  expect((await submit(alice, "/decision", form)).text).toContain("Signed in");

  const given = await poll(asked);
  expect(given).toMatchObject({ status: 200, json: { token_type: "bearer" } });
  expect(given.headers.get("cache-control")).toBe("no-store");
  const token = String(given.json["access_token"]);
  await admin("PUT", "/projects/web/roles/user/alice", { role: "admin" });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const body = JSON.stringify({ name: "one" });
  const stacks = `${url}/api/v1/projects/web/stacks`;
  await expect
    .poll(async () => (await fetch(stacks, { headers })).status, { timeout: 60_000 })
    .toBe(200);
  expect((await fetch(stacks, { method: "POST", headers, body })).status).toBe(403);
  const listed = await (await fetch(`${url}/api/v1/tokens`, { headers })).json();
  expect(listed).toMatchObject({
    tokens: [{ user: "alice", roles: ["planner"], projects: [], description: "login on build-1" }],
  });

  // The code was good once.
  expect(await poll(asked)).toMatchObject({ status: 400, json: { error: "invalid_grant" } });
  expect((await submit(alice, "/decision", form)).status).toBe(400);
  const trail = await audit();
  for (const text of [
    "AskForDeviceLogin",
    "AgreeToDeviceLogin",
    "GiveDeviceToken",
    "planner on build-1 at 127.0.0.1",
  ]) {
    expect(trail).toContain(text);
  }
  const [{ id } = { id: "" }] = (listed as { tokens: { id: string }[] }).tokens;
  expect((await fetch(`${url}/api/v1/tokens/${id}`, { method: "DELETE", headers })).status).toBe(
    204,
  );
  expect((await fetch(stacks, { headers })).status).toBe(401);
  for (const secret of [token, asked.device_code, asked.user_code]) {
    expect(logged()).not.toContain(secret);
    expect(trail).not.toContain(secret);
  }
});

it("a refusal is final, also where another user agrees later, and answers to other codes are all alike", async () => {
  const { signIn, ask, poll, submit, audit } = await start();
  const [alice, mallory] = [await signIn("alice"), await signIn("mallory")];
  const asked = await ask();
  const refuse = { user_code: asked.user_code, decision: "refused" };
  expect((await submit(alice, "/decision", refuse)).text).toContain("The command gets no token");
  const late = await submit(mallory, "/decision", { ...refuse, decision: "agreed" });
  expect(late.status).toBe(400);
  expect(await poll(asked)).toMatchObject({ status: 400, json: { error: "access_denied" } });
  expect(await audit()).toContain("RefuseDeviceLogin");
  const page = async (user_code: string) => {
    const { status, text } = await submit(alice, "", { user_code });
    return `${status} ${text}`;
  };
  const [used, unknown, malformed] = [
    await page(asked.user_code),
    await page("BCDFG-HJKLM"),
    await page("<script>alert(1)</script>"),
  ];
  expect(used).toMatch(/^400 .*This code is not valid, or no longer/s);
  expect([unknown, malformed]).toEqual([used, used]);
});

it("codes that are guessed are few for a user, and the right one does not help after them", async () => {
  const { signIn, ask, poll, submit } = await start();
  const alice = await signIn("alice");
  const asked = await ask();
  const guess = async () => submit(alice, "", { user_code: "BCDFG-HJKLM" });
  for (let i = 0; i < 20; i += 1) expect((await guess()).status).toBe(400);
  // Some are given back as time passes.
  const text = async (): Promise<string> => (await guess()).text;
  await expect.poll(text, { timeout: 60_000, interval: 1 }).toContain("Too many codes");
  const bob = await signIn("bob");
  expect((await submit(bob, "", { user_code: asked.user_code })).status).toBe(200);
  expect(await poll(asked)).toMatchObject({ json: { error: "authorization_pending" } });
  const error = async () => (await poll(asked)).json["error"];
  await expect.poll(error, { timeout: 60_000, interval: 1 }).toBe("slow_down");
});

it("consent needs a session, a page of this server and its token, before the form is read", async () => {
  const { page, signIn, ask, poll, submit, pageToken, admin } = await start();
  const [alice, mallory] = [await signIn("alice"), await signIn("mallory")];
  const asked = await ask({ host: '"><script>', scope: "admin" });
  const form = { user_code: asked.user_code, decision: "agreed" };
  const sent = async (headers: Record<string, string>, extra: Record<string, string> = {}) =>
    (await submit(alice, "/decision", { ...form, ...extra }, headers)).status;
  expect(await sent({ "sec-fetch-site": "cross-site" })).toBe(403);
  expect(await sent({ "sec-fetch-site": "same-site" })).toBe(403);
  expect(await sent({ origin: "https://evil.example.com" })).toBe(403);
  expect(await sent({})).toBe(403);
  const own = { "sec-fetch-site": "same-origin" };
  expect(await sent(own, { page_token: "" })).toBe(403);
  expect(await sent(own, { page_token: await pageToken(mallory) })).toBe(403);
  // Without a session nothing is read: a body that never ends is answered.
  const endless = new ReadableStream({ start: (stream) => stream.enqueue(new Uint8Array(10)) });
  const stranger = await fetch(`${page}/decision`, {
    method: "POST",
    body: endless,
    duplex: "half",
    headers: own,
  });
  expect(stranger.status).toBe(401);
  const large = await submit(alice, "/decision", { ...form, more: "x".repeat(5_000) });
  expect(large.status).toBe(413);
  expect(await poll(asked)).toMatchObject({ json: { error: "authorization_pending" } });

  const other = await ask({ host: '"><script>' });
  expect((await submit(alice, "", other as never)).text).not.toContain("<script>");
  expect((await submit(alice, "/decision", { ...form, user_code: other.user_code })).status).toBe(
    200,
  );
  // A user who is disabled meanwhile gives nothing.
  await admin("PATCH", "/users/alice", { disabled: true });
  expect(await poll(other)).toMatchObject({ status: 400, json: { error: "access_denied" } });
});

it("behind a proxy the page shows the address that the proxy saw, and no other text", async () => {
  const { page, signIn, submit } = await start({ trustProxy: true });
  const alice = await signIn("alice");
  const shown = async (forwarded: string): Promise<string> => {
    const answer = await fetch(`${page}/code`, {
      method: "POST",
      body: new URLSearchParams({ client_id: "stackwright" }),
      headers: { "x-forwarded-for": forwarded },
    });
    const { user_code } = (await answer.json()) as Asked;
    const { text } = await submit(alice, "", { user_code });
    return /<dt>Address<\/dt><dd>([^<]*)</.exec(text)?.[1] ?? "";
  };
  expect(await shown("198.51.100.9")).toBe("198.51.100.9");
  expect(await shown("192.0.2.1, 198.51.100.9")).toBe("198.51.100.9");
  expect(await shown("your own machine (verified)")).toBe("unknown");
});

it("requests that are none are refused as RFC 8628 says, and too many of an address", async () => {
  const { command, page } = await start();
  const error = async (path: string, form: Record<string, string>) => {
    const { status, json } = await command(path, form);
    return [status, json["error"]];
  };
  expect(await error("/code", { client_id: "other" })).toEqual([400, "invalid_client"]);
  expect(await error("/code", { scope: "root" })).toEqual([400, "invalid_scope"]);
  expect(await error("/code", { scope: "constructor" })).toEqual([400, "invalid_scope"]);
  expect(await error("/token", { client_id: "other" })).toEqual([400, "invalid_client"]);
  expect(await error("/token", { grant_type: "password" })).toEqual([
    400,
    "unsupported_grant_type",
  ]);
  expect(await error("/token", { grant_type: GRANT })).toEqual([400, "invalid_grant"]);
  expect(await error("/token", { grant_type: GRANT, pad: "x".repeat(5_000) })).toEqual([
    413,
    "invalid_request",
  ]);
  // A code in an address is not looked at.
  const query = new URLSearchParams({ client_id: "stackwright" });
  const inAddress = await fetch(`${page}/code?${query.toString()}`, { method: "POST" });
  expect(inAddress.status).toBe(400);
  const asked = [];
  for (let i = 0; i < 11; i += 1) asked.push(await command("/code", {}));
  expect(asked.map(({ status }) => status)).toEqual([
    ...Array.from({ length: 10 }, () => 200),
    429,
  ]);
  expect(asked.at(-1)).toMatchObject({ json: { error: "slow_down" } });
  expect(Number(asked.at(-1)?.headers.get("retry-after"))).toBeGreaterThan(0);
  // Beyond that, requests of an address are limited before they are read.
  const wait = async () => (await command("/code", {})).headers.get("retry-after");
  await expect.poll(wait, { timeout: 60_000, interval: 1 }).not.toBe("60");
});

it("a server without a sign-in of users does not offer it", async () => {
  const { server } = await startApi("none");
  const services = await (await fetch(`${server.url}/.well-known/terraform.json`)).json();
  expect(services).not.toHaveProperty("device.v1");
  expect((await fetch(`${server.url}/oauth/device/code`, { method: "POST" })).status).toBe(404);
});

it("who has 200 tokens gets no further one, and hears of it before agreeing", {
  timeout: 60_000,
}, async () => {
  const { signIn, ask, poll, submit, credentials } = await start();
  const alice = await signIn("alice");
  const asked = await ask({ host: "build-1" });
  const given = { account: "default", user: "alice", roles: ["reader"] as const };
  const made: string[] = [];
  for (let i = 0; i < 200; i += 1) made.push((await credentials.createToken(given)).tokenId);
  const form = { user_code: asked.user_code, decision: "agreed" };
  const refused = await submit(alice, "/decision", form);
  expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("200 tokens")]);
  expect((await poll(asked)).json).toEqual({ error: "authorization_pending" });
});
