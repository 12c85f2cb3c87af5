import { createManualClock } from "@stackwright/base/testing";
import { expect, it } from "vitest";
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
