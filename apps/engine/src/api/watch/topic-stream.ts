import type { Clock } from "@stackwright/base/clock";
import type { Topic, TopicItem, Visible } from "./topic.ts";

/** Objects of one event of a snapshot. */
const SNAPSHOT_STEP = 500;
/** Turns that a reader who is behind holds on to: one that reads no more keeps no others. */
const TURNS_STEP = 100;
/** After which a quiet stream says that it lives. */
const PING_MS = 15_000;
/** After which a stream says that the first view of the store is not there yet, and how much of it is. */
const PROGRESS_MS = 5_000;
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
 * Topics as events, once the server has the first view of each; until then comments say how far it is. Of each a snapshot, then what each turn changes, until the signal aborts. Behind the position of an earlier event a
 * topic continues without a snapshot where that can be done. What becomes of the last turns is up to the reader's pace: one that
 * is too far behind gets another snapshot.
 */
export async function* streamTopics(
  { topics, epoch, clock, isVisible, position }: TopicStreamOptions,
  signal: AbortSignal,
): AsyncGenerator<string> {
  yield* untilSynced(topics, clock, signal);
  const seen = new Map<string, number>();
  for (const [name, revision] of revisionsIn(epoch, position)) {
    if (topics.some((topic) => topic.name === name)) seen.set(name, revision);
  }
  const positionText = (): string =>
    `${epoch}:${[...seen].map(([name, revision]) => `${name}=${revision}`).join(",")}`;
  const textsOf = (items: readonly TopicItem[]): readonly string[] =>
    items.filter(isVisible).map((item) => item.textFor?.(isVisible) ?? item.text);
  while (!signal.aborted) {
    let isIdle = true;
    for (const topic of topics) {
      const before = seen.get(topic.name);
      const turns = before === undefined ? undefined : topic.after(before, TURNS_STEP);
      if (turns === undefined || turns.length > 0) isIdle = false;
      const name = JSON.stringify(topic.name);
      if (turns === undefined) {
        const { revision, items } = topic.snapshot();
        const texts = textsOf(items);
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
        const texts = textsOf(set);
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

/** Comments while the first view of a topic is not there. Ends with the signal, too. */
async function* untilSynced(
  topics: readonly Topic[],
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const synced = Promise.all(topics.map(async (topic) => topic.whenSynced({ signal }))).then(
    () => true,
    (error: unknown) => {
      if (signal.aborted) return true;
      throw error;
    },
  );
  // A reader that leaves in between awaits it no more.
  synced.catch(() => undefined);
  for (;;) {
    const late = Promise.withResolvers<false>();
    using _ = clock.after(PROGRESS_MS, () => late.resolve(false));
    if (await Promise.race([synced, late.promise])) return;
    const objects = Math.max(0, ...topics.map((topic) => topic.listed?.() ?? 0));
    yield `: the server reads its store: ${objects} objects so far\n\n`;
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
