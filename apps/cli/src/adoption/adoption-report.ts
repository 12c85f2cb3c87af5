import { EXIT, type ExitCode } from "../exit-code.ts";
import { counted } from "../render/counted.ts";
import { printable } from "../terminal/printable.ts";
import type { WorkspaceReport } from "./adopt-workspace.ts";
import type { RootReport } from "./adopt-workspaces.ts";

const SHOWN = 20;

/** The report of an adoption as JSON; without the plans. */
export function reportJson(roots: readonly RootReport[]): string {
  const shown = roots.map(({ workspaces, ...root }) => ({
    ...root,
    workspaces: workspaces.map(({ plan: _plan, ...report }) => report),
  }));
  return `${JSON.stringify({ format: "stackwright.adoption/1", roots: shown, summary: countVerdicts(roots) }, undefined, 2)}\n`;
}

/** How many workspaces have each verdict; a root that was not read counts as failed. */
export function countVerdicts(
  roots: readonly RootReport[],
): Readonly<Record<WorkspaceReport["verdict"], number>> {
  const counts = {
    adopted: 0,
    adoptable: 0,
    already: 0,
    changes: 0,
    none: 0,
    declined: 0,
    failed: 0,
  };
  for (const { workspaces, problem } of roots) {
    if (problem !== undefined) counts.failed += 1;
    for (const { verdict } of workspaces) counts[verdict] += 1;
  }
  return counts;
}

/** 1: some failed. 2: the plan of some is not empty. 0: all else. */
export function reportExitCode(roots: readonly RootReport[]): ExitCode {
  const { failed, declined, changes } = countVerdicts(roots);
  if (failed + declined > 0) return EXIT.failed;
  return changes > 0 ? EXIT.changes : EXIT.ok;
}

/** Lines about one workspace. */
export function workspaceText(report: WorkspaceReport): string {
  const { verdict, stack, place, objects, outputs, problem, changes = [], drift = [] } = report;
  const counts =
    objects === undefined
      ? ""
      : `${counted(objects, "object")}, ${counted(outputs ?? 0, "output")}`;
  const lines = [place];
  switch (verdict) {
    case "adopted":
      lines.push(`  Adopted as the stack "${stack}": ${counts}; ${planLine(report)}.`);
      if (report.old !== undefined) lines.push(`  The old state is ${report.old}.`);
      break;
    case "adoptable":
      lines.push(`  Can be adopted as the stack "${stack}": ${counts}; ${planLine(report)}.`);
      break;
    case "already":
      lines.push(`  The stack "${stack}" adopted it before: serial ${report.serial}.`);
      if (report.old !== undefined) lines.push(`  The old state is ${report.old}.`);
      break;
    case "changes":
      lines.push(`  Not adopted: ${counts}; ${planLine(report)}.`);
      lines.push("  Fix the configuration, or record the state all the same: --accept-changes");
      break;
    case "none":
      lines.push("  There is no state with objects.");
      break;
    case "declined":
      lines.push("  Not adopted, as you decided.");
      break;
    case "failed":
      lines.push(`  Not adopted: ${problem}`);
      break;
    default:
      return verdict satisfies never;
  }
  if (problem !== undefined && verdict !== "failed") lines.push(`  ${problem}`);
  for (const { address, action } of changes.slice(0, SHOWN)) lines.push(`    ${action} ${address}`);
  if (changes.length > SHOWN) lines.push(`    and ${changes.length - SHOWN} more`);
  if (drift.length > 0) {
    lines.push(
      `  Objects that changed outside of the configuration: ${drift.slice(0, SHOWN).join(", ")}`,
    );
  }
  lines.push(...comparisonLines(report.comparison));
  // Names and reasons are of a foreign state.
  return `${lines.map(printable).join("\n")}\n`;
}

/** Lines about the plan of an installed command. */
export function comparisonLines(comparison: WorkspaceReport["comparison"]): string[] {
  if (comparison === undefined) return [];
  const { command, version, compared, differences } = comparison;
  const name = `${command}${version === "" ? "" : ` ${version}`}`;
  if (differences.length === 0) {
    return [`  The plan of ${name} is the same: ${compared} objects and outputs compared.`];
  }
  return [
    `  The plan of ${name} differs in ${counted(differences.length, "value")}:`,
    ...differences
      .slice(0, SHOWN)
      .map(
        ({ address, path, ours, theirs }) =>
          `    ${address} ${path}: ${ours ?? "absent"}; ${command}: ${theirs ?? "absent"}`,
      ),
    ...(differences.length > SHOWN ? [`    and ${differences.length - SHOWN} more`] : []),
  ];
}

function planLine({ changes = [] }: WorkspaceReport): string {
  return changes.length === 0
    ? "the plan is empty"
    : `the plan has ${counted(changes.length, "change")}`;
}
