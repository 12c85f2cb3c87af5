import type { ApplyResult, RunEvent } from "@stackwright/core";

/** How many steps of an apply were done, by what they do, and how many were not, by how they ended. */
interface ApplyCounts {
  readonly add: number;
  readonly change: number;
  readonly remove: number;
  readonly import: number;
  readonly forget: number;
  /** A create that left a tainted object is one of these. */
  readonly failed: number;
  /** What waited for something that was not done, and what was not begun before the run was stopped. */
  readonly skipped: number;
  /** The call may or may not have happened. */
  readonly unresolved: number;
}

/** Counts how the steps of a run end. What is only recorded counts where it goes wrong. */
export class RunCounter {
  readonly #counts = {
    add: 0,
    change: 0,
    remove: 0,
    import: 0,
    forget: 0,
    failed: 0,
    skipped: 0,
    unresolved: 0,
  };

  get counts(): ApplyCounts {
    return { ...this.#counts };
  }

  note(event: RunEvent): void {
    if (event.type !== "end") return;
    const counted = countedAs(event);
    if (counted !== undefined) this.#counts[counted] += 1;
  }
}

function countedAs({
  action,
  status,
}: Extract<RunEvent, { type: "end" }>): keyof ApplyCounts | undefined {
  switch (status) {
    case "done":
      return DONE[action];
    case "skipped":
    case "not-started":
      return action === "record" ? undefined : "skipped";
    case "unresolved":
      return "unresolved";
    case "failed":
    case "tainted":
      return "failed";
    default:
      return status satisfies never;
  }
}

const DONE: Readonly<
  Record<Extract<RunEvent, { type: "end" }>["action"], keyof ApplyCounts | undefined>
> = {
  create: "add",
  update: "change",
  delete: "remove",
  import: "import",
  forget: "forget",
  read: undefined,
  record: undefined,
};

/** How a run ended, in two words. */
export const STATUS_TEXTS: Readonly<Record<ApplyResult["status"], string>> = {
  applied: "Apply complete",
  partially_applied: "Partially applied",
  failed: "Apply failed",
  canceled: "Apply stopped",
};

/** How a run ended that did all of it, in the words of the reference command. */
export function completeText(counts: ApplyCounts, operation: "plan" | "apply" | "destroy"): string {
  if (operation === "destroy") return `Destroy complete! Resources: ${counts.remove} destroyed.`;
  return `Apply complete! Resources: ${countsText(counts)}.`;
}

/** `1 added, 0 changed, 2 destroyed, 1 failed`: what is rare is said where there is some. */
export function countsText(counts: ApplyCounts): string {
  const rare = (count: number, what: string): string[] => (count > 0 ? [`${count} ${what}`] : []);
  return [
    ...rare(counts.import, "imported"),
    `${counts.add} added`,
    `${counts.change} changed`,
    `${counts.remove} destroyed`,
    ...rare(counts.forget, "forgotten"),
    ...rare(counts.failed, "failed"),
    ...rare(counts.skipped, "skipped"),
    ...rare(counts.unresolved, "unresolved"),
  ].join(", ");
}
