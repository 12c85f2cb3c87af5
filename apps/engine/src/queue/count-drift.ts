import type { DriftIgnore, StackDrift } from "@stackwright/proto/stackwright";
import { allDriftOf, countDrift } from "../domain/drift-ignore.ts";
import { boundDrift, type FoundDrift } from "../domain/found-drift.ts";
import type { Row, Transaction } from "./transaction.ts";

/** What came of counting the drift of a stack. */
interface DriftCount {
  /** Something counts. */
  readonly isDrifted: boolean;
  /** What counts is what counted before. */
  readonly isSame: boolean;
  /** Objects that count. */
  readonly drifted: number;
  /** Objects of which nothing counts. */
  readonly ignored: number;
}

/** Records what differs, with what counts of it. What was requested for other drift than that is requested for it no more. */
export function recordCount(
  tx: Transaction,
  row: Row<StackDrift>,
  all: FoundDrift,
  given: readonly DriftIgnore[] = row.message.ignores,
): DriftCount {
  const { sinceMs, remedy } = row.message;
  const ignores = given.filter(({ untilMs }) => Number(untilMs) > tx.nowMs);
  const former = countDrift(allDriftOf(row.message), row.message.ignores);
  const bounded = boundDrift(all);
  const { counted, ignored } = countDrift(bounded, ignores);
  const drifted = counted.changed + counted.deleted;
  const isDrifted = drifted > 0;
  const isSame = JSON.stringify(counted.objects) === JSON.stringify(former.counted.objects);
  tx.update(row, {
    changed: counted.changed,
    deleted: counted.deleted,
    ignoredChanged: ignored.changed,
    ignoredDeleted: ignored.deleted,
    objects: bounded.objects.map((one) => ({ ...one, attributes: [...one.attributes] })),
    ignores,
    sinceMs: !isDrifted ? 0n : sinceMs === 0n ? BigInt(tx.nowMs) : sinceMs,
    remedy: isDrifted && isSame ? remedy : "",
  });
  return { isDrifted, isSame, drifted, ignored: ignored.changed + ignored.deleted };
}
