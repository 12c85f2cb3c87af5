import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { startApi } from "../testing/start-api.ts";

const VERIFIER = "v".repeat(50);
const ASKED = {
  client_id: "terraform-cli",
  response_type: "code",
  code_challenge: createHash("sha256").update(VERIFIER).digest("base64url"),
  code_challenge_method: "S256",
  redirect_uri: "http://localhost:10001/login",
  state: "some-state",
};

it("a token of terraform login is valid as long as the token that it was made with", async () => {
  const { server, call, tokenOf, first } = await startApi("none");
  const post = async (path: string, form: Readonly<Record<string, string>>): Promise<Response> =>
    fetch(`${server.url}/oauth${path}`, {
      method: "POST",
      body: new URLSearchParams(form).toString(),
      redirect: "manual",
    });
  const signIn = async (token: string): Promise<string> => {
    const answer = await post("/authorize", { ...ASKED, token });
    return new URL(answer.headers.get("location") ?? "").searchParams.get("code") ?? "";
  };
  const redeem = async (code: string): Promise<string> => {
    const { client_id, redirect_uri } = ASKED;
    const form = { client_id, redirect_uri, grant_type: "authorization_code" };
    const answer = await post("/token", { ...form, code_verifier: VERIFIER, code });
    return ((await answer.json()) as { access_token?: string }).access_token ?? "";
  };
  const parent = await tokenOf("deployer");
  const child = await redeem(await signIn(parent));
  const late = await signIn(parent);
  const list = async (token: string): Promise<number> =>
    (await call("GET", "/api/v2/organizations/default/workspaces", { token })).status;
  expect(await list(child)).toBe(200);
  const actor = (await server.credentials.tokenOwner(parent))?.principal.actor ?? "";
  const path = `/api/v1/registry/credentials/${actor}`;
  expect((await call("DELETE", path, { token: first.token })).status).toBe(204);
  expect(await list(child)).toBe(401);
  expect(await redeem(late)).toBe("");
});
