import type { RunStep } from "./run-progress.ts";

type Timed = Pick<RunStep, "key" | "endMs" | "after" | "status">;

/**
 * The steps that decide how long an apply takes, the first one first: the one that ends last, before it the one that it waited for, and so
 * on. Of steps in progress the one that began this chain earliest counts as the last. Skipped steps took no time.
 */
export function criticalPath<Step extends Timed & { readonly startMs: number }>(
  steps: readonly Step[],
): readonly Step[] {
  const byKey = new Map(steps.map((step) => [step.key, step]));
  let last: Step | undefined;
  for (const step of steps) {
    if (step.status !== "skipped" && (last === undefined || isLater(step, last))) last = step;
  }
  const path: Step[] = [];
  const seen = new Set<string>();
  for (let step = last; step !== undefined && !seen.has(step.key); ) {
    seen.add(step.key);
    path.unshift(step);
    step = step.after === undefined ? undefined : byKey.get(step.after);
  }
  return path;
}

/** What runs ends after all that has ended; of two that run, the one that runs for longer holds the others up. */
function isLater(
  left: Timed & { readonly startMs: number },
  right: Timed & { readonly startMs: number },
): boolean {
  if (left.endMs === undefined) return right.endMs !== undefined || left.startMs < right.startMs;
  return right.endMs !== undefined && left.endMs > right.endMs;
}
