import { checkMonotonicReads } from "./check-monotonic.ts";
import { checkWatches } from "./check-watches.ts";
import type { History, Violation } from "./history.ts";
import { checkLinearizability } from "./linearizability.ts";

/**
 * Everything in a history that the storage contract forbids: strong operations that are not
 * linearizable per key, versions used twice, watches that lose, repeat, invent or reorder commits,
 * guards and batches that did not hold, reads that go back in time.
 */
export function checkHistory(history: History): Violation[] {
  return [
    ...checkVersions(history),
    ...checkLinearizability(history),
    ...checkWatches(history),
    ...checkMonotonicReads(history),
  ];
}

function checkVersions(history: History): Violation[] {
  const violations: Violation[] = [];
  const used = new Set<string>();
  for (const { steps, result } of history.writes) {
    if (result.kind !== "ok") continue;
    for (const [index, step] of steps.entries()) {
      if (step.kind !== "write") continue;
      const version = result.versions[index] ?? "";
      const place = `${step.key} "${version}"`;
      if (version === "" || used.has(place)) {
        violations.push({ rule: "version-reuse", text: `${place} was given to two writes` });
      }
      used.add(place);
    }
  }
  return violations;
}
