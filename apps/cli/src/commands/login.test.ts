import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { loadCliConfiguration } from "@stackwright/tfplugin/install";
import { describe, expect, it, onTestFinished } from "vitest";
import { type CommandContext, createContext } from "../command-context.ts";
import {
  credentialsPath,
  readCredentials,
  writeCredentials,
} from "../connection/server-credentials.ts";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";
import { login, logout } from "./login.ts";
import { serverLogin } from "./server-login.ts";

const HOST = "registry.example.com";

async function home(): Promise<{ readonly HOME: string }> {
  const HOME = await mkdtemp(join(tmpdir(), "login-"));
  onTestFinished(() => rm(HOME, { recursive: true, force: true }));
  return { HOME };
}

/** A context whose output is passed to `onText`. */
function contextWith(env: NodeJS.ProcessEnv, onText: (text: string) => void): CommandContext {
  const { signal } = new AbortController();
  const output = new PassThrough();
  output.on("data", (chunk: Buffer) => {
    onText(chunk.toString());
  });
  const streams = { input: new PassThrough(), output, error: new PassThrough(), env };
  return createContext({ streams, cwd: "/", signal, forceSignal: signal }, {});
}

/** A host with `login.v1`, and a browser that logs in as soon as the address is shown. */
function loginHost(services: object) {
  const seen: Record<string, string> = {};
  const fetch = async (url: URL, init?: RequestInit): Promise<Response> => {
    if (url.pathname === "/.well-known/terraform.json") return Response.json(services);
    Object.assign(seen, Object.fromEntries(init?.body as URLSearchParams));
    return Response.json({ access_token: "s3cret", token_type: "bearer" });
  };
  const browse = (text: string): void => {
    const found = /https:\/\/\S+/.exec(text)?.[0];
    if (found === undefined) return;
    const { searchParams } = new URL(found);
    const target = new URL(searchParams.get("redirect_uri") ?? "");
    target.searchParams.set("state", searchParams.get("state") ?? "");
    target.searchParams.set("code", "the-code");
    void globalThis.fetch(target).then(async (response) => response.text());
  };
  return { fetch, browse, seen };
}

const SERVICE = {
  "login.v1": {
    client: "cli",
    authz: "/authz",
    token: "/token",
    grant_types: ["authz_code"],
    ports: [20_000, 20_999],
  },
};

describe("login", () => {
  it("stores the token for its owner, beside those of other hosts", async () => {
    const env = await home();
    const path = join(env.HOME, ".terraform.d/credentials.tfrc.json");
    const { fetch, browse, seen } = loginHost(SERVICE);
    const context = contextWith(env, browse);
    await login("other.example.com", context, fetch);
    expect(await login(HOST, context, fetch)).toBe(0);
    expect(seen).toMatchObject({
      client_id: "cli",
      code: "the-code",
      grant_type: "authorization_code",
      code_verifier: expect.stringMatching(/^.{43}$/),
    });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const { tokens } = await loadCliConfiguration({ env });
    expect([...tokens]).toEqual([
      ["other.example.com", "s3cret"],
      [HOST, "s3cret"],
    ]);
    expect(await logout(HOST, context)).toBe(0);
    expect(await logout(HOST, context)).toBe(0);
    const text = await readFile(path, "utf8");
    expect(Object.keys((JSON.parse(text) as { credentials: object }).credentials)).toEqual([
      "other.example.com",
    ]);
  });

  it.each([
    [{}, "does not offer a login"],
    [{ "login.v1": { ...SERVICE["login.v1"], grant_types: ["password"] } }, "not supported"],
    [{ "login.v1": { client: "cli" } }, "not complete"],
  ])("is refused where the host offers %j", async (services, text) => {
    const { fetch } = loginHost(services);
    const context = contextWith(await home(), () => undefined);
    await expect(login(HOST, context, fetch)).rejects.toThrow(text);
  });

  it("fails where the services are not available, or the file is damaged", async () => {
    const env = await home();
    const failed = async (): Promise<Response> => new Response("", { status: 404 });
    const context = contextWith(env, () => undefined);
    await expect(login(HOST, context, failed)).rejects.toThrow("not available: status 404");
    await expect(login("a b", context, failed)).rejects.toThrow("Invalid host");
    expect(await tryCommand(["logout", HOST], { env })).toMatchObject({ code: 0 });
    const { fetch, browse } = loginHost(SERVICE);
    await login(HOST, contextWith(env, browse), fetch);
    await writeFile(join(env.HOME, ".terraform.d/credentials.tfrc.json"), "{");
    const { code, error } = await tryCommand(["logout", HOST], { env });
    expect(code).toBe(1);
    expect(error).toContain("not valid JSON");
  });
});

it("refuses options for another kind of login, and a server without a sign-in", {
  timeout: 60_000,
}, async () => {
  const env = await home();
  const errorOf = async (...args: readonly string[]): Promise<string> => {
    const { code, error } = await tryCommand(["login", ...args], { env });
    expect(code).toBe(1);
    return error;
  };
  expect(await errorOf(HOST, "--device")).toContain("gives no token with --device");
  expect(await errorOf(HOST, "--role", "viewer")).toContain("gives no token with --device");
  const { server, token } = await startServer("none");
  const given = ["--server", server.url];
  expect(await errorOf(...given, "--role", "viewer")).toContain("with --device alone");
  expect(await errorOf(...given, "--device")).toContain("does not offer a login with a code");
  // Over SSH, a browser of this machine is used where the server has nothing else.
  let shown = "";
  const stop = new AbortController();
  const remote = contextWith({ ...env, SSH_CONNECTION: "192.0.2.1 1 192.0.2.2 22" }, (text) => {
    shown += text;
    stop.abort(new Error("stopped"));
  });
  const login = serverLogin(
    { server: server.url, browser: true },
    { ...remote, signal: stop.signal },
  );
  await expect(login).rejects.toThrow("stopped");
  expect(shown).toContain("/oauth/authorize?");
  expect(shown).not.toContain(token);
});

it("shows what the server calls the user as text", async () => {
  const env = await home();
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ projects: [], user: "eve\u001b[2J", roles: [] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.address() as AddressInfo;
  let shown = "";
  const context = contextWith(env, (text) => {
    shown += text;
  });
  const terminal = { ...context.terminal, ask: async () => "sw_token", interactive: true };
  await serverLogin({ server: `http://127.0.0.1:${port}` }, { ...context, terminal });
  expect(shown).toContain("as eve\\u001b[2J.");
});

it("keeps what another login stored while the token was asked for", async () => {
  const env = await home();
  const server = createServer((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ projects: [], roles: [] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.address() as AddressInfo;
  const path = credentialsPath(env);
  const context = contextWith(env, () => {});
  const ask = async (): Promise<string> => {
    await writeCredentials(path, { servers: { "https://other.example.com": { token: "theirs" } } });
    return "ours";
  };
  const terminal = { ...context.terminal, ask, interactive: true };
  const address = `http://127.0.0.1:${port}`;
  await serverLogin({ server: address }, { ...context, terminal });
  expect((await readCredentials(path)).servers).toEqual({
    "https://other.example.com": { token: "theirs" },
    [address]: { token: "ours" },
  });
});

it.each([
  [true, "the output is not a terminal"],
  [false, "TF_INPUT allows no questions"],
])(
  "does not wait in silence for a token that is typed where nothing can be asked (%s)",
  async (mayAsk, why) => {
    const env = await home();
    const context = contextWith(env, () => {});
    const readAll = async (): Promise<string> => new Promise(() => {});
    const terminal = { ...context.terminal, readAll, mayAsk, typed: true, interactive: false };
    const login = serverLogin({ server: "http://127.0.0.1:1" }, { ...context, terminal });
    await expect(login).rejects.toThrow(why);
  },
);

it("obtains a token of a server by its page, and stores it for the server", {
  timeout: 60_000,
}, async () => {
  const env = await home();
  const { server, token } = await startServer("none");
  const agreed = Promise.withResolvers<number>();
  const agree = async (page: URL): Promise<number> => {
    const body = new URLSearchParams([...page.searchParams, ["token", token]]);
    const answer = await fetch(new URL(page.pathname, page), {
      method: "POST",
      body,
      redirect: "manual",
    });
    return (await fetch(answer.headers.get("location") ?? "")).status;
  };
  const browse = (text: string): void => {
    const found = /http:\/\/\S+\/oauth\/authorize\S+/.exec(text)?.[0];
    if (found !== undefined) agree(new URL(found)).then(agreed.resolve, agreed.reject);
  };
  const given = { server: server.url, browser: true };
  expect(await serverLogin(given, contextWith(env, browse))).toBe(0);
  expect(await agreed.promise).toBe(200);
  const shown = await tryCommand(["tokens", "list"], { env });
  expect(shown).toMatchObject({ code: 0, error: "" });
  expect(shown.output).toContain("terraform login of token-");
  const stored = await readFile(join(env.HOME, ".config/stackwright/credentials.json"), "utf8");
  expect(stored).not.toContain(token);
});
