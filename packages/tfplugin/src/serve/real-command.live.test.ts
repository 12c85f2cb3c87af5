import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempDisposable, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { computed, createProvider, defineResource, required, types } from "@stackwright/mux/kit";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { COOKIE_NAME, COOKIE_VALUE } from "../launch/plugin-protocol.ts";
import { attachTerraformProvider, parseReattachProviders } from "../launch/reattach.ts";
import { isThere, processesWith } from "../testing/programs/programs.ts";
import { buildToyFolders } from "../testing/programs/toy-folder.ts";
import { findTerraform, TerraformFolder } from "../testing/terraform-command.ts";
import { serveLifecycleProvider } from "./lifecycle-transport.ts";
import { startReattachServer } from "./reattach-server.ts";

/*
 * The real command drives a provider that is one file of JavaScript. `dev_overrides` take the place of an installation,
 * so that there is no `init`.
 */

const found = findTerraform();
const command = "command" in found ? found.command : "";

let scratch: Awaited<ReturnType<typeof mkdtempDisposable>>;
let folders: Readonly<Record<5 | 6, string>>;

beforeAll(async () => {
  scratch = await mkdtempDisposable(join(tmpdir(), "toy-"));
  folders = await buildToyFolders(scratch.path);
});

afterAll(async () => {
  await scratch.remove();
});

beforeEach((ctx) => {
  ctx.skip("absent" in found, "absent" in found ? found.absent : "");
});

interface Outcome {
  readonly code: number | null;
  readonly output: string;
}

/** A folder with a configuration of the toy provider, and the command in it. */
async function setUp(protocol: 5 | 6, resources: string, program = command) {
  const folder = await TerraformFolder.create({
    command: program,
    files: {},
    overrides: { "example.com/acme/toy": folders[protocol] },
  });
  onTestFinished(() => folder[Symbol.asyncDispose]());
  const objects = join(folder.path, "objects");
  const configure = (text: string) =>
    folder.write({
      "main.tf": `
        terraform {
          required_providers { toy = { source = "example.com/acme/toy" } }
        }
        provider "toy" { directory = ${JSON.stringify(objects)} }
        ${text}`,
    });
  await configure(resources);

  const start = (...args: string[]): ChildProcess & { done: Promise<Outcome> } => {
    const { PATH = "" } = process.env;
    const env = {
      PATH,
      HOME: folder.path,
      TF_CLI_CONFIG_FILE: join(folder.path, "cli.tfrc"),
      CHECKPOINT_DISABLE: "1",
      TF_IN_AUTOMATION: "1",
      TF_INPUT: "0",
    };
    const child = spawn(program, [...args, "-no-color"], { cwd: folder.path, env, detached: true });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const done = new Promise<Outcome>((resolve) => {
      child.once("close", (code) => resolve({ code, output }));
    });
    return Object.assign(child, { done });
  };
  const run = (...args: string[]): Promise<Outcome> => start(...args).done;
  const ok = async (...args: string[]): Promise<string> => {
    const { code, output } = await run(...args);
    expect(code, output).toBe(0);
    return output;
  };
  const state = async () =>
    JSON.parse(await readFile(join(folder.path, "terraform.tfstate"), "utf8")) as {
      readonly resources: readonly {
        readonly instances: readonly {
          readonly status?: string;
          readonly attributes: Readonly<Record<string, unknown>>;
        }[];
      }[];
    };
  const stateText = () => readFile(join(folder.path, "terraform.tfstate"), "utf8");
  const calls = async () =>
    (await readFile(join(objects, "calls"), "utf8").catch(() => "")).split("\n").slice(0, -1);
  const edit = async (change: (text: string) => string) => {
    const [name = ""] = (await readdir(objects)).filter((file) => file.endsWith(".json"));
    const path = join(objects, name);
    await writeFile(path, change(await readFile(path, "utf8")));
  };
  return { configure, run, ok, start, state, stateText, calls, edit, folder, objects };
}

describe.each([5, 6] as const)("the command and a provider of ours, protocol %i", (protocol) => {
  it("goes through the life of an object", async () => {
    const thing = (text: string) => `resource "toy_thing" "a" {\n${text}\n}`;
    const { configure, run, ok, state, calls, edit } = await setUp(
      protocol,
      thing('name = "one"\nlabel = "x"'),
    );
    const schema = await ok("providers", "schema", "-json");
    expect(schema).toContain('"toy_thing"');
    await ok("plan", "-out=plan");
    await ok("apply", "plan");
    expect((await state()).resources[0]?.instances[0]?.attributes).toMatchObject({
      name: "one",
      label: "x",
      revision: 1,
      id: expect.stringMatching(/^one-/),
    });
    expect((await run("plan", "-detailed-exitcode")).code).toBe(0);

    await configure(thing('name = "one"\nlabel = "y"'));
    expect((await run("plan", "-detailed-exitcode")).code).toBe(2);
    await ok("apply", "-auto-approve");
    expect((await state()).resources[0]?.instances[0]?.attributes).toMatchObject({
      label: "y",
      revision: 2,
    });

    await edit((text) => text.replace('"y"', '"drifted"'));
    await ok("apply", "-refresh-only", "-auto-approve");
    expect((await state()).resources[0]?.instances[0]?.attributes.label).toBe("drifted");

    await configure(thing('name = "two"\nlabel = "y"'));
    expect(await ok("plan")).toContain("# forces replacement");
    await ok("apply", "-auto-approve");
    await configure(thing('name = "three"\nlifecycle { create_before_destroy = true }'));
    await ok("apply", "-auto-approve");
    await ok("destroy", "-auto-approve");
    expect(await calls()).toEqual([
      "create one",
      "update one",
      "delete one",
      "create two",
      "create three",
      "delete two",
      "delete three",
    ]);
    expect(processesWith("terraform-provider-toy")).toEqual([]);
  });

  it("keeps values of all kinds, so that a second plan is empty", async () => {
    const { ok, run, stateText } = await setUp(
      protocol,
      `variable "secret" {
         ephemeral = true
         default   = "s3cret"
       }
       resource "toy_thing" "a" {
         name     = "one"
         size     = 12345678901234567890123.25
         tags     = ["b", "a", "b"]
         flavours = ["z", "y"]
         notes    = { k = "v", l = null }
         point    = { x = 0.1, y = "é" }
         anything = { list = [1, "two", { deep = true }], number = 9007199254740993 }
         secret   = var.secret
       }
       output "shout" { value = provider::toy::shout("hey") }
       data "toy_lookup" "a" { id = toy_thing.a.id }
       output "found" { value = data.toy_lookup.a.name }`,
    );
    await ok("apply", "-auto-approve");
    const { code, output } = await run("plan", "-detailed-exitcode");
    expect(code, output).toBe(0);
    const text = await stateText();
    for (const digits of ["12345678901234567890123.25", "9007199254740993", "0.1"]) {
      expect(text).toContain(digits);
    }
    expect(text).not.toContain("s3cret");
    const outputs = JSON.parse(await ok("output", "-json")) as Record<string, { value: unknown }>;
    expect(outputs.shout?.value).toBe("HEY!");
    expect(outputs.found?.value).toBe("one");
  });

  it("passes a write-only value on, and errors with their place", async () => {
    const { configure, run, ok, state, calls } = await setUp(
      protocol,
      `resource "toy_thing" "a" {
         name      = "one"
         secret    = "s3cret"
         behaviour = "fail"
       }`,
    );
    const failed = await run("apply", "-auto-approve");
    expect(failed.code).toBe(1);
    expect(failed.output).toContain("Out of toys");
    expect(failed.output).toMatch(/on main\.tf line \d+, in resource "toy_thing" "a"/);
    expect(failed.output).not.toContain("Plugin error");
    expect(await calls()).toEqual(["create one secret=s3cret"]);

    await configure('resource "toy_thing" "a" {\nname = "one"\nbehaviour = "partial"\n}');
    expect((await run("apply", "-auto-approve")).output).toContain("Half a toy");
    expect((await state()).resources[0]?.instances[0]?.status).toBe("tainted");
    expect(await ok("plan")).toContain("is tainted, so must be replaced");
  });

  it("does not hide that a provider breaks its plan", async () => {
    const { run } = await setUp(
      protocol,
      'resource "toy_thing" "a" {\nname = "one"\nlabel = "mine"\nbehaviour = "break"\n}',
    );
    const { code, output } = await run("apply", "-auto-approve");
    expect(code).toBe(1);
    expect(output).toContain("Provider produced inconsistent result after apply");
  });

  it("makes anew what is gone, and reads what is there", async () => {
    const { configure, run, ok, objects } = await setUp(
      protocol,
      'resource "toy_thing" "a" {\nname = "one"\n}',
    );
    await ok("apply", "-auto-approve");
    const [name = ""] = (await readdir(objects)).filter((file) => file.endsWith(".json"));
    const id = name.replace(/\.json$/, "");
    await configure(
      `resource "toy_thing" "a" {\nname = "one"\n}
       data "toy_lookup" "a" { id = "${id}" }
       output "found" { value = data.toy_lookup.a.name }`,
    );
    expect(await ok("plan")).toContain('+ found = "one"');
    await rm(join(objects, name));
    await configure('resource "toy_thing" "a" {\nname = "one"\n}');
    const { code, output } = await run("plan", "-detailed-exitcode");
    expect(code).toBe(2);
    expect(output).toContain("1 to add, 0 to change, 0 to destroy");
  });

  it("imports by command", async () => {
    const { ok, run, folder } = await setUp(
      protocol,
      'resource "toy_thing" "a" {\nname = "old"\n}',
    );
    const stored = JSON.stringify({ name: "old", label: null, revision: 7 });
    await folder.write({ "objects/old-1.json": stored });
    await ok("import", "toy_thing.a", "old-1");
    expect((await run("plan", "-detailed-exitcode")).code).toBe(0);
  });

  it("imports, and moves on without a change", async () => {
    const { configure, run, ok, folder } = await setUp(protocol, "");
    await ok("apply", "-auto-approve");
    const stored = JSON.stringify({ name: "old", label: null, revision: 7 });
    await folder.write({ "objects/old-1.json": stored });
    await configure('import {\n  to = toy_thing.a\n  id = "old-1"\n}');
    await ok("plan", "-generate-config-out=generated.tf");
    await ok("apply", "-auto-approve");
    expect((await run("plan", "-detailed-exitcode")).code).toBe(0);
  });

  it("makes 100 objects at parallelism 30, and carries 6 MiB", async ({ annotate }) => {
    const { ok, calls } = await setUp(
      protocol,
      `resource "toy_thing" "a" {
         count = 100
         name  = "n\${count.index}"
       }
       resource "toy_thing" "large" {
         name = "large"
         text = join("", [for i in range(1024) : format("%06144d", i)])
       }`,
    );
    await ok("apply", "-auto-approve", "-parallelism=30");
    expect(await calls()).toHaveLength(101);
    await annotate("101 objects", "count");
  });
});

describe("a provider of ours that loses its client", () => {
  const HANGING = 'resource "toy_thing" "a" {\nname = "one"\nbehaviour = "hang"\n}';

  async function startHanging() {
    const context = await setUp(6, HANGING);
    const child = context.start("apply", "-auto-approve");
    await vi.waitFor(async () => expect(await context.calls()).toContain("hanging"), 60_000);
    return { ...context, child };
  }

  it("stops its work when the command is interrupted", async () => {
    const { child, calls, state } = await startHanging();
    // As a terminal does it: to the whole group.
    process.kill(-(child.pid ?? 0), "SIGINT");
    const { code, output } = await child.done;
    expect(code).toBe(1);
    expect(output).toContain("Stopping operation...");
    expect(output).toContain("The work was given up");
    expect(await calls()).toContain("stopped");
    expect((await state()).resources).toEqual([]);
    expect(processesWith("terraform-provider-toy")).toEqual([]);
  });

  it("ends when the command is killed", async () => {
    const { child } = await startHanging();
    const providers = processesWith("terraform-provider-toy");
    expect(providers).not.toEqual([]);
    child.kill("SIGKILL");
    await child.done;
    await vi.waitFor(() => expect(providers.filter(isThere)).toEqual([]), 10_000);
  });
});

it.for([5, 6] as const)("OpenTofu drives it as well, protocol %i", async (protocol, ctx) => {
  const tofu = process.env.TEST_TOOL_OPENTOFU ?? "";
  ctx.skip(tofu === "", "TEST_TOOL_OPENTOFU is not set");
  const { ok, run, calls } = await setUp(
    protocol,
    'resource "toy_thing" "a" {\nname = "one"\n}',
    tofu,
  );
  await ok("apply", "-auto-approve");
  expect((await run("plan", "-detailed-exitcode")).code).toBe(0);
  await ok("destroy", "-auto-approve");
  expect(await calls()).toEqual(["create one", "delete one"]);
});

it("connects to a provider in another process, and leaves it running", async () => {
  const provider = createProvider({
    config: {},
    configure: () => undefined,
    resources: {
      toy_note: defineResource({
        attributes: { text: required(types.string), length: computed(types.number) },
        create: ({ text }) => ({ length: String(text).length }),
        delete: () => undefined,
      }),
    },
  });
  let configured = 0;
  const transport = serveLifecycleProvider(provider, { protocol: 5 });
  await using server = await startReattachServer({
    name: "example.com/acme/toy",
    provider: {
      ...transport,
      protocol: 5,
      unary: (method, request, call) => {
        if (method === "Configure") configured += 1;
        return transport.unary(method, request, call);
      },
      close: () => transport.close(),
      [Symbol.asyncDispose]: () => transport.close(),
    },
  });
  await using folder = await TerraformFolder.create({
    command,
    files: {
      "main.tf": `
        terraform {
          required_providers { toy = { source = "example.com/acme/toy" } }
        }
        resource "toy_note" "a" { text = "four" }
        output "length" { value = toy_note.a.length }`,
    },
  });
  const { PATH = "" } = process.env;
  const env = {
    ...server.variable,
    PATH,
    HOME: folder.path,
    CHECKPOINT_DISABLE: "1",
    TF_INPUT: "0",
  };
  const run = promisify(execFile);
  await run(command, ["init"], { cwd: folder.path, env });
  await run(command, ["apply", "-auto-approve"], { cwd: folder.path, env });
  const { stdout } = await run(command, ["output", "length"], { cwd: folder.path, env });
  expect(stdout.trim()).toBe("4");
  // Once for the plan and once for the apply, in this one process.
  expect(configured).toBe(2);
  const [target] = parseReattachProviders(server.variable.TF_REATTACH_PROVIDERS).values();
  if (target === undefined) throw new Error("expected an entry");
  await using attached = await attachTerraformProvider({ target, name: "toy" });
  expect((await attached.unary("GetSchema", new Uint8Array(), {})).length).toBeGreaterThan(0);
});

it("the first line of a provider is the handshake, whatever its libraries print", async () => {
  const child = spawn(join(folders[6], "terraform-provider-toy"), {
    env: { ...process.env, [COOKIE_NAME]: COOKIE_VALUE, PLUGIN_PROTOCOL_VERSIONS: "6" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const chunk = await new Promise<Buffer>((resolve) => child.stdout.once("data", resolve));
  expect(chunk.toString()).toMatch(/^1\|6\|unix\|[^|\n]+\|grpc\|\n$/);
  child.kill("SIGTERM");
  expect(await new Promise((resolve) => child.once("close", resolve))).toBe(0);
});

it("a provider that is started by hand says what it is", async () => {
  const child = spawn(join(folders[6], "terraform-provider-toy"), {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += `stderr: ${chunk.toString()}`));
  const code = await new Promise((resolve) => child.once("close", resolve));
  expect(code).toBe(1);
  expect(output).toMatch(/^stderr: This program is a Terraform provider/);
});
