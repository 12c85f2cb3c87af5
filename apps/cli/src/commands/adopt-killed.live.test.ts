import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const PROGRAM = join(import.meta.dirname, "../../bin/stackwright.mjs");
/** 2 in `.ci/run`, 40 in the soak. */
const MOMENTS = Math.max(1, Math.round(2 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1)));
const OBJECTS = 40;

const CONFIGURATION = `resource "terraform_data" "a" {
  count = ${OBJECTS}
  input = count.index
}
output "first" { value = terraform_data.a[0].output }
`;

function stateText(): string {
  const value = (index: number) => ({ value: index, type: "number" });
  return JSON.stringify({
    version: 4,
    terraform_version: "1.11.4",
    serial: 5,
    lineage: "7a5b5f8e-3d0c-4e3a-9f0c-3f4f8f2c9a10",
    outputs: { first: { value: 0, type: "number" } },
    resources: [
      {
        mode: "managed",
        type: "terraform_data",
        name: "a",
        provider: 'provider["terraform.io/builtin/terraform"]',
        instances: Array.from({ length: OBJECTS }, (_, index) => ({
          index_key: index,
          schema_version: 0,
          attributes: {
            id: `id-${index}`,
            input: value(index),
            output: value(index),
            triggers_replace: null,
          },
        })),
      },
    ],
    check_results: null,
  });
}

/** A root module with a state, and what an adoption leaves of it that is killed after some time; it may end before. */
async function adoption() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "adopt-killed-"));
  const cwd = scratch.path;
  await mkdir(join(cwd, ".git"));
  await writeFile(join(cwd, "main.tf"), CONFIGURATION);
  await writeFile(join(cwd, "terraform.tfstate"), stateText());
  const adopt = async (killAfterMs?: number): Promise<number> => {
    const began = performance.now();
    const child = spawn(process.execPath, [PROGRAM, "adopt", "--yes"], {
      cwd,
      env: { PATH: process.env["PATH"], HOME: cwd },
      stdio: "ignore",
    });
    const closed = once(child, "close");
    if (killAfterMs !== undefined) {
      await Promise.race([closed, delay(killAfterMs)]);
      child.kill("SIGKILL");
    }
    await closed;
    return performance.now() - began;
  };
  const run = async (...words: readonly string[]) => tryCommand(words, { cwd });
  return { cwd, adopt, run, [Symbol.asyncDispose]: () => scratch.remove() };
}

it("an adoption that is killed has recorded nothing or all, and the next one finishes", {
  timeout: 60_000 * Math.max(1, MOMENTS / 2),
}, async () => {
  let whole: number;
  {
    await using warm = await adoption();
    await warm.adopt();
    await using measured = await adoption();
    whole = await measured.adopt();
    expect((await measured.run("plan", "-detailed-exitcode")).code).toBe(0);
  }
  for (let moment = 0; moment < MOMENTS; moment++) {
    // Before a third of the time only modules are loaded.
    const share = 0.3 + (0.75 * (moment + Math.random())) / MOMENTS;
    await using killed = await adoption();
    await killed.adopt(whole * share);
    const where = `killed after ${share.toFixed(3)} of ${whole.toFixed(0)} ms`;

    // Never a plan that creates what exists.
    const planned = await killed.run("plan", "-detailed-exitcode");
    expect([0, 1], `${where}: ${planned.output}${planned.error}`).toContain(planned.code);
    if (planned.code === 1) expect(planned.error, where).toContain("ENGINE_STATE_NOT_ADOPTED");

    const again = await killed.run("adopt", "--yes");
    expect(again.code, `${where}: ${again.output}${again.error}`).toBe(0);
    const empty = await killed.run("plan", "-detailed-exitcode");
    expect(empty.code, `${where}: ${empty.output}${empty.error}`).toBe(0);
    const listed = await killed.run("state", "list");
    expect(listed.output.trim().split("\n").length, where).toBe(OBJECTS);
    // What Terraform would read is the marker, and the state is kept beside it.
    const marker = JSON.parse(await readFile(join(killed.cwd, "terraform.tfstate"), "utf8")) as {
      readonly version: number;
    };
    expect(marker.version, where).not.toBe(4);
    const kept = await readFile(join(killed.cwd, "terraform.tfstate.adopted-5"), "utf8");
    expect(kept, where).toBe(stateText());
  }
});
