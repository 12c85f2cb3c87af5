import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type ReferenceHelp, readReferenceHelp } from "./reference-help.ts";

const COMMANDS: readonly (readonly [string, string, string])[] = [
  ["Terraform", process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform", "reference-help.json"],
  ["OpenTofu", process.env["TEST_TOOL_OPENTOFU"] ?? "tofu", "reference-help-tofu.json"],
];

describe.each(COMMANDS)("the recorded options of %s", (name, command, file) => {
  it("are those of the real command", async ({ skip }) => {
    skip(spawnSync(command, ["version"]).status !== 0, `there is no ${name} command`);
    const text = readFileSync(new URL(file, import.meta.url), "utf8");
    const recorded = JSON.parse(text) as ReferenceHelp;
    const found = await readReferenceHelp(command);
    skip(found.version !== recorded.version, `the command is ${name} ${found.version}`);
    expect(found).toEqual(recorded);
  });
});
