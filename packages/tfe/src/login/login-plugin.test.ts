import { createHash } from "node:crypto";
import fastify from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { loginPlugin } from "./login-plugin.ts";

const VERIFIER = "v".repeat(50);
const CHALLENGE = createHash("sha256").update(VERIFIER).digest("base64url");
const REDIRECT = "http://localhost:10001/login";
const ASKED = {
  client_id: "terraform-cli",
  response_type: "code",
  code_challenge: CHALLENGE,
  code_challenge_method: "S256",
  redirect_uri: REDIRECT,
  state: "some-state",
};

async function start() {
  const clock = { nowMs: 1_000_000 };
  const made = new Set<string>();
  let nonces = 0;
  const app = fastify();
  onTestFinished(async () => app.close());
  const owner = { account: "acme", actor: "ann", roles: ["reader"], projects: [], untilMs: null };
  const port = {
    admit: (address: string) => (address === "192.0.2.1" ? 1_500 : 0),
    owner: async (token: string) => (token === "right" ? owner : undefined),
    session: async ({ cookie }: { readonly cookie?: string | undefined }) =>
      cookie === "s=1" ? { owner, name: "ann <a@b>", pageToken: "p".repeat(43) } : undefined,
    signInLinks: (to: string) => [
      { name: "corp", path: `/auth/login/corp?to=${encodeURIComponent(to)}` },
    ],
    issue: async (_owner: object, secret: Uint8Array) => {
      const token = Buffer.from(secret).toString("hex");
      if (made.has(token)) return undefined;
      made.add(token);
      return token;
    },
    codeKey: async () => new Uint8Array(32),
    wallMs: () => clock.nowMs,
    nonce: () => {
      nonces += 1;
      return Uint8Array.of(nonces);
    },
  };
  await app.register(loginPlugin, { port, prefix: "/oauth" });
  const post = async (path: string, form: Record<string, string>) =>
    app.inject({
      method: "POST",
      url: `/oauth${path}`,
      payload: new URLSearchParams(form).toString(),
    });
  const code = async (): Promise<string> => {
    const { headers } = await post("/authorize", { ...ASKED, token: "right" });
    const { searchParams } = new URL(String(headers.location));
    expect(searchParams.get("state")).toBe("some-state");
    return searchParams.get("code") ?? "";
  };
  const redeem = async (given: Record<string, string>) =>
    post("/token", {
      client_id: "terraform-cli",
      grant_type: "authorization_code",
      code_verifier: VERIFIER,
      redirect_uri: REDIRECT,
      ...given,
    });
  return { app, clock, post, code, redeem };
}

it("gives a token for a code, once", async () => {
  const { code, redeem } = await start();
  const given = await code();
  const first = await redeem({ code: given });
  expect([first.statusCode, first.json()]).toEqual([
    200,
    { access_token: expect.stringMatching(/^[0-9a-f]{64}$/), token_type: "bearer" },
  ]);
  const second = await redeem({ code: given });
  expect([second.statusCode, second.json()]).toEqual([400, { error: "invalid_grant" }]);
  expect((await redeem({ code: await code() })).statusCode).toBe(200);
});

it.each<[string, Record<string, string>]>([
  ["another verifier", { code_verifier: "w".repeat(50) }],
  ["another address", { redirect_uri: "http://localhost:10002/login" }],
  ["another client", { client_id: "other" }],
  ["another grant", { grant_type: "password" }],
])("refuses a code with %s", async (_name, change) => {
  const { code, redeem } = await start();
  expect((await redeem({ code: await code(), ...change })).json()).toEqual({
    error: "invalid_grant",
  });
});

it("refuses a code that is late, or that it did not make", async () => {
  const { code, redeem, clock } = await start();
  const given = await code();
  expect((await redeem({ code: `${given}A` })).statusCode).toBe(400);
  expect((await redeem({ code: "" })).statusCode).toBe(400);
  clock.nowMs += 60_001;
  expect((await redeem({ code: given })).statusCode).toBe(400);
});

it.each<[string, Record<string, string>]>([
  ["to another host", { redirect_uri: "http://evil.test:10001/login" }],
  ["with a user in the address", { redirect_uri: "http://localhost:10001@evil.test/login" }],
  ["to another port", { redirect_uri: "http://localhost:10010/login" }],
  ["without a challenge", { code_challenge: "" }],
  ["with a plain challenge", { code_challenge_method: "plain" }],
  ["with a state that is markup", { state: '"> <script>' }],
])("shows no form for a request %s", async (_name, change) => {
  const { app, post } = await start();
  const asked = { ...ASKED, ...change };
  const shown = await app.inject(`/oauth/authorize?${new URLSearchParams(asked).toString()}`);
  expect([shown.statusCode, shown.body.includes("<form")]).toEqual([400, false]);
  expect((await post("/authorize", { ...asked, token: "right" })).statusCode).toBe(400);
});

it("refuses an address that makes too many requests, before it reads what it sends", async () => {
  const { app } = await start();
  const answer = await app.inject({
    method: "POST",
    url: "/oauth/authorize",
    remoteAddress: "192.0.2.1",
    payload: new URLSearchParams({ ...ASKED, token: "right" }).toString(),
  });
  expect([answer.statusCode, answer.headers["retry-after"], answer.json()]).toEqual([
    429,
    "2",
    { error: "slow_down" },
  ]);
});

it("asks again where the token is not valid, and shows nothing of the request as markup", async () => {
  const { post, app } = await start();
  const again = await post("/authorize", { ...ASKED, token: "wrong" });
  expect([again.statusCode, again.body]).toEqual([401, expect.stringContaining("not valid")]);
  expect(again.body).not.toContain('"wrong"');
  const asked = new URLSearchParams({ ...ASKED, state: '"><b>' }).toString();
  const shown = await app.inject(`/oauth/authorize?${asked}`);
  expect(shown.statusCode).toBe(200);
  expect(shown.body).not.toContain("<b>");
  expect(shown.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
});

it("asks who is signed in for consent, and takes it from the page alone", async () => {
  const { app, redeem } = await start();
  const url = `/oauth/authorize?${new URLSearchParams(ASKED).toString()}`;
  const headers = { cookie: "s=1" };
  const shown = await app.inject({ url, headers });
  expect(shown.body).toContain("Continue as ann &#60;a@b&#62;");
  const send = async (form: Record<string, string>, given: object) =>
    app.inject({
      method: "POST",
      url: "/oauth/authorize",
      headers: { ...given },
      payload: new URLSearchParams({ ...ASKED, ...form }).toString(),
    });
  const right = { page_token: "p".repeat(43) };
  // The cookie alone, which a browser may send by itself, is no consent; nor is the page of another browser.
  expect((await send({}, headers)).statusCode).toBe(401);
  expect((await send({ page_token: "q".repeat(43) }, headers)).statusCode).toBe(401);
  expect((await send({ page_token: "" }, headers)).statusCode).toBe(401);
  expect((await send(right, {})).statusCode).toBe(401);
  const back = await send(right, headers);
  expect(back.statusCode).toBe(303);
  const code = new URL(String(back.headers.location)).searchParams.get("code") ?? "";
  expect((await redeem({ code })).statusCode).toBe(200);
});

it("leads who is not signed in to the sign-in, and back", async () => {
  const { app } = await start();
  const url = `/oauth/authorize?${new URLSearchParams(ASKED).toString()}`;
  const { body } = await app.inject(url);
  const [, path = ""] = /<a href="([^"]+)">Sign in with corp/.exec(body) ?? [];
  const link = new URL(path.replaceAll("&#38;", "&"), "http://localhost");
  expect(link.searchParams.get("to")).toBe(url);
});
