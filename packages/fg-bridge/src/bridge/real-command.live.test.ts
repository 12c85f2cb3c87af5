import { spawn, spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Platform, ProviderAddress, packedPath, Version } from "@stackwright/provider-source";
import { startReattachServer } from "@stackwright/tfplugin/serve";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { TEST_URN } from "../testing/bridged-function.ts";
import {
  type BridgeSetUp,
  SOURCE,
  setUpBridge,
  terraformAbsent,
} from "../testing/terraform-with-bridge.ts";
import { createBridgeArchiveSource } from "./bridge-archive-source.ts";
import { openBridge } from "./bridge-provider.ts";

/*
 * The real command uses a provider that lives in a function, through the bridge. Rows of the acceptance plan stand before
 * their tests.
 */

let cleanup = new AsyncDisposableStack();
beforeEach((ctx) => {
  ctx.skip(terraformAbsent !== undefined, terraformAbsent ?? "");
});
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

const setUp = (resources: string, options?: BridgeSetUp) =>
  setUpBridge(cleanup, resources, options);
const thing = (text: string) => `resource "toy_thing" "a" {\n${text}\n}`;
const made = (world: { calls: readonly string[] }) =>
  world.calls.filter((call) => !call.startsWith("configure"));

describe("the real command and a provider in a function", () => {
  // D1, D2, D3, D4, D5, D6, D7
  it("goes through the life of an object", async () => {
    const { world, configure, run, ok, state, stateText, bridges } = await setUp(
      thing('name = "one"\nlabel = "x"'),
    );
    const schema = await ok("providers", "schema", "-json");
    expect(schema).toContain('"toy_thing"');
    // D21: what the contract does not carry is not announced.
    expect(schema).not.toContain('"shout"');
    expect(world.calls).toEqual([]);

    await ok("plan", "-out=plan");
    await ok("apply", "plan");
    expect((await state()).resources[0]?.instances[0]?.attributes).toMatchObject({
      name: "one",
      label: "x",
      revision: 1,
      id: expect.stringMatching(/^one-/) as string,
    });
    expect(await stateText()).not.toContain("t0ken-of-the-toys");
    expect((await run("plan", "-detailed-exitcode")).code).toBe(0);

    await configure(thing('name = "one"\nlabel = "y"'));
    expect((await run("plan", "-detailed-exitcode")).code).toBe(2);
    await ok("apply", "-auto-approve");
    expect((await state()).resources[0]?.instances[0]?.attributes).toMatchObject({ revision: 2 });

    const [id = "", toy] = [...world.objects][0] ?? [];
    world.objects.set(id, { ...toy!, label: "drifted" });
    const before = made(world).length;
    await ok("apply", "-refresh-only", "-auto-approve");
    expect((await state()).resources[0]?.instances[0]?.attributes.label).toBe("drifted");
    expect(made(world)).toHaveLength(before);

    world.objects.clear();
    expect(await ok("plan")).toContain("will be created");
    world.objects.set(id, toy!);

    await configure(thing('name = "two"\nlabel = "y"'));
    expect(await ok("plan")).toContain("# forces replacement");
    await ok("apply", "-auto-approve");
    await configure(thing('name = "three"\nlifecycle {\ncreate_before_destroy = true\n}'));
    await ok("apply", "-auto-approve");
    await ok("destroy", "-auto-approve");
    expect(made(world)).toEqual([
      "create one",
      "update one",
      "delete one",
      "create two",
      "create three",
      "delete two",
      "delete three",
    ]);
    expect(bridges()).toEqual([]);
  });

  // D8
  it("imports by command and by block", async () => {
    const { world, configure, run, ok } = await setUp(thing('name = "old"'));
    world.objects.set("old-1", { name: "old", label: null, revision: 7 });
    await ok("import", "toy_thing.a", "old-1");
    expect((await run("plan", "-detailed-exitcode")).code).toBe(0);
    await ok("state", "rm", "toy_thing.a");
    await configure('import {\n  to = toy_thing.a\n  id = "old-1"\n}');
    await ok("plan", "-generate-config-out=generated.tf");
    await ok("apply", "-auto-approve");
    expect((await run("plan", "-detailed-exitcode")).code).toBe(0);
    expect(made(world)).toEqual([]);
  });

  // D9, D10, D11
  it("keeps values of all kinds, so that a second plan is empty", async () => {
    const { world, ok, run, stateText } = await setUp(
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
       data "toy_lookup" "late" { id = toy_thing.a.id }
       data "toy_lookup" "early" { id = "none" }
       output "found" { value = data.toy_lookup.late.name }`,
    );
    await ok("plan", "-out=plan");
    expect(made(world)).toEqual(["lookup none"]);
    await ok("apply", "plan");
    expect(made(world)).toContain("create one secret=s3cret");
    const { code, output } = await run("plan", "-detailed-exitcode");
    expect(code, output).toBe(0);
    const text = await stateText();
    for (const digits of ["12345678901234567890123.25", "9007199254740993", "0.1"]) {
      expect(text).toContain(digits);
    }
    expect(text).not.toContain("s3cret");
    expect(JSON.parse(await ok("output", "-json"))).toMatchObject({ found: { value: "one" } });
  });

  // D12, D13, D14
  it("shows what the provider says, and hides nothing of what it does", async () => {
    const { configure, run, ok, state } = await setUp(thing('name = "one"\nbehaviour = "fail"'));
    const failed = await run("apply", "-auto-approve");
    expect(failed.code).toBe(1);
    expect(failed.output).toContain("Out of toys");
    expect(failed.output).toMatch(
      /on main\.tf line \d+, in resource "toy_thing" "a":\n.*behaviour = "fail"/,
    );
    expect(failed.output).not.toContain("Plugin error");

    await configure(thing('name = "one"\nbehaviour = "partial"'));
    expect((await run("apply", "-auto-approve")).output).toContain("Half a toy");
    expect((await state()).resources[0]?.instances[0]?.status).toBe("tainted");
    expect(await ok("plan")).toContain("is tainted, so must be replaced");
    await ok("destroy", "-auto-approve");

    await configure(thing('name = "one"\nlabel = "mine"\nbehaviour = "cheat"'));
    expect((await run("apply", "-auto-approve")).output).toContain(
      "Provider produced inconsistent result after apply",
    );
  });

  // D15
  it("explains a function that is down, slow or something else", async () => {
    const page = createServer((_request, response) => response.end("<html>hello</html>"));
    const silent = createServer(() => undefined);
    for (const server of [page, silent]) {
      await new Promise<void>((resolve) => {
        server.listen(0, "127.0.0.1", resolve);
      });
      cleanup.defer(() => {
        server.closeAllConnections();
        server.close();
      });
    }
    const urlOf = (server: typeof page) =>
      `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (const [url, text] of [
      [urlOf(page), "FG_RESPONSE_INVALID"],
      [urlOf(silent), "FG_TIMEOUT"],
      ["http://127.0.0.1:9", "FG_UNREACHABLE"],
      ["https://169.254.169.254", "FG_ADDRESS_REFUSED"],
    ] as const) {
      const { run, bridges } = await setUp(thing('name = "one"'), {
        url,
        env: { STACKWRIGHT_FUNCTION_TIMEOUT_MS: "1000" },
      });
      const started = performance.now();
      const { code, output } = await run("plan");
      expect(code).toBe(1);
      expect(output).toContain("The function of the provider failed");
      expect(output).toContain(text);
      expect(output).not.toContain("Plugin");
      expect(performance.now() - started).toBeLessThan(60_000);
      expect(bridges()).toEqual([]);
    }
  });

  it("keeps an object whose update could not be asked for", async () => {
    const { bridged, configure, run, ok, state } = await setUp(thing('name = "one"\nlabel = "x"'));
    await ok("apply", "-auto-approve");
    await configure(thing('name = "one"\nlabel = "y"'));
    await ok("plan", "-out=plan");
    await bridged.server.close();
    const { code, output } = await run("apply", "plan");
    expect(code).toBe(1);
    expect(output).toContain("FG_UNREACHABLE");
    expect((await state()).resources[0]?.instances[0]?.attributes).toMatchObject({ label: "x" });
  });

  // D16
  it("stops its work when the command is interrupted", async () => {
    const { world, start, state, bridges } = await setUp(thing('name = "one"\nbehaviour = "hang"'));
    const child = start("apply", "-auto-approve");
    await vi.waitFor(() => expect(made(world)).toContain("create one"), 60_000);
    // As a terminal does it: to the whole group.
    process.kill(-(child.pid ?? 0), "SIGINT");
    const { code, output } = await child.done;
    expect(code).toBe(1);
    expect(output).toContain("Stopping operation...");
    expect(output).toContain("The result of the change is not known");
    expect((await state()).resources).toEqual([]);
    expect(bridges()).toEqual([]);
  });

  // D17
  it("ends when the command is killed", async () => {
    const { world, start, bridges } = await setUp(thing('name = "one"\nbehaviour = "hang"'));
    const child = start("apply", "-auto-approve");
    await vi.waitFor(() => expect(made(world)).toContain("create one"), 60_000);
    expect(bridges()).not.toEqual([]);
    child.kill("SIGKILL");
    await child.done;
    await vi.waitFor(() => expect(bridges()).toEqual([]), 10_000);
  });

  // D18, D19
  it("makes 100 objects at parallelism 30, and carries 6 MiB", async ({ annotate }) => {
    const { world, ok } = await setUp(
      `resource "toy_thing" "a" {
         count = 100
         name  = "n\${count.index}"
       }
       resource "toy_thing" "large" {
         name = "large"
         text = join("", [for i in range(1024) : format("%06144d", i)])
       }`,
      { server: { maxProcesses: 64, maxWaiting: 500 } },
    );
    await ok("apply", "-auto-approve", "-parallelism=30");
    expect(made(world)).toHaveLength(101);
    await annotate("101 objects", "count");
  });

  // D20
  it("serves the command from a process that runs already", async () => {
    const { manifest, world, scratch } = await setUp(thing('name = "one"'));
    const bridge = openBridge(manifest, { caller: {}, stopGraceMs: 500 });
    const server = cleanup.use(await startReattachServer({ name: SOURCE, provider: bridge }));
    const env = {
      ...server.variable,
      PATH: process.env.PATH ?? "",
      HOME: scratch,
      CHECKPOINT_DISABLE: "1",
      TF_INPUT: "0",
    };
    for (const args of [["init"], ["apply", "-auto-approve"]]) {
      const child = spawn("terraform", args, { cwd: scratch, env, stdio: "ignore" });
      const code = await new Promise((resolve) => {
        child.once("exit", resolve);
      });
      expect(code).toBe(0);
    }
    expect(made(world)).toEqual(["create one"]);
  });
});

describe("the bridge as an executable", () => {
  // D22, D24
  it("writes its handshake first, and explains itself to a person", async () => {
    const { program, env } = await setUp("");
    const byHand = spawnSync(program, { env, encoding: "utf8" });
    expect(byHand.status).toBe(1);
    expect(byHand.stderr).toContain("Terraform provider");
    expect(byHand.stdout).toBe("");
    const child = spawn(program, {
      env: {
        ...env,
        TF_PLUGIN_MAGIC_COOKIE: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
        PLUGIN_PROTOCOL_VERSIONS: "5,6",
      },
      stdio: ["ignore", "pipe", "ignore"],
    });
    const line = await new Promise<string>((resolve) => {
      child.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString()));
    });
    child.kill("SIGTERM");
    expect(line.trim().split("|")).toHaveLength(6);
    expect(line).toMatch(/^1\|5\|unix\|/);
  });

  // D23
  it("needs node on the path, and fails readably without", async () => {
    const { program } = await setUp("");
    const { status, stderr } = spawnSync(program, {
      env: { PATH: "/nonexistent" },
      encoding: "utf8",
    });
    expect(status).toBe(127);
    expect(stderr).toContain("node");
  });
});

describe("archives for the real command", () => {
  it("are installed by init from a mirror, and used", async () => {
    const { bridged, configure, scratch, world } = await setUp(thing('name = "one"'));
    const source = await createBridgeArchiveSource({
      targets: bridged.table,
      endpointOf: () => ({ kind: "url", url: bridged.server.url }),
      networks: ["127.0.0.0/8"],
    });
    const address = ProviderAddress.parse("huawei.com/private-provider/toy");
    const platform = Platform.parse(`linux_${process.arch === "arm64" ? "arm64" : "amd64"}`);
    const request = { address, version: Version.parse("1.2.3"), functionUrn: TEST_URN, platform };
    const archive = await source.archive(request);
    if (archive === undefined) throw new Error("no archive");
    const mirror = join(scratch, "mirror");
    const path = join(mirror, packedPath(archive.id));
    await mkdir(join(path, ".."), { recursive: true });
    const chunks: Uint8Array[] = [];
    for await (const chunk of archive.read()) chunks.push(chunk);
    await writeFile(path, Buffer.concat(chunks));
    await writeFile(
      join(scratch, "rc"),
      `provider_installation {\nfilesystem_mirror {\npath = ${JSON.stringify(mirror)}\n}\n}\n`,
    );
    await configure(thing('name = "one"'));
    const main = join(scratch, "main.tf");
    const text = await readFile(main, "utf8");
    await writeFile(
      main,
      text.replace(
        `{ source = "${SOURCE}" }`,
        '{\nsource = "huawei.com/private-provider/toy"\nversion = "1.2.3"\n}',
      ),
    );
    const env = {
      PATH: process.env.PATH ?? "",
      HOME: scratch,
      TF_CLI_CONFIG_FILE: join(scratch, "rc"),
      CHECKPOINT_DISABLE: "1",
      TF_INPUT: "0",
    };
    for (const args of [["init"], ["apply", "-auto-approve"], ["plan", "-detailed-exitcode"]]) {
      const child = spawn("terraform", [...args, "-no-color"], { cwd: scratch, env });
      let output = "";
      child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
      child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
      const code = await new Promise((resolve) => {
        child.once("close", resolve);
      });
      expect(code, output).toBe(0);
    }
    expect(made(world)).toEqual(["create one"]);
  });
});
