import type { StackStatus, StackStatusChange } from "@stackwright/client";
import { expect, it } from "vitest";
import { WatchHub } from "./watch-hub.ts";
import type { ToTab } from "./watch-messages.ts";

const stack = (id: string): StackStatus => ({
  id,
  project: "p",
  name: id,
  waiting: 0,
  outdated: [],
  reads: [],
});
const change = (
  type: StackStatusChange["type"],
  set: readonly string[],
  gone: readonly string[] = [],
): StackStatusChange => ({ topic: "stacks", type, set: set.map(stack), delete: gone });

/** A hub whose streams the test feeds, and tabs that note what they are sent. */
function start() {
  const streams: { feed: ReadableStreamDefaultController<StackStatusChange>; isOpen: boolean }[] =
    [];
  const hub = new WatchHub((tell, signal) => {
    const stream = { isOpen: true } as (typeof streams)[number];
    streams.push(stream);
    const source = new ReadableStream<StackStatusChange>({
      start: (feed) => {
        stream.feed = feed;
      },
    });
    signal.addEventListener("abort", () => {
      stream.isOpen = false;
      stream.feed.close();
    });
    tell({ type: "stream", state: "live" });
    return source;
  });
  const tab = () => {
    const sent: ToTab[] = [];
    const listener = { send: (message: ToTab) => void sent.push(message) };
    const names = (): readonly string[] => {
      const known = new Set<string>();
      for (const message of sent) {
        if (message.type !== "change") continue;
        if (message.change.type === "snapshot") known.clear();
        for (const { id } of message.change.set) known.add(id);
        for (const id of message.change.delete) known.delete(id);
      }
      return [...known].toSorted();
    };
    return { listener, sent, names };
  };
  const settle = async (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  return { hub, streams, tab, settle };
}

it("any number of tabs have one stream, and each has all that is known", async () => {
  const { hub, streams, tab, settle } = start();
  const tabs = Array.from({ length: 12 }, tab);
  for (const { listener } of tabs.slice(0, 6)) hub.add(listener);
  streams[0]?.feed.enqueue(change("snapshot", ["a", "b"]));
  await settle();
  streams[0]?.feed.enqueue(change("delta", ["c"], ["a"]));
  await settle();
  for (const { listener } of tabs.slice(6)) hub.add(listener);
  streams[0]?.feed.enqueue(change("delta", ["d"]));
  await settle();
  expect(streams).toHaveLength(1);
  for (const { names } of tabs) expect(names()).toEqual(["b", "c", "d"]);
});

it("one that left gets nothing; the last one ends the stream, and the next begins another", async () => {
  const { hub, streams, tab, settle } = start();
  const [one, two] = [tab(), tab()];
  hub.add(one.listener);
  hub.add(two.listener);
  hub.remove(one.listener);
  streams[0]?.feed.enqueue(change("snapshot", ["a"]));
  await settle();
  expect(one.names()).toEqual([]);
  expect(two.names()).toEqual(["a"]);
  hub.remove(two.listener);
  expect(streams[0]?.isOpen).toBe(false);
  hub.add(one.listener);
  streams[1]?.feed.enqueue(change("snapshot", ["b"]));
  await settle();
  expect(one.names()).toEqual(["b"]);
});

it("a stream that fails says so to all, and who comes then begins another", async () => {
  const { hub, streams, tab, settle } = start();
  const [one, two] = [tab(), tab()];
  hub.add(one.listener);
  streams[0]?.feed.error(new Error("refused"));
  await settle();
  expect(one.sent.at(-1)).toEqual({ type: "failed", message: "refused" });
  hub.add(two.listener);
  streams[1]?.feed.enqueue(change("snapshot", ["a"]));
  await settle();
  expect(two.names()).toEqual(["a"]);
  expect(hub.size).toBe(1);
});
