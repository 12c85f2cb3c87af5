import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type CliProcess, startCli } from "../testing/cli.ts";
import { Scratch } from "../testing/scratch.ts";
import { waitFor } from "../testing/wait-for.ts";

const MAIN = `terraform {
  required_providers {
    gate = { source = "example.com/e2e/gate" }
  }
}
provider "gate" { root = "./site" }
variable "name" { default = "a" }
variable "gate" {
  type    = string
  default = null
}
resource "gate_file" "first" { path = "first-\${var.name}.txt" }
resource "gate_file" "f" {
  path = "\${var.name}.txt"
  gate = var.gate
  depends_on = [gate_file.first]
}
`;

const begun = async (scratch: Scratch, started: CliProcess, ...calls: readonly string[]) =>
  waitFor(calls.join(), () => calls.every((call) => scratch.calls().includes(call)), {
    seen: () => `${scratch.calls().join()}\n${started.text}`,
  });

describe("what test files make", () => {
  let scratch: Scratch;

  beforeEach(async () => {
    scratch = await Scratch.make();
    onTestFinished(async () => scratch[Symbol.asyncDispose]());
    await scratch.installGateProvider();
  });

  it("is destroyed after one Ctrl-C, and the other runs are skipped", async () => {
    await scratch.write({
      "main.tf": MAIN,
      "a.tftest.hcl": 'run "one" {\n  variables { gate = "open" }\n}\nrun "two" {}\n',
    });
    const started = startCli(scratch, ["test"]);
    await begun(scratch, started, "create a.txt");
    expect(existsSync(join(scratch.site, "first-a.txt"))).toBe(true);
    started.signal("SIGINT");
    await started.says("Stopping");
    await scratch.open("open");
    const { code, output } = await started.end();
    expect(output).toContain('run "two"... skip');
    expect(output).toContain("Failure!");
    expect(code).toBe(1);
    expect(existsSync(join(scratch.site, "first-a.txt"))).toBe(false);
    expect(existsSync(join(scratch.site, "a.txt"))).toBe(false);
  });

  it("is listed after a second Ctrl-C", async () => {
    await scratch.write({
      "main.tf": MAIN,
      "a.tftest.hcl": 'run "one" {\n  variables { gate = "open" }\n}\n',
    });
    const started = startCli(scratch, ["test"]);
    await begun(scratch, started, "create a.txt");
    started.signal("SIGINT");
    await started.says("Stopping");
    started.signal("SIGINT");
    const { code, error } = await started.end();
    expect(error).toContain("- gate_file.first\n");
    expect(code).toBe(1);
    expect(existsSync(join(scratch.site, "first-a.txt"))).toBe(true);
  });

  it("is made at the same time by parallel runs with states of their own", async () => {
    const run = (name: string): string => `run "${name}" {
  parallel  = true
  state_key = "${name}"
  variables {
    name = "${name}"
    gate = "open"
  }
}
`;
    await scratch.write({ "main.tf": MAIN, "a.tftest.hcl": run("x") + run("y") });
    const started = startCli(scratch, ["test"]);
    // Both wait for the same gate, so that neither has ended.
    await begun(scratch, started, "create x.txt", "create y.txt");
    await scratch.open("open");
    const { code, output } = await started.end();
    expect(output).toContain("Success! 2 passed, 0 failed.");
    expect(code).toBe(0);
  });
});
