import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ApplyResult, StepAction, StepStatus } from "@stackwright/core";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";
import { JSON_EVENTS_VERSION, JsonEvents } from "./json-events.ts";

const BAD = `
resource "terraform_data" "good" {}
resource "terraform_data" "bad" {
  depends_on = [terraform_data.good]
  lifecycle {
    postcondition {
      condition     = self.id == ""
      error_message = "it has an id"
    }
  }
}
resource "terraform_data" "later" {
  input = terraform_data.bad.output
}
`;

const BAD_ALONE = BAD.replace('resource "terraform_data" "good" {}', "").replace(
  "depends_on = [terraform_data.good]",
  "",
);

describe("the last line about changes", () => {
  it.each([
    ["partially_applied", BAD, { add: 1, failed: 1, skipped: 1 }, "Partially applied: 1 added"],
    ["failed", BAD_ALONE, { add: 0, failed: 1, skipped: 1 }, "Apply failed: 0 added"],
    ["applied", 'resource "terraform_data" "a" {}', { add: 1, failed: 0 }, "1 added, 0 changed"],
  ])("says how a run ended, as text does: %s", async (status, config, counts, says) => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "json-events-"));
    const cwd = folder.path;
    await writeFile(join(cwd, "main.tf"), config);
    const { code, output } = await tryCommand(["up", "--yes", "--json"], { cwd });
    expect(code).toBe(status === "applied" ? 0 : 1);
    const events = linesOf(output);
    expect(events[0]).toMatchObject({ type: "version", ui: JSON_EVENTS_VERSION });
    const last = events.findLast(({ type }) => type === "change_summary");
    expect(last).toMatchObject({
      "@level": status === "applied" ? "info" : "error",
      changes: { change: 0, remove: 0, unresolved: 0, operation: "apply", status, ...counts },
    });
    expect(last?.["@message"]).toContain(says);
    await writeFile(join(cwd, "main.tf"), config);
    const text = await tryCommand(["up", "--yes", "--stack", "other"], { cwd });
    const shared = String(last?.["@message"]).replace(
      "Apply complete! Resources",
      "Apply complete",
    );
    expect(text.output.replaceAll(/\s+/g, " ")).toContain(shared);
  });

  it.each<[StepAction, StepStatus, string]>([
    ["delete", "done", "remove"],
    ["forget", "done", "forget"],
    ["import", "done", "import"],
    ["create", "tainted", "failed"],
    ["record", "failed", "failed"],
    ["update", "not-started", "skipped"],
    ["update", "unresolved", "unresolved"],
  ])("counts a step: %s, %s", (action, status, counted) => {
    const written: string[] = [];
    const events = new JsonEvents({
      terminal: { write: (text) => void written.push(text) },
      operation: "apply",
    });
    const address = "a.b";
    events.event({ type: "end", address, deposed: "", action, status, elapsedMs: 1 });
    const ended: ApplyResult["status"] = status === "done" ? "applied" : "canceled";
    events.summary(ended);
    const [last] = linesOf(written.join("")).slice(-1);
    expect(last).toMatchObject({
      "@level": status === "done" ? "info" : "warn",
      changes: { add: 0, change: 0, [counted]: 1, status: ended },
    });
  });
});

function linesOf(output: string): Record<string, unknown>[] {
  const lines = output.trim().split("\n");
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}
