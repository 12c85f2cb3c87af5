import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import type { ComponentResult } from "./component-program.ts";

const PROGRAM = join(import.meta.dirname, "component-program.ts");
const GARDEN = fileURLToPath(
  new URL("./testing/programs/garden-provider.ts", import.meta.resolve("@stackwright/mux")),
);

async function setUp() {
  const folder = await mkdtempDisposable(join(tmpdir(), "component-killed-"));
  const plants = join(folder.path, "plants");
  const start = (kinds: string, resolution = "leave") => {
    const child = spawn(process.execPath, [PROGRAM, folder.path, GARDEN, kinds, resolution], {
      env: { ...process.env, GARDEN: plants },
      stdio: ["ignore", "pipe", "inherit"],
    });
    return { child, closed: once(child, "close"), output: text(child.stdout) };
  };
  const files = async (): Promise<readonly string[]> =>
    (await readdir(plants).catch(() => [])).map((name) => name.slice(name.indexOf("-") + 1, -5));
  return {
    files: async () => (await files()).toSorted(),
    run: async (kinds: string, resolution?: string): Promise<ComponentResult> => {
      const { closed, output } = start(kinds, resolution);
      await closed;
      return JSON.parse((await output).trim().split("\n").at(-1) ?? "") as ComponentResult;
    },
    /** Kills the process when the plant that never answers is there. */
    kill: async (kinds: string) => {
      const { child, closed } = start(kinds);
      await vi.waitFor(async () => expect((await files()).join()).toContain("wait"), {
        timeout: 60_000,
        interval: 50,
      });
      child.kill("SIGKILL");
      await closed;
    },
    [Symbol.asyncDispose]: () => folder.remove(),
  };
}

describe("a component whose provider is killed", { timeout: 240_000 }, () => {
  it("is unresolved until the user decides about the child without an answer, which is not made again", async () => {
    await using garden = await setUp();
    const lost = await garden.run("rose,kill");
    expect(lost).toMatchObject({ status: "failed", phase: "unresolved" });
    expect(lost.problem).toMatch(/may have made garden:index:Plant::b-1 with kind = "kill"/);
    const again = await garden.run("rose,fern");
    expect(again).toMatchObject({ phase: "unresolved" });
    expect(await garden.files()).toEqual(["0-rose", "1-kill"]);
    const decided = await garden.run("rose,fern", "b-1-kill");
    expect(decided).toMatchObject({ phase: "tainted", children: { 0: "0-rose", 1: "1-kill" } });
    const made = await garden.run("rose,fern");
    expect(made).toMatchObject({ phase: "ready", children: { 0: "0-rose", 1: "1-fern" } });
    // Of an update the object is there all the time.
    const grown = await garden.run("rose,fern,kill");
    expect(grown).toMatchObject({ phase: "unresolved" });
    expect(grown.problem).toMatch(/may have made garden:index:Plant::b-2 with kind = "kill"/);
  });
});

describe("a component whose making is killed", { timeout: 240_000 }, () => {
  it("is tainted with the children that it has; one without an answer is named until the user decides", async () => {
    await using garden = await setUp();
    await garden.kill("rose,fern,wait");
    const found = await garden.run("rose,fern");
    expect(found).toMatchObject({ phase: "unresolved" });
    expect(found.problem).toMatch(/may have made garden:index:Plant::b-2 with kind = "wait"/);
    // It has been found by the user.
    const decided = await garden.run("rose,fern", "b-2-wait");
    expect(decided).toMatchObject({
      phase: "tainted",
      children: { 0: "0-rose", 1: "1-fern", 2: "2-wait" },
    });
    const made = await garden.run("rose");
    expect(made).toMatchObject({ status: "applied", phase: "ready", children: { 0: "0-rose" } });
    expect(await garden.files()).toEqual(["0-rose"]);

    await garden.kill("rose,moss,wait");
    const grown = await garden.run("rose,moss", "absent");
    expect(grown).toMatchObject({ phase: "ready", children: { 0: "0-rose", 1: "1-moss" } });
    const gone = await garden.run("");
    expect([gone.status, gone.phase]).toEqual(["applied", undefined]);
    // The user has said that it does not exist.
    expect(await garden.files()).toEqual(["2-wait"]);
  });
});
