import { execFile } from "node:child_process";
import { cp, mkdir, mkdtempDisposable, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { FunctionManifest } from "@stackwright/fg-bridge/package";
import { serveFunctions } from "@stackwright/fg-bridge/runtime";
import { unpackArchive } from "@stackwright/provider-source";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
/** The bundler that a project has after its `npm install`. */
const BUNDLER = dirname(
  createRequire(join(ROOT, "packages/tfplugin/package.json")).resolve("rolldown/package.json"),
);
const PROJECT = "a61dfe3154de42829367056598d5040f";
const URN = `urn:fss:local:${PROJECT}:function:default:notes:latest`;
const env = { PATH: process.env.PATH };

/** A platform has an older Node than this machine: what came later is taken away where none is named. */
const LATER =
  "delete Promise.withResolvers;delete URL.parse;delete globalThis.SuppressedError;delete globalThis.AsyncDisposableStack;delete globalThis.DisposableStack;\n";

async function emptyFolder(): Promise<string> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "packed "));
  onTestFinished(() => scratch.remove());
  return scratch.path;
}

/** A new project of the provider notes, which finds the libraries of the workspace and the bundler. */
async function newProject(scratch: string): Promise<string> {
  await symlink(join(ROOT, "node_modules"), join(scratch, "node_modules"));
  const made = await tryCommand(["provider", "new", "example.com/acme/notes", "notes"], {
    cwd: scratch,
  });
  expect(made.code, made.error).toBe(0);
  const cwd = join(scratch, "notes");
  await mkdir(join(cwd, "node_modules"));
  await symlink(BUNDLER, join(cwd, "node_modules/rolldown"));
  return cwd;
}

async function pack(cwd: string, ...words: readonly string[]): Promise<string> {
  const done = await tryCommand(["provider", "package", ...words], { cwd, env });
  expect(done.code, done.output + done.error).toBe(0);
  return done.output;
}

/** What the platform has of an archive: the files, in a folder with nothing else. */
async function unpack(archive: string): Promise<{ folder: string; manifest: FunctionManifest }> {
  const folder = join(await emptyFolder(), "code");
  await unpackArchive(archive, folder);
  const text = await readFile(join(folder, "stackwright.function.json"), "utf8");
  return { folder, manifest: JSON.parse(text) as FunctionManifest };
}

/** An environment in which a program sees what Node 20 has. */
async function olderNode(): Promise<NodeJS.ProcessEnv> {
  const file = join(await emptyFolder(), "later.cjs");
  await writeFile(file, LATER);
  const node = process.env.TEST_NODE_20;
  const path = node === undefined ? process.env.PATH : `${dirname(node)}:${process.env.PATH}`;
  return { PATH: path, NODE_OPTIONS: `--require "${file}"` };
}

describe("provider package --for functiongraph", () => {
  it("makes an archive that the platform starts, a server publishes and a stack uses", {
    timeout: 180_000,
  }, async () => {
    const cwd = await newProject(await emptyFolder());
    const output = await pack(cwd, "--for", "functiongraph");
    expect(output).toContain("It declares 1 resources and 1 data sources");
    expect(output).toContain("stackwright provider publish --function urn:fss:");
    const { folder, manifest } = await unpack(join(cwd, "dist/notes-0.1.0-functiongraph.zip"));
    expect(manifest).toMatchObject({ name: "notes", version: "0.1.0", platform: "functiongraph" });
    expect(manifest.schema?.sha256).toMatch(/^[0-9a-f]{64}$/);

    await using platform = await serveFunctions({
      functions: [
        {
          urn: URN,
          code: { directory: folder },
          env: (await olderNode()) as Record<string, string>,
          initTimeoutMs: 60_000,
        },
      ],
    });
    const stack = await emptyFolder();
    const table = {
      region: "local",
      projects: [PROJECT],
      regions: { local: { endpoint: platform.url, credentials: { file: "key.json" } } },
      networks: ["127.0.0.0/8"],
    };
    await writeFile(join(stack, "key.json"), '{"accessKey": "any", "secretKey": "any"}');
    await writeFile(join(stack, "table.json"), JSON.stringify(table));
    const { server, token, credentials } = await startServer("none", {
      functionsFile: join(stack, "table.json"),
    });
    const published = await tryCommand(["provider", "publish", "--function", URN], {
      cwd,
      env: { STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: token },
    });
    // A function that the server cannot call is a warning.
    expect(published.error).toBe("");
    expect(published.output).toContain("Published huawei.com/private-provider/notes 0.1.0");

    await writeFile(join(stack, "credentials.json"), JSON.stringify(credentials));
    await writeFile(
      join(stack, "main.tf"),
      `terraform {
  required_providers {
    notes = {
      source  = "huawei.com/private-provider/notes"
      version = "0.1.0"
    }
  }
}
provider "notes" { folder = ${JSON.stringify(join(stack, "notes"))} }
resource "notes_note" "todo" {
  name = "todo"
  text = "Made by a packed function."
}
`,
    );
    const run = async (...words: string[]) =>
      tryCommand(words, {
        cwd: stack,
        env: {
          STACKWRIGHT_REGISTRY: server.url,
          STACKWRIGHT_REGISTRY_CREDENTIALS: "credentials.json",
          STACKWRIGHT_FUNCTIONS: "table.json",
        },
      });
    const up = await run("up", "--yes");
    expect(up.output, up.error).toContain("1 added");
    expect(await readFile(join(stack, "notes/todo.txt"), "utf8")).toBe(
      "Made by a packed function.",
    );
    expect(await run("plan", "--detailed-exitcode")).toMatchObject({ code: 0 });
    expect(platform.instances(URN).starts).toBeGreaterThan(0);
  });
});

describe("provider package", () => {
  let cwd: string;

  beforeAll(async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "packages "));
    cwd = await newProject(scratch.path);
    return async () => scratch.remove();
  });

  it("makes the same bytes of the same project, in whichever folder it is", {
    timeout: 120_000,
  }, async () => {
    const copy = join(dirname(cwd), "some/where else");
    await cp(cwd, copy, { recursive: true, verbatimSymlinks: true });
    await pack(cwd, "--for", "functiongraph", "--no-start", "--out", "a.zip");
    await pack(copy, "--for", "functiongraph", "--no-start", "--out", "b.zip");
    const [a, b] = [await readFile(join(cwd, "a.zip")), await readFile(join(copy, "b.zip"))];
    expect(a.equals(b)).toBe(true);
    await rm(join(copy), { recursive: true });
  });

  it("replaces an earlier archive, and no other file", { timeout: 120_000 }, async () => {
    const words = ["--for", "functiongraph", "--no-start", "--out"];
    await pack(cwd, ...words, "again.zip");
    await pack(cwd, ...words, "again.zip");
    for (const [name, content] of [
      ["notes.txt", "kept"],
      ["other.zip", "PK\x03\x04 another archive"],
    ] as const) {
      await writeFile(join(cwd, name), content);
      const refused = await tryCommand(["provider", "package", ...words, name], { cwd, env });
      expect([refused.code, refused.error]).toEqual([1, expect.stringContaining("--out")]);
      expect(await readFile(join(cwd, name), "utf8")).toBe(content);
    }
  });

  it("makes an event function whose handler takes gateway events and bare envelopes", {
    timeout: 120_000,
  }, async () => {
    await pack(cwd, "--for", "functiongraph-event", "--no-start", "--out", "event.zip");
    const { folder, manifest } = await unpack(join(cwd, "event.zip"));
    expect(manifest.schema).toBeUndefined();
    const driver = join(await emptyFolder(), "driver.cjs");
    await writeFile(
      driver,
      `const { handler } = require(process.argv[2]);
const envelope = {
  method_name: "/tfplugin5.Provider/GetSchema",
  request_data: "",
  context: { session_id: "s", config_data: "" },
};
const gateway = (path, body) => ({
  httpMethod: "POST", path, headers: { host: "gateway" }, isBase64Encoded: true,
  body: Buffer.from(JSON.stringify(body)).toString("base64"),
});
const context = { getRemainingTimeInMilliSeconds: () => 60000 };
const { readFileSync, writeFileSync } = require("node:fs");
const content = readFileSync(process.argv[3]);
(async () => {
  // A start that fails leaves the instance to the next event.
  writeFileSync(process.argv[3], 'throw new Error("not ready");\\n');
  const early = await handler(envelope, context).catch((error) => error.message);
  writeFileSync(process.argv[3], content);
  const one = await handler(gateway("/provider", envelope), context);
  const two = await handler(envelope, context);
  const none = await handler(gateway("/elsewhere", envelope), context);
  const bad = await handler({ method_name: "unknown" }, context).catch((error) => error.message);
  console.log(JSON.stringify({ early, one, two, none: none.statusCode, bad }));
  process.exit(0);
})();
`,
    );
    const { module = "" } = manifest.run as { readonly module?: string };
    const words = [driver, join(folder, "index.js"), join(folder, module)];
    const done = await promisify(execFile)("node", words, {
      env: await olderNode(),
      timeout: 60_000,
    });
    const { early, one, two, none, bad } = JSON.parse(done.stdout) as {
      readonly early: unknown;
      readonly one: { readonly statusCode: number; readonly body: string };
      readonly two: { readonly response_data: string };
      readonly none: number;
      readonly bad: unknown;
    };
    expect(early).toBe("not ready");
    expect(one.statusCode).toBe(200);
    expect(JSON.parse(Buffer.from(one.body, "base64").toString())).toEqual(two);
    expect(Buffer.from(two.response_data, "base64").toString()).toContain("notes_note");
    expect(none).toBe(404);
    expect(bad).toContain("status 400");
  });

  it("packs a program, and a container that refuses calls without a token", {
    timeout: 120_000,
  }, async () => {
    const program = join(cwd, "terraform-provider-notes_v1.2.0");
    await writeFile(program, `#!/bin/sh\nexec "${process.execPath}" "${cwd}/src/main.ts"\n`);
    const words = ["--for", "container", "--version", "1.2.0", "--env", "B", "--env", "A"];
    await pack(cwd, program, ...words, "--out", "program.zip");
    const { folder, manifest } = await unpack(join(cwd, "program.zip"));
    expect(manifest).toMatchObject({
      name: "notes",
      version: "1.2.0",
      run: { provider: "provider", environment: ["A", "B"] },
      schema: { resources: ["notes_note"], dataSources: ["notes_note"] },
    });
    expect(await readFile(join(folder, "Dockerfile"), "utf8")).toContain("HOST=0.0.0.0");
    const open = await promisify(execFile)(process.execPath, ["index.js"], {
      cwd: folder,
      env: { ...env, HOST: "0.0.0.0", PORT: "0" },
      timeout: 60_000,
    }).catch((error: { readonly code?: unknown; readonly stderr?: unknown }) => error);
    expect(open).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("STACKWRIGHT_FUNCTION_TOKEN"),
    });
  });

  it("refuses what the platform would not run, and says what to do", {
    timeout: 120_000,
  }, async () => {
    const attempt = async (...words: string[]) =>
      tryCommand(["provider", "package", ...words], { cwd, env });
    expect((await attempt("--for", "nowhere")).error).toContain("functiongraph-event");
    expect((await attempt("--for", "functiongraph", "absent")).error).toContain("no file");
    const head = Buffer.alloc(64);
    head.write("\x7fELF\x02\x01", "latin1");
    head.writeUInt16LE(183, 18);
    await writeFile(join(cwd, "for-arm"), head);
    const wrong = await attempt("for-arm", "--for", "functiongraph");
    expect(wrong.error).toContain("it is for arm64, and the platform has x86-64");
    expect(wrong.error).toContain("GOARCH=amd64");
    await writeFile(join(cwd, "page"), "<html>");
    expect((await attempt("page", "--for", "functiongraph")).error).toContain("not a program for");

    const file = join(cwd, "src/function.ts");
    const code = await readFile(file, "utf8");
    await writeFile(file, `import "not-installed";\n${code}`);
    const missing = await attempt("--for", "functiongraph");
    expect(missing.code).toBe(1);
    expect(missing.error).toContain("not-installed");
    await writeFile(file, 'throw new Error("no such service");\n');
    const broken = await attempt("--for", "functiongraph");
    expect(broken.error).toContain("no such service");
    await writeFile(file, code);
    await rm(join(cwd, "node_modules/rolldown"));
    const bare = await attempt("--for", "functiongraph");
    expect(bare.error).toContain("npm install --save-dev rolldown");
    await symlink(BUNDLER, join(cwd, "node_modules/rolldown"));
  });
});
