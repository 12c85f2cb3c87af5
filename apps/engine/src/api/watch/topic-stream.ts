import type { Clock } from "@stackwright/base/clock";
import type { Topic, Visible } from "./topic.ts";

/** Objects of one event of a snapshot. */
const SNAPSHOT_STEP = 500;
/** After which a quiet stream says that it lives. */
const PING_MS = 15_000;
/** Characters of a position. */
const MAX_POSITION = 4_096;

interface TopicStreamOptions {
  readonly topics: readonly Topic[];
  /** Of the view that the topics are of. */
  readonly epoch: string;
  readonly clock: Clock;
  readonly isVisible: Visible;
  /** That of an earlier event, behind which the reader continues. */
  readonly position: string | undefined;
}

/**
 * Topics as events: of each a snapshot, then what each turn changes, until the signal aborts. Behind the position of an earlier event a
 * topic continues without a snapshot where that can be done. What becomes of the last turns is up to the reader's pace: one that
 * is too far behind gets another snapshot.
 */
export async function* streamTopics(
  { topics, epoch, clock, isVisible, position }: TopicStreamOptions,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const seen = new Map<string, number>();
  for (const [name, revision] of revisionsIn(epoch, position)) {
    if (topics.some((topic) => topic.name === name)) seen.set(name, revision);
  }
  const positionText = (): string =>
    `${epoch}:${[...seen].map(([name, revision]) => `${name}=${revision}`).join(",")}`;
  while (!signal.aborted) {
    let isIdle = true;
    for (const topic of topics) {
      const before = seen.get(topic.name);
      const turns = before === undefined ? undefined : topic.after(before);
      if (turns === undefined || turns.length > 0) isIdle = false;
      const name = JSON.stringify(topic.name);
      if (turns === undefined) {
        const { revision, items } = topic.snapshot();
        const texts = items.filter(isVisible).map(({ text }) => text);
        const { length: count } = texts;
        const head = { topic: topic.name, epoch, revision, count };
        yield event("snapshot-begin", JSON.stringify(head));
        for (let from = 0; from < count; from += SNAPSHOT_STEP) {
          const part = texts.slice(from, from + SNAPSHOT_STEP).join(",");
          yield event("snapshot", `{"topic":${name},"items":[${part}]}`);
        }
        seen.set(topic.name, revision);
        yield event("snapshot-end", `{"topic":${name},"revision":${revision}}`, positionText());
        continue;
      }
      for (const { revision, set, deleted } of turns) {
        seen.set(topic.name, revision);
        const texts = set.filter(isVisible).map(({ text }) => text);
        const ids = deleted.filter(isVisible).map(({ id }) => id);
        if (texts.length + ids.length === 0) continue;
        const gone = JSON.stringify(ids);
        const data = `{"topic":${name},"revision":${revision},"set":[${texts.join(",")}],"delete":${gone}}`;
        yield event("delta", data, positionText());
      }
    }
    if (!isIdle) continue;
    const quiet = new AbortController();
    const changed = new AbortController();
    using _ = clock.after(PING_MS, () => quiet.abort());
    const until = AbortSignal.any([signal, quiet.signal, changed.signal]);
    await Promise.race(topics.map(async (topic) => topic.changed(until)));
    changed.abort();
    if (quiet.signal.aborted) yield ": ping\n\n";
  }
}

/** The revision of each topic in a position; nothing where it is of another view. */
function revisionsIn(epoch: string, position = ""): readonly (readonly [string, number])[] {
  if (!position.startsWith(`${epoch}:`) || position.length > MAX_POSITION) return [];
  const list = position.slice(epoch.length + 1).split(",");
  return list.flatMap((part) => {
    const [, name = "", revision] = /^(.+)=([0-9]{1,15})$/.exec(part) ?? [];
    return revision === undefined ? [] : [[name, Number(revision)] as const];
  });
}

function event(name: string, data: string, id?: string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${data}\n\n`;
}
