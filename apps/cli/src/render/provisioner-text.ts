import type { PlannedProvisioner, RunEvent } from "@stackwright/core";
import { subjectOf } from "./run-renderer.ts";

/** What is shown of an event of a provisioner, behind the address of its object. */
export function provisionerText(
  event: RunEvent,
): { readonly subject: string; readonly text: string } | undefined {
  if (event.type === "provision-output") {
    const text = ` (${event.provisioner}): ${printable(event.line)}`;
    return { subject: subjectOf(event), text };
  }
  if (event.type !== "provision" || event.status !== "start") return undefined;
  return { subject: subjectOf(event), text: `: Provisioning with '${event.provisioner}'...` };
}

// Colors stay; what would move the cursor of the status area does not.
const ESCAPES = new RegExp(
  String.raw`\u001b\[(?![\d;]*m)[0-?]*[ -/]*[@-~]|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)`,
  "g",
);
const CONTROLS = new RegExp(String.raw`[\u0000-\u0008\u000b-\u001a\u001c-\u001f\u007f]`, "g");

function printable(line: string): string {
  return line.replace(ESCAPES, "").replace(CONTROLS, "");
}

/** The provisioners of a planned change, one line for each. */
export function plannedProvisionerLines(steps: readonly PlannedProvisioner[]): readonly string[] {
  return steps.map(({ when, type, onFailure, summary }) => {
    const time = when === "create" ? "after it is created" : "before it is destroyed";
    const what = summary === undefined ? "" : `: ${printable(summary)}`;
    const tolerant = onFailure === "continue" ? ", failures are ignored" : "";
    return `provisioner ${type} runs ${time}${tolerant}${what}`;
  });
}
