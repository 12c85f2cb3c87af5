import { createManualClock } from "@stackwright/base/testing";
import { createRuntime } from "@stackwright/krt";
import { expect, it, onTestFinished } from "vitest";
import { ChangeRing } from "../../live/change-ring.ts";
import type { Topic } from "./topic.ts";
import { streamTopics } from "./topic-stream.ts";

/** A stream of one topic, whose first view comes when the test says so. */
function start() {
  const clock = createManualClock();
  const first = Promise.withResolvers<void>();
  let listed = 0;
  const topic: Topic = {
    name: "resources:web/one",
    snapshot: () => ({ revision: 1, items: [] }),
    after: (revision) => (revision === 1 ? [] : undefined),
    whenSynced: async ({ signal }) =>
      new Promise((resolve, reject) => {
        first.promise.then(resolve, reject);
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      }),
    listed: () => listed,
    changed: async () => new Promise(() => undefined),
  };
  const leave = new AbortController();
  const parts = { topics: [topic], epoch: "e", clock, isVisible: () => true, position: undefined };
  const stream = streamTopics(parts, leave.signal);
  return { clock, stream, first, leave, read: (count: number) => void (listed = count) };
}

it("a stream says how far the server is with its first view, and begins once it is there", async () => {
  const { clock, stream, first, read } = start();
  let next = stream.next();
  await clock.advance(5_000);
  expect(await next).toEqual({
    done: false,
    value: ": the server reads its store: 0 objects so far\n\n",
  });
  next = stream.next();
  read(400_000);
  await clock.advance(5_000);
  expect((await next).value).toBe(": the server reads its store: 400000 objects so far\n\n");
  next = stream.next();
  first.resolve();
  expect((await next).value).toMatch(/^event: snapshot-begin\n/);
  expect((await stream.next()).value).toMatch(/^id: e:resources:web\/one=1\nevent: snapshot-end\n/);
});

interface Fact {
  readonly key: string;
  readonly value: number;
}

it("a reader that stops reading holds few turns, and begins with everything again where the others are gone", async () => {
  const [kept, held] = [1_000, 100];
  const rt = createRuntime();
  const source = rt.source<Fact>([]);
  using ring = new ChangeRing(source, kept);
  onTestFinished(() => rt.dispose());
  let most = 0;
  const itemOf = (fact: Fact) => ({
    account: "a",
    project: undefined,
    id: fact.key,
    text: JSON.stringify(fact),
  });
  const topic: Topic = {
    name: "facts",
    snapshot: () => {
      const { revision, objects } = ring.snapshot();
      return { revision, items: objects.map(itemOf) };
    },
    after: (from, limit) => {
      const turns = ring.after(from)?.slice(0, limit);
      most = Math.max(most, turns?.length ?? 0);
      return turns?.map(({ revision, set, deleted }) => ({
        revision,
        set: set.map(itemOf),
        deleted: deleted.map(itemOf),
      }));
    },
    whenSynced: async () => undefined,
    changed: async (signal) => ring.changed(signal),
  };
  const change = async (times: number): Promise<void> => {
    for (let at = 0; at < times; at += 1) {
      source.set({ key: `o${at % 7}`, value: at });
      await rt.settled();
    }
  };
  const leave = new AbortController();
  const clock = createManualClock();
  const options = {
    topics: [topic],
    epoch: "e",
    clock,
    isVisible: () => true,
    position: undefined,
  };
  const stream = streamTopics(options, leave.signal);
  const shown = new Map<string, number>();
  const names: string[] = [];
  const read = async (): Promise<void> => {
    const text = (await stream.next()).value ?? "";
    const [, name = "", data = "{}"] = /^event: (.+)\ndata: (.+)$/m.exec(text) ?? [];
    const { items = [], set = [] } = JSON.parse(data) as { items?: Fact[]; set?: Fact[] };
    if (name === "snapshot-begin") shown.clear();
    for (const { key, value } of [...items, ...set]) shown.set(key, value);
    names.push(name);
  };
  await change(7);
  for (let at = 0; at < 3; at += 1) await read();
  await change(300);
  await read();
  expect(names.splice(0)).toEqual(["snapshot-begin", "snapshot", "snapshot-end", "delta"]);
  // It reads no more, while the ring is renewed three times.
  await change(3 * kept);
  const latest = new Map(ring.snapshot().objects.map(({ key, value }) => [key, value]));
  while (names.at(-1) !== "snapshot-end") await read();
  expect(names.filter((name) => name === "delta").length).toBeLessThan(held);
  expect(names.slice(-3)).toEqual(["snapshot-begin", "snapshot", "snapshot-end"]);
  expect(shown).toEqual(latest);
  expect(most).toBe(held);
  leave.abort();
});

it("a stream without a first view ends when its reader leaves, and fails where there will be none", async () => {
  const left = start();
  const ended = left.stream.next();
  left.leave.abort();
  expect(await ended).toEqual({ done: true, value: undefined });
  const broken = start();
  const failed = broken.stream.next();
  broken.first.reject(new Error("the view was closed"));
  await expect(failed).rejects.toThrow("the view was closed");
});
