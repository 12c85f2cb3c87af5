import { spawnSync } from "node:child_process";
import {
  chmod,
  mkdir,
  mkdtempDisposable,
  readdir,
  readFile,
  rename,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TEST_PROGRAMS } from "@stackwright/core/testing";
import { createLifecycleRunner, serveFunction } from "@stackwright/fg-bridge/function";
import type { LifecycleProvider } from "@stackwright/mux/router";
import { describe, expect, it, onTestFinished } from "vitest";
import { runSpawned, spawnCommand } from "../testing/spawned-command.ts";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));

/** A folder whose subfolders find the libraries of the workspace. */
async function scratchFolder(): Promise<string> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "kit "));
  onTestFinished(() => scratch.remove());
  await symlink(join(ROOT, "node_modules"), join(scratch.path, "node_modules"));
  return scratch.path;
}

/** A new project of the provider notes. */
async function newProject(): Promise<string> {
  const cwd = await scratchFolder();
  const made = await tryCommand(["provider", "new", "example.com/acme/notes", "notes"], { cwd });
  expect(made.code, made.error).toBe(0);
  return join(cwd, "notes");
}

const env = { PATH: process.env.PATH };

async function change(file: string, from: string, to: string): Promise<void> {
  const text = await readFile(file, "utf8");
  expect(text).toContain(from);
  // As editors do it: a new file in place of the old one.
  await writeFile(`${file}.new`, text.replace(from, to));
  await rename(`${file}.new`, file);
}

describe("provider new", () => {
  it("makes a project whose own tests pass, and that the conformance suite finds sound", {
    timeout: 60_000,
  }, async () => {
    const cwd = await newProject();
    const own = spawnSync(process.execPath, ["--test"], {
      cwd,
      encoding: "utf8",
      // Node writes for the runner that it finds around itself otherwise.
      env: { PATH: process.env.PATH },
    });
    expect(own.status, own.stdout + own.stderr).toBe(0);
    const tested = await tryCommand(["provider", "test"], { cwd, env });
    expect(tested.code, tested.output + tested.error).toBe(0);
    expect(tested.output).toContain("22 passed, 0 failed, 0 skipped, 0 warnings.");
    expect(await readdir(join(cwd, "scratch"))).toEqual([]);
    expect(JSON.parse(await readFile(join(cwd, "package.json"), "utf8"))).toMatchObject({
      name: "terraform-provider-notes",
      dependencies: { "@stackwright/mux": expect.stringMatching(/^\^\d/) },
    });
  });

  it.each([
    "../../evil",
    "a b",
    "Notes",
    "notes;rm",
    "x".repeat(64),
    "",
    "a/b/c/d",
    "example.com/acme/../notes",
    "huawei.com/private-provider/notes",
    "stackwright.local/pulumi/notes",
    "terraform.io/builtin/notes",
    "$(id)",
    "no\ntes",
    "__proto__",
  ])("refuses the name %j and writes nothing", async (name) => {
    const cwd = await scratchFolder();
    const { code, error } = await tryCommand(["provider", "new", name], { cwd });
    expect(code).toBe(1);
    expect(error).toMatch(/Error: /);
    expect(await readdir(cwd)).toEqual(["node_modules"]);
  });

  it("leaves folders with files, files and links alone", async () => {
    const cwd = await scratchFolder();
    await mkdir(join(cwd, "full"));
    await writeFile(join(cwd, "full/own"), "mine");
    await writeFile(join(cwd, "file"), "mine");
    await symlink(join(cwd, "full"), join(cwd, "link"));
    for (const folder of ["full", "file", "link", "file/below"]) {
      const { code, error } = await tryCommand(["provider", "new", "notes", folder], { cwd });
      expect(code, folder).toBe(1);
      expect(error).toContain(folder);
    }
    expect(await readdir(join(cwd, "full"))).toEqual(["own"]);
    expect(await readFile(join(cwd, "file"), "utf8")).toBe("mine");
  });
});

describe("provider test", () => {
  it("says what is wrong with a provider, and where", { timeout: 30_000 }, async () => {
    const cwd = await newProject();
    const code = join(cwd, "src/provider.ts");
    await change(
      code,
      "return text === undefined ? undefined : { text };",
      'return { text: "?" };',
    );
    await change(
      code,
      "await rm(place(client, name), { force: true });",
      "await rm(place(client, name));",
    );
    await change(
      code,
      "id: computed(types.string, {",
      "api_token: optional(types.string),\n    id: computed(types.string, {",
    );
    await change(code, "  required,\n", "  optional,\n  required,\n");
    const { code: exit, output } = await tryCommand(["provider", "test"], { cwd, env });
    expect(exit).toBe(1);
    expect(output).toContain("api_token: by its name it is secret, and it is not sensitive");
    expect(output).toContain("text: what is read differs from what create returned");
    expect(output).toContain('a read still finds it; set "observable": false');
    expect(output).toContain("a delete of what is gone fails");
  });

  it("refuses samples that make no sense, and a folder without a project", async () => {
    const cwd = await newProject();
    const file = join(cwd, "stackwright.provider.json");
    await change(file, '"import": "name"', '"imports": "name"');
    const wrong = await tryCommand(["provider", "test"], { cwd, env });
    expect(wrong.code).toBe(1);
    expect(wrong.error).toContain('samples.resources.notes_note: "imports" is no member');
    const none = await tryCommand(["provider", "test"], { cwd: join(cwd, "src"), env });
    expect(none.error).toContain("There is no stackwright.provider.json");
  });

  it("tests programs of Pulumi's protocol and functions", { timeout: 60_000 }, async () => {
    const cwd = await newProject();
    const program = join(cwd, "pulumi-resource-shelf");
    await writeFile(
      program,
      `#!/bin/sh\nexec "${process.execPath}" "${TEST_PROGRAMS.shelfProvider}" "$@"\n`,
    );
    await chmod(program, 0o755);
    const pulumi = await tryCommand(["provider", "test", "--pulumi", program], { cwd, env });
    expect(pulumi.output).toContain("ok      starts and declares a schema");
    expect(pulumi.code, pulumi.output + pulumi.error).toBe(0);

    const { createNotesProvider } = (await import(join(cwd, "src/provider.ts"))) as {
      readonly createNotesProvider: () => LifecycleProvider;
    };
    const runner = createLifecycleRunner({ name: "notes", create: createNotesProvider });
    await using server = await serveFunction({ runner, port: 0 });
    const settings = { folder: join(cwd, "scratch") };
    const sample = { config: { name: "a", text: "b" }, import: "name" };
    const samples = { settings, resources: { notes_note: sample } };
    await writeFile(join(cwd, "samples.json"), JSON.stringify(samples));
    const words = ["provider", "test", server.url, "--samples", "samples.json"];
    const tested = await tryCommand(words, { cwd, env });
    expect(tested.code, tested.output + tested.error).toBe(0);
    expect(tested.output).toContain('ok      imports it by "name"');
  });
});

describe("provider dev", () => {
  it("serves templates, and the changed provider after a change", { timeout: 90_000 }, async () => {
    const cwd = await newProject();
    const dev = spawnCommand(["provider", "dev"], { cwd });
    onTestFinished(() => dev[Symbol.asyncDispose]());
    const [, variable = ""] = await dev.waitFor(/export TF_REATTACH_PROVIDERS='(.*)'/);
    const run = async (...words: string[]) =>
      runSpawned(words, {
        cwd: join(cwd, "example"),
        env: { TF_REATTACH_PROVIDERS: variable },
      });
    expect((await run("up", "--yes")).text).toContain('id = "todo"');
    expect(await readFile(join(cwd, "notes/todo.txt"), "utf8")).toBe("Write a provider.");
    expect(await readFile(join(cwd, ".gitignore"), "utf8")).toContain("\n/notes\n");

    const code = join(cwd, "src/provider.ts");
    await change(code, "    return { id: name };", "    return { id: `${name}!` };");
    await dev.waitFor(/was started again/);
    await change(code, "    return { id: `${name}!` };", "    return {{");
    // What the program wrote is shown in its lines.
    await dev.waitFor(/the one from before stays: .* before it was ready\n[^]*\nSyntaxError/);
    expect(dev.text().match(/SyntaxError/g)).toHaveLength(1);
    await run("destroy", "--yes");
    expect((await run("up", "--yes")).text).toContain('id = "todo!"');
    expect(await dev.stop()).toBe(0);
    const gone = await run("plan");
    expect(gone.text.replaceAll(/[\s│]+/g, " ")).toContain("TF_REATTACH_PROVIDERS says that");
  });
});

describe("provider dev --inspect", () => {
  it("has the debugger of the provider at one place, also after changes, and shows what it writes", {
    timeout: 90_000,
  }, async () => {
    const cwd = await newProject();
    const code = join(cwd, "src/provider.ts");
    const written = await readFile(code, "utf8");
    await writeFile(code, `console.error("began 1");\n${written}`);
    const dev = spawnCommand(["provider", "dev", "--inspect"], { cwd });
    onTestFinished(() => dev[Symbol.asyncDispose]());
    const [, port = ""] = await dev.waitFor(/Debuggers find the provider at 127\.0\.0\.1:(\d+)/);
    await dev.waitFor(/notes: began 1/);
    const targets = async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/json/list`);
      return (await answer.json()) as { readonly id: string; webSocketDebuggerUrl: string }[];
    };
    const [first] = await targets();
    expect(first?.webSocketDebuggerUrl).toBe(`ws://127.0.0.1:${port}/${first?.id ?? ""}`);
    const debug = new WebSocket(first?.webSocketDebuggerUrl ?? "");
    await new Promise((resolve) => debug.addEventListener("open", resolve, { once: true }));
    const left = new Promise((resolve) => debug.addEventListener("close", resolve, { once: true }));
    await change(code, "began 1", "began 2");
    await dev.waitFor(/notes: began 2/);
    await dev.waitFor(/was started again/);
    await left;
    const [second] = await targets();
    expect(second?.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(second?.id).not.toBe(first?.id);
    expect(await dev.stop()).toBe(0);
  });

  it("refuses what is no port, and programs that Node does not run", async () => {
    const cwd = await newProject();
    const dev = async (port: string) =>
      tryCommand(["provider", "dev", "--inspect", port], { cwd, env });
    expect((await dev("65536")).error).toContain('--inspect takes a port, and not "65536"');
    await change(join(cwd, "stackwright.provider.json"), '"node",', '"./bin/notes",');
    expect((await dev("0")).error).toContain("--inspect is for providers that Node runs");
  });
});

describe("provider dev --function", () => {
  it("serves templates by the function, and the changed one after a change", {
    timeout: 90_000,
  }, async () => {
    const cwd = await newProject();
    const dev = spawnCommand(["provider", "dev", "--function"], { cwd });
    onTestFinished(() => dev[Symbol.asyncDispose]());
    const [, variable = ""] = await dev.waitFor(/export TF_REATTACH_PROVIDERS='(.*)'/);
    const run = async (...words: string[]) =>
      runSpawned(words, {
        cwd: join(cwd, "example"),
        env: { TF_REATTACH_PROVIDERS: variable },
      });
    const made = await run("up", "--yes");
    expect(made.text).toContain('id = "todo"');
    // As on a platform, each call is a process of its own: what the provider makes is where the function runs.
    expect(await readFile(join(cwd, "notes/todo.txt"), "utf8")).toBe("Write a provider.");
    expect((await run("plan")).text).toContain("No changes");

    const code = join(cwd, "src/provider.ts");
    await change(code, "    return { id: name };", "    return { id: `${name}!` };");
    await dev.waitFor(/notes:latest: changed/);
    await run("destroy", "--yes");
    expect((await run("up", "--yes")).text).toContain('id = "todo!"');
    expect(await dev.stop()).toBe(0);
  });

  it("says what is wrong with the file, and with options that do not go together", async () => {
    const cwd = await newProject();
    const dev = async (...words: string[]) =>
      tryCommand(["provider", "dev", ...words], { cwd, env });
    expect((await dev("--function", "absent.json")).error).toContain("absent.json");
    await writeFile(join(cwd, "none.json"), '{"functions": []}');
    expect((await dev("--function", "none.json")).error).toContain("a provider is one");
    expect((await dev("--function", "--inspect")).error).toContain("not for --function");
  });
});

describe("provider publish", () => {
  it("publishes a program and a function, and a version only once", async () => {
    const cwd = await newProject();
    const { server, token } = await startServer("none");
    const credentials = { STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: token };
    const publish = async (...words: string[]) =>
      tryCommand(["provider", "publish", ...words], { cwd, env: credentials });
    expect((await publish()).error).toContain("npm run build");
    await mkdir(join(cwd, "dist"));
    const program = join(cwd, "dist/terraform-provider-notes");
    await writeFile(program, "#!/usr/bin/env node\n");
    const unasked = await publish();
    expect(unasked.code).toBe(1);
    expect(unasked.error).toContain("--claim");
    const first = await publish("--claim");
    expect(first.output, first.error).toContain('Claimed the namespace "acme".');
    expect(first.output, first.error).toContain("Published acme/notes 0.1.0 for linux_arm64");
    // Without TLS the address of the server is no source.
    expect(first.output).toContain('source = "registry.example.com/acme/notes"');
    expect(first.output).toMatch(
      /"providers\.v1" = "http:\/\/127\.0\.0\.1:\d+\/terraform\/v1\/providers\/"/,
    );
    expect((await publish()).output).toContain("Was published before: acme/notes 0.1.0");
    await writeFile(program, "#!/usr/bin/env node\nother\n");
    const second = await publish();
    expect(second.code).toBe(1);
    expect(second.error).toContain("REGISTRY_VERSION_EXISTS");
    expect((await publish("--version", "0.2.0")).code).toBe(0);
    expect((await publish("--version", "../1")).error).toContain("is not a version");
    expect((await publish("--platform", "../linux")).error).toContain("is not a platform");

    const urn = "urn:fss:local:a61dfe3154de42829367056598d5040f:function:default:notes:latest";
    const asFunction = await publish("--function", urn);
    expect(asFunction.output).toContain("Published huawei.com/private-provider/notes 0.1.0");
    expect((await publish("--function", urn)).error).toContain("versions cannot be changed");
    expect((await publish("--function", urn, "--version", "0.2.0")).code).toBe(0);
    const stranger = { ...credentials, STACKWRIGHT_TOKEN: "nothing" };
    const refused = await tryCommand(["provider", "publish"], { cwd, env: stranger });
    expect(refused.code).toBe(1);
    expect(refused.error).toContain("stackwright login");
  });
});
