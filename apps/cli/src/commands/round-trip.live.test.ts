import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtempDisposable, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const hasCommand = spawnSync(COMMAND, ["version"]).status === 0;
const PROGRAM = join(import.meta.dirname, "../../bin/stackwright.mjs");
const ENV = { PATH: process.env["PATH"] ?? "", TF_IN_AUTOMATION: "1", CHECKPOINT_DISABLE: "1" };
/** 2 in `.ci/run`, 20 in the soak. */
const APPLIES = Math.max(2, Math.round(2 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1)));
const SEED = Number(process.env["STACKWRIGHT_SEED"] ?? 1);

/** Whole numbers below a limit, the same for a seed. */
function chooser(seed: number): (limit: number) => number {
  let at = seed >>> 0;
  return (limit) => {
    at = (Math.imul(at, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((at / 2 ** 32) * limit);
  };
}

/** Keyed, counted, dependent and replaced objects in two modules, with outputs, one of them sensitive. */
function configuration(below: (limit: number) => number, count: number): string {
  const keys = Array.from({ length: 1 + below(6) }, () => `"k${below(9)}"`);
  return `
module "m" {
  source = "./m"
  count  = ${below(3)}
  text   = "t${below(4)}"
}
resource "terraform_data" "keyed" {
  for_each         = toset([${keys.join(", ")}])
  input            = { key = each.key, number = ${below(100)}, list = [for m in module.m : m.out] }
  triggers_replace = ${below(3)}
}
resource "terraform_data" "counted" {
  count = ${count}
  input = "c\${count.index}-${below(3)}"
  ${below(2) === 0 ? "" : "depends_on = [terraform_data.keyed]"}
  lifecycle { create_before_destroy = ${below(2) === 0} }
}
output "keys" { value = { for key, one in terraform_data.keyed : key => one.output } }
output "token" {
  value     = sensitive("s${below(5)}")
  sensitive = true
}
`;
}

const MODULE = `variable "text" {}
resource "terraform_data" "inner" { input = var.text }
output "out" { value = terraform_data.inner.output }
`;

async function root() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "round-trip-"));
  onTestFinished(() => scratch.remove());
  const directory = scratch.path;
  await mkdir(join(directory, ".git"));
  await mkdir(join(directory, "m"));
  await writeFile(join(directory, "m/main.tf"), MODULE);
  const terraform = async (...words: readonly string[]) =>
    new Promise<{ readonly code: number; readonly text: string }>((resolve) => {
      const options = { cwd: directory, env: { ...ENV, HOME: directory }, timeout: 300_000 };
      execFile(COMMAND, [...words, "-no-color"], options, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
        resolve({ code, text: stdout + stderr });
      });
    });
  const stackwright = async (...words: readonly string[]): Promise<string> => {
    const { code, output, error } = await tryCommand(words, { cwd: directory, env: ENV });
    expect(code, `${words.join(" ")}: ${output}${error}`).toBe(0);
    return output;
  };
  /** An apply that is killed after some objects. */
  const killed = async (objects: number): Promise<void> => {
    const child = spawn(process.execPath, [PROGRAM, "up", "-y", "-parallelism=1"], {
      cwd: directory,
      env: { ...ENV, HOME: directory },
      stdio: ["ignore", "pipe", "ignore"],
    });
    let output = "";
    child.stdout.on("data", (part: Buffer) => {
      output += part.toString("utf8");
      if ((output.match(/ complete after /g)?.length ?? 0) > objects) child.kill("SIGKILL");
    });
    const [, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
    expect(signal, output).toBe("SIGKILL");
  };
  const write = async (text: string) => writeFile(join(directory, "main.tf"), text);
  return { directory, terraform, stackwright, killed, write };
}

describe("from the real command and back to it", {
  // Init, adoption and the last plan, and the applies, on a machine that does something else as well.
  timeout: 180_000 + 60_000 * APPLIES,
}, () => {
  beforeEach(({ skip }) => {
    skip(!hasCommand, "there is no terraform command (STACKWRIGHT_TERRAFORM)");
  });

  it.each(["mirror", "export"])(
    `by %s after ${APPLIES} random applies, one of them killed, without the store`,
    async (way) => {
      const { directory, terraform, stackwright, killed, write } = await root();
      const below = chooser(SEED + way.length);
      await write(configuration(below, 2));
      for (const words of [["init"], ["apply", "-auto-approve"]]) {
        const { code, text } = await terraform(...words);
        expect(code, text).toBe(0);
      }
      const before = JSON.parse(await readFile(join(directory, "terraform.tfstate"), "utf8")) as {
        readonly lineage: string;
        readonly serial: number;
      };
      await stackwright("adopt", "--yes", ...(way === "mirror" ? ["--mirror"] : []));
      const kill = below(APPLIES);
      for (let at = 0; at < APPLIES; at++) {
        await write(configuration(below, at === kill ? 80 : below(5)));
        if (at === kill) await killed(5 + below(20));
        await stackwright("up", "-y");
      }
      if (way === "export") {
        const exported = await stackwright("export-state");
        await writeFile(join(directory, "terraform.tfstate"), exported);
      }
      await rm(join(directory, ".stackwright"), { recursive: true });
      const { code, text } = await terraform("plan", "-detailed-exitcode");
      expect(code, text).toBe(0);
      const after = JSON.parse(await readFile(join(directory, "terraform.tfstate"), "utf8")) as {
        readonly lineage: string;
        readonly serial: number;
      };
      expect(after.lineage).toBe(before.lineage);
      expect(after.serial).toBeGreaterThan(before.serial);
    },
  );
});
