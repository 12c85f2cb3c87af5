import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "@stackwright/core";
import { createNotesProvider } from "@stackwright/core/testing";
import { createLifecycleRunner, serveFunction } from "@stackwright/fg-bridge/function";
import { serveFunctions } from "@stackwright/fg-bridge/runtime";
import { createKeyRing, createRegistry } from "@stackwright/registry";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const PROJECT = "a61dfe3154de42829367056598d5040f";
const URN = `urn:fss:cn-north-7:${PROJECT}:function:default:notes:latest`;

const TEMPLATE = `
terraform {
  required_providers {
    notes = {
      source  = "huawei.com/private-provider/notes"
      version = "1.0.0"
    }
  }
}
resource "notes_note" "n" {
  count = 3
  name  = "note-\${count.index}"
  text  = "hello"
}
output "ids" { value = notes_note.n[*].id }
`;

/** Who the registry says uses the provider. */
async function users(cwd: string): Promise<readonly string[]> {
  await using store = await openStore(
    { kind: "sqlite", directory: join(cwd, ".stackwright/store") },
    { blobDirectory: "" },
  );
  const registry = createRegistry({ ...store, keys: createKeyRing([new Uint8Array(32)]) });
  const scope = { account: "default", region: "cn-north-7" };
  const { providerId } = await registry.showProvider(scope, { name: "notes" });
  const uses = await registry.listUsage(scope, providerId);
  return uses.map(({ user }) => user);
}

describe("a private provider behind a function", () => {
  let stack: AsyncDisposableStack;
  let cwd: string;
  let folder: string;
  let env: NodeJS.ProcessEnv;

  beforeEach(async () => {
    stack = new AsyncDisposableStack();
    cwd = await mkdtemp(join(tmpdir(), "stackwright-private-"));
    stack.defer(async () => rm(cwd, { recursive: true, force: true }));
    folder = join(cwd, "notes");
    await mkdir(folder);
    const server = stack.use(
      await serveFunction({
        runner: createLifecycleRunner({ name: "notes", create: () => createNotesProvider(folder) }),
        port: 0,
      }),
    );
    const table = {
      region: "cn-north-7",
      projects: [PROJECT],
      functions: { [URN]: { url: server.url } },
      networks: ["127.0.0.0/8"],
    };
    await writeFile(join(cwd, "functions.json"), JSON.stringify(table));
    await writeFile(join(cwd, "main.tf"), TEMPLATE);
    env = { STACKWRIGHT_FUNCTIONS: "functions.json" };
    await using store = await openStore(
      { kind: "sqlite", directory: join(cwd, ".stackwright/store") },
      { blobDirectory: "" },
    );
    const registry = createRegistry({ ...store, keys: createKeyRing([new Uint8Array(32)]) });
    await registry.createProvider(
      { account: "default", region: "cn-north-7" },
      { name: "notes", version: "1.0.0", functionUrn: URN },
      { actor: "test", requestId: "r" },
    );
  });

  afterEach(async () => {
    await stack.disposeAsync();
  });

  it("is planned, applied, updated and destroyed like any other", async () => {
    const up = await tryCommand(["up", "--yes"], { cwd, env });
    expect(up.error).toBe("");
    expect(up.output).toContain("3 added, 0 changed, 0 destroyed");
    expect(await readFile(join(folder, "note-1"), "utf8")).toBe("hello");

    const again = await tryCommand(["plan", "--detailed-exitcode"], { cwd, env });
    expect(again).toMatchObject({ code: 0 });

    await writeFile(join(cwd, "main.tf"), TEMPLATE.replace('"hello"', '"changed"'));
    const changed = await tryCommand(["up", "--yes"], { cwd, env });
    expect(changed.output).toContain("0 added, 3 changed, 0 destroyed");
    expect(await readFile(join(folder, "note-1"), "utf8")).toBe("changed");

    expect(await users(cwd)).toHaveLength(1);
    const gone = await tryCommand(["destroy", "--yes"], { cwd, env });
    expect(gone.output).toContain("0 added, 0 changed, 3 destroyed");
    await expect(readFile(join(folder, "note-1"))).rejects.toThrow("ENOENT");
    expect(await users(cwd)).toEqual([]);
  });

  it("needs one exact version", async () => {
    await writeFile(join(cwd, "main.tf"), TEMPLATE.replace('"1.0.0"', '"~> 1.0"'));
    const { code, error } = await tryCommand(["plan"], { cwd, env });
    expect(code).toBe(1);
    expect(error).toContain("Exact provider version required");
  });

  it("is not found in a version that was not registered", async () => {
    await writeFile(join(cwd, "main.tf"), TEMPLATE.replace('"1.0.0"', '"2.0.0"'));
    const { code, error } = await tryCommand(["plan"], { cwd, env });
    expect(code).toBe(1);
    const plain = error.replaceAll(/[\s│]+/g, " ");
    expect(plain).toContain(
      `"notes" has no version 2.0.0 in the registry of the store sqlite:${join(cwd, ".stackwright/store")}, for account default and region cn-north-7`,
    );
  });

  it("is searched in a registry that is named where there is no such one", async () => {
    await writeFile(
      join(cwd, "main.tf"),
      TEMPLATE.replace("private-provider/notes", "private-provider/zones"),
    );
    const { code, error } = await tryCommand(["plan"], { cwd, env });
    expect(code).toBe(1);
    const plain = error.replaceAll(/[\s│]+/g, " ");
    expect(plain).toContain(
      'no private provider with the name "zones" in the registry of the store',
    );
    expect(plain).toContain("--registry or STACKWRIGHT_REGISTRY names another registry");
  });

  it("says with which key a platform was called that does not accept it", async () => {
    const accounts = [{ accessKey: "AK", secretKey: "secret", projects: [PROJECT] }];
    const platform = stack.use(await serveFunctions({ functions: [], accounts, port: 0 }));
    const table = (credentials: object) => ({
      region: "cn-north-7",
      projects: [PROJECT],
      regions: { "cn-north-7": { endpoint: platform.url, ...credentials } },
      networks: ["127.0.0.0/8"],
    });
    const plan = async (credentials: object, more: NodeJS.ProcessEnv = {}) => {
      await writeFile(join(cwd, "functions.json"), JSON.stringify(table(credentials)));
      const { code, error } = await tryCommand(["plan"], { cwd, env: { ...env, ...more } });
      expect(code).toBe(1);
      expect(error).not.toContain("s3cret");
      return error.replaceAll(/[\s│]+/g, " ");
    };
    await writeFile(join(cwd, "key.json"), '{"accessKey":"AK","secretKey":"s3cret"}');
    const path = join(cwd, "functions.json");
    const inFile = await plan({ credentials: { file: "key.json" } });
    expect(inFile).toContain("the signature is not accepted; it was called with the credentials");
    expect(inFile).toContain(
      `of region cn-north-7 in the table of functions "${path}", which are in the file "${join(cwd, "key.json")}"`,
    );
    const variables = { STACKWRIGHT_ACCESS_KEY: "AK", STACKWRIGHT_SECRET_KEY: "s3cret" };
    expect(await plan({}, variables)).toContain(
      "which are in STACKWRIGHT_ACCESS_KEY and STACKWRIGHT_SECRET_KEY",
    );
  });
});
