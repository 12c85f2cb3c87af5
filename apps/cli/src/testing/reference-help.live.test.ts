import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { type ReferenceHelp, readReferenceHelp } from "./reference-help.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";

it("the recorded options are those of the real command", async ({ skip }) => {
  skip(spawnSync(COMMAND, ["version"]).status !== 0, "there is no terraform command");
  const text = readFileSync(new URL("reference-help.json", import.meta.url), "utf8");
  const recorded = JSON.parse(text) as ReferenceHelp;
  const found = await readReferenceHelp(COMMAND);
  skip(found.version !== recorded.version, `the command is Terraform ${found.version}`);
  expect(found).toEqual(recorded);
});
