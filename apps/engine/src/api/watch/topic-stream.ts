import type { Clock } from "@stackwright/base/clock";
import type { Principal } from "@stackwright/registry";
import type { LiveView } from "../../live/live-view.ts";
import type { StackStatus } from "../../live/stack-status.ts";
import { statusViewOf } from "./status-view.ts";

/** Objects of one event of a snapshot. */
const SNAPSHOT_STEP = 500;
/** After which a quiet stream says that it lives. */
const PING_MS = 15_000;

/** What a reader may see. */
type Visible = (status: Pick<StackStatus, "account" | "project">) => boolean;

export function visibleTo({ account, projects }: Principal): Visible {
  return (status) =>
    status.account === account && (projects.length === 0 || projects.includes(status.project));
}

/**
 * The stacks as events: a snapshot, then what each turn changes, until the signal aborts. Behind `position`, which is that of an
 * earlier event, it continues without a snapshot where that can be done. What becomes of the last turns is up to the reader's pace:
 * one that is too far behind gets another snapshot.
 */
export async function* streamStacks(
  { live, clock }: { readonly live: LiveView; readonly clock: Clock },
  isVisible: Visible,
  position: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { stackChanges: ring, epoch } = live;
  let revision = revisionOf(epoch, position);
  while (!signal.aborted) {
    const turns = revision === undefined ? undefined : ring.after(revision);
    if (turns === undefined) {
      const { revision: at, objects } = ring.snapshot();
      const seen = objects.filter(isVisible);
      const head = { topic: "stacks", epoch, revision: at, count: seen.length };
      yield event("snapshot-begin", head);
      for (let from = 0; from < seen.length; from += SNAPSHOT_STEP) {
        const items = seen.slice(from, from + SNAPSHOT_STEP).map(statusViewOf);
        yield event("snapshot", { topic: "stacks", items });
      }
      yield event("snapshot-end", { topic: "stacks", revision: at }, `${epoch}:${at}`);
      revision = at;
      continue;
    }
    for (const turn of turns) {
      revision = turn.revision;
      const set = turn.set.filter(isVisible).map(statusViewOf);
      const deleted = turn.deleted.filter(isVisible).map(({ id }) => id);
      if (set.length + deleted.length === 0) continue;
      const data = { topic: "stacks", revision, set, delete: deleted };
      yield event("delta", data, `${epoch}:${revision}`);
    }
    if (turns.length > 0) continue;
    const quiet = new AbortController();
    using _ = clock.after(PING_MS, () => quiet.abort());
    await ring.changed(AbortSignal.any([signal, quiet.signal]));
    if (quiet.signal.aborted) yield ": ping\n\n";
  }
}

function revisionOf(epoch: string, position: string | undefined): number | undefined {
  const [, of, revision] = /^([0-9a-f]{12}):([0-9]{1,15})$/.exec(position ?? "") ?? [];
  return of === epoch ? Number(revision) : undefined;
}

function event(name: string, data: object, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
