import { execFileSync, spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { setUpBridge, terraformAbsent } from "../testing/terraform-with-bridge.ts";

/*
 * The bridge runs under the Node of its users. `TEST_NODE_20` and `TEST_NODE_22` name programs; without them, the nodes in PATH are
 * tried.
 */

let cleanup = new AsyncDisposableStack();
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

function findNode(major: number): string | undefined {
  const named = process.env[`TEST_NODE_${major}`];
  const folders = (process.env.PATH ?? "").split(delimiter);
  return [named ?? [], folders.map((folder) => join(folder, "node"))].flat(2).find((program) => {
    const { status, stdout } = spawnSync(program, ["--version"], { encoding: "utf8" });
    return status === 0 && stdout.startsWith(`v${major}.`);
  });
}

const thing = (text: string) => `resource "toy_thing" "a" {\n${text}\n}`;

describe.each([20, 22, 24])("the bridge under Node %d", (major) => {
  const node = findNode(major);

  it("takes the real command through the life of an object", { timeout: 180_000 }, async (ctx) => {
    ctx.skip(terraformAbsent !== undefined, terraformAbsent ?? "");
    ctx.skip(node === undefined, `there is no Node ${major}: set TEST_NODE_${major}`);
    const nodeFolder = dirname(node ?? "");
    const setUp = await setUpBridge(cleanup, thing('name = "one"\nlabel = "x"'), { nodeFolder });
    const { world, configure, run, ok, state, bridges, env } = setUp;
    const used = execFileSync("node", ["--version"], { env, encoding: "utf8" });
    expect(used).toContain(`v${major}.`);
    await ok("apply", "-auto-approve");
    expect((await state()).resources[0]?.instances[0]?.attributes).toMatchObject({ label: "x" });
    expect((await run("plan", "-detailed-exitcode")).code).toBe(0);
    await configure(thing('name = "one"\nlabel = "y"\nbehaviour = "fail"'));
    expect((await run("apply", "-auto-approve")).output).toContain("Out of paint");
    await configure(thing('name = "one"\nlabel = "y"'));
    await ok("apply", "-auto-approve");
    await setUp.bridged.server.close();
    const away = await run("plan");
    expect(away.code).toBe(1);
    expect(away.output).toContain("FG_UNREACHABLE");
    expect(away.output).not.toContain("Plugin");
    expect(world.calls.filter((call) => !call.startsWith("configure"))).toEqual([
      "create one",
      "update one",
      "update one",
    ]);
    expect(bridges()).toEqual([]);
  });
});

describe("the bridge under a Node that is too old", () => {
  it.each(["18.20.8", "20.8.1"])("refuses %s in one line, without a handshake", async (version) => {
    const { program, scratch } = await setUpBridge(cleanup, "");
    // What the program asks about the Node that runs it is answered as that one would.
    const disguise = join(scratch, "disguise.cjs");
    const versions = `{ ...process.versions, node: "${version}" }`;
    await writeFile(
      disguise,
      `Object.defineProperty(process, "versions", { value: ${versions} });\n` +
        `Object.defineProperty(process, "version", { value: "v${version}" });\n`,
    );
    const { status, stdout, stderr } = spawnSync(process.execPath, ["-r", disguise, program], {
      encoding: "utf8",
      env: {
        TF_PLUGIN_MAGIC_COOKIE: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
        PLUGIN_PROTOCOL_VERSIONS: "5",
      },
      timeout: 30_000,
    });
    expect([status, stdout]).toEqual([1, ""]);
    expect(stderr).toBe(
      `This provider needs Node 20.9 or newer; ${process.execPath} is v${version}. ` +
        "Put a newer node first in PATH.\n",
    );
  });
});
