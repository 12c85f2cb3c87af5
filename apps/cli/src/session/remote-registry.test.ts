import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createNotesProvider } from "@stackwright/core/testing";
import type { BootstrapCredentials } from "@stackwright/engine";
import { type RunningServer, serve } from "@stackwright/engine";
import { createLifecycleRunner, serveFunction } from "@stackwright/fg-bridge/function";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const REGION = "cn-north-7";
const PROJECT = "a61dfe3154de42829367056598d5040f";
const URN = `urn:fss:${REGION}:${PROJECT}:function:default:notes:latest`;
const SOURCE = "huawei.com/private-provider/notes";

/** The account of the server is another one than that of the folder: the key decides. */
const scope = { account: "default", region: REGION };
const at = { name: "notes", version: "1.0.0" };
const context = { actor: "test", requestId: "r" };

/** Without frames and line breaks. */
const plain = (text: string) => text.replaceAll(/[\s│]+/g, " ");

describe("a registry elsewhere", () => {
  let cleanup: AsyncDisposableStack;
  let cwd: string;
  let server: RunningServer;
  let env: NodeJS.ProcessEnv;

  beforeEach(async () => {
    cleanup = new AsyncDisposableStack();
    cwd = cleanup.use(await mkdtempDisposable(join(tmpdir(), "remote-"))).path;
    await mkdir(join(cwd, "notes"));
    const create = () => createNotesProvider(join(cwd, "notes"));
    const runner = createLifecycleRunner({ name: "notes", create });
    const provider = cleanup.use(await serveFunction({ runner, port: 0 }));
    server = cleanup.use(
      await serve(
        {
          store: "memory:",
          port: 0,
          region: REGION,
          logLevel: "silent",
          bootstrapFile: join(cwd, "first.json"),
        },
        { directory: cwd, env: {} },
      ),
    );
    await server.registry.createProvider(
      scope,
      { name: "notes", version: "1.0.0", functionUrn: URN },
      context,
    );
    const table = {
      projects: [PROJECT],
      functions: { [URN]: { url: provider.url } },
      networks: ["127.0.0.0/8"],
    };
    await writeFile(join(cwd, "functions.json"), JSON.stringify(table));
    await configure("1.0.0");
    env = {
      STACKWRIGHT_FUNCTIONS: "functions.json",
      STACKWRIGHT_REGISTRY_CREDENTIALS: "first.json",
    };
  });

  afterEach(async () => {
    await cleanup.disposeAsync();
  });

  const configure = async (version: string, source = SOURCE) =>
    writeFile(
      join(cwd, "main.tf"),
      `terraform {
         required_providers {
           notes = {
             source  = "${source}"
             version = "${version}"
           }
         }
       }
       resource "notes_note" "a" {
         name = "one"
         text = "hello"
       }\n`,
    );
  const run = async (...words: string[]): Promise<CommandResult> => tryCommand(words, { cwd, env });
  const users = async () => {
    const { providerId } = await server.registry.showProvider(scope, at);
    const uses = await server.registry.listUsage(scope, providerId);
    return uses.map(({ user, version }) => `${version} ${user.split("/").slice(0, 2).join("/")}`);
  };

  it("is called with an access key, and receives what is used", async () => {
    const up = await run("up", "--yes", "--registry", server.url);
    expect(up.error).toBe("");
    expect(up.code).toBe(0);
    expect(await readFile(join(cwd, "notes/one"), "utf8")).toBe("hello");
    expect(await users()).toEqual(["1.0.0 default/default"]);

    env = { ...env, STACKWRIGHT_REGISTRY: server.url };
    expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0, error: "" });
    expect(await run("destroy", "--yes")).toMatchObject({ code: 0, error: "" });
    expect(await users()).toEqual([]);
  });

  it("takes the key from variables as well", async () => {
    const { accessKey, secretKey } = JSON.parse(
      await readFile(join(cwd, "first.json"), "utf8"),
    ) as BootstrapCredentials;
    env = {
      STACKWRIGHT_FUNCTIONS: "functions.json",
      STACKWRIGHT_REGISTRY_ACCESS_KEY: accessKey,
      STACKWRIGHT_REGISTRY_SECRET_KEY: secretKey,
    };
    expect((await run("plan", "--registry", server.url)).output).toContain("1 to add");
  });

  it("receives uses with the next run, where it was not reachable", async () => {
    await run("up", "--yes", "--registry", server.url);
    const { providerId } = await server.registry.showProvider(scope, at);
    const [use] = await server.registry.listUsage(scope, providerId);
    await server.registry.deleteUsage(scope, {
      providerId,
      version: "1.0.0",
      user: use?.user ?? "",
    });
    expect(await users()).toEqual([]);
    expect((await run("up", "--yes", "--registry", server.url)).code).toBe(0);
    expect(await users()).toEqual(["1.0.0 default/default"]);
  });

  it("names what it has instead of a version that was deleted", async () => {
    await run("up", "--yes", "--registry", server.url);
    await server.registry.createVersion(scope, at, { version: "2.0.0", functionUrn: URN }, context);
    expect(await server.registry.deleteVersion(scope, at, context)).toMatchObject({
      usedBy: [expect.stringContaining("default/default/")],
    });
    const { code, error } = await run("plan", "--registry", server.url);
    expect(code).toBe(1);
    expect(plain(error)).toContain("has no version 1.0.0 of notes; it has 2.0.0");

    // What is recorded belongs to the old version; the new one takes it over.
    await configure("2.0.0");
    expect((await run("up", "--yes", "--registry", server.url)).code).toBe(0);
    expect(await users()).toEqual(["2.0.0 default/default"]);
  });

  it("says so when it does not have the provider", async () => {
    await configure("1.0.0", "huawei.com/private-provider/others");
    const { code, error } = await run("plan", "--registry", server.url);
    expect(code).toBe(1);
    expect(plain(error)).toContain("has no private provider others");
  });

  it("says so when it does not accept the key, and shows no secret", async () => {
    await writeFile(join(cwd, "key.json"), '{"accessKey":"AKWRONG","secretKey":"s3cret-key"}');
    env = { ...env, STACKWRIGHT_REGISTRY_CREDENTIALS: "key.json" };
    const { code, error, output } = await run("plan", "--registry", server.url);
    expect(code).toBe(1);
    expect(plain(error)).toContain("does not accept the access key AKWRONG");
    expect(error + output).not.toContain("s3cret");
  });

  it("needs a key, an address and a table", async () => {
    const without = await tryCommand(["plan", "--registry", server.url], {
      cwd,
      env: { STACKWRIGHT_FUNCTIONS: "functions.json" },
    });
    expect(without.error).toContain("the variable STACKWRIGHT_REGISTRY_ACCESS_KEY is not set");
    expect(without.error).toContain("STACKWRIGHT_REGISTRY_CREDENTIALS");
    const far = await run("plan", "--registry", "http://registry.example");
    expect(far.error).toContain("https://HOST[:PORT], or http:// on this machine");
    const withPassword = await run("plan", "--registry", "https://me:s3cret@registry.example");
    expect(withPassword.error).toContain("https://HOST[:PORT]");
    expect(withPassword.error).not.toContain("s3cret");
    env = {};
    const nowhere = await run("plan", "--registry", server.url);
    expect(plain(nowhere.error)).toContain(
      "no table of functions says where it is called: set STACKWRIGHT_FUNCTIONS",
    );
  });
});
