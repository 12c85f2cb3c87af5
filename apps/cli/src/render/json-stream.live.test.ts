import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const call = promisify(execFile);

const MAIN = `
variable "n" { default = 1 }
resource "terraform_data" "a" {
  count = 2
  input = "\${var.n}-\${count.index}"
}
resource "terraform_data" "b" {
  input            = var.n
  triggers_replace = var.n
}
output "o" { value = terraform_data.b.output }
output "s" {
  value     = "secret"
  sensitive = true
}
`;

const STEPS: readonly (readonly string[])[] = [
  ["plan", "-json"],
  ["apply", "-json", "-auto-approve"],
  ["plan", "-json", "-var", "n=2"],
  ["apply", "-json", "-auto-approve", "-var", "n=2"],
  ["apply", "-json", "-auto-approve", "-var", "n=2"],
  ["plan", "-json", "-var", "n=2", "-replace", "terraform_data.b"],
  ["destroy", "-json", "-auto-approve", "-var", "n=2"],
];

/**
 * A stream without what differs on purpose, in an order that does not depend on concurrency. Differences: `@module` names the
 * program; lines of the type `log` say what the command does; the version line names both versions; `change_summary` also
 * has `forget`, `failed`, `skipped`, `unresolved` and `status`; a refresh has no id; ids and times are those of a run.
 */
function comparable(output: string): string[] {
  const lines = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  return lines
    .filter(({ type }) => type !== "log")
    .map(({ "@timestamp": _time, "@module": _module, stackwright: _own, ...line }) => {
      if (line.type === "version") line["@message"] = "";
      const { hook, changes } = line;
      for (const member of ["id_key", "id_value", "elapsed_seconds"]) delete hook?.[member];
      for (const member of ["forget", "failed", "skipped", "unresolved", "status"])
        delete changes?.[member];
      line["@message"] = line["@message"].replace(/ \[id=[^\]]*\]/, "").replace(/after \d+s/, "");
      return canonical(line);
    })
    .toSorted();
}

interface Line {
  readonly type: string;
  "@message": string;
  readonly hook?: Record<string, unknown>;
  readonly changes?: Record<string, unknown>;
  readonly [member: string]: unknown;
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}

it("the lines of plan, apply and destroy are those of the real command", {
  timeout: 300_000,
}, async ({ skip }) => {
  skip(spawnSync(COMMAND, ["version"]).status !== 0, "there is no terraform command");
  const folder = await mkdtemp(join(tmpdir(), "json-stream-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const [theirs, ours] = [join(folder, "theirs"), join(folder, "ours")];
  for (const cwd of [theirs, ours]) {
    await mkdir(join(cwd, ".git"), { recursive: true });
    await writeFile(join(cwd, "main.tf"), MAIN);
  }
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder };
  await call(COMMAND, ["init"], { cwd: theirs, env });
  for (const words of STEPS) {
    const { stdout } = await call(COMMAND, [...words], { cwd: theirs, env });
    const { output } = await tryCommand(words, { cwd: ours, env });
    expect(comparable(output), words.join(" ")).toEqual(comparable(stdout));
  }
});
