import { silentLogger } from "@stackwright/base/logger";
import { Run_Mode } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it, onTestFinished } from "vitest";
import { runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { appendEvents } from "../queue/append-events.ts";
import { cancelRun } from "../queue/cancel.ts";
import { transact } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { LogBell } from "./log-bell.ts";
import { streamRunLog } from "./stream-run-log.ts";

/** A store that counts the segments that its lists give out. */
function counted(storage: StorageBackend) {
  const count = { listed: 0 };
  const list: StorageBackend["list"] = async (consistency, type, ...rest) => {
    const found = await storage.list(consistency, type, ...rest);
    if (type.kind === SERVER_KINDS.segment.type.kind) count.listed += found.length;
    return found;
  };
  return {
    count,
    storage: new Proxy(storage, {
      get: (target, key) => {
        if (key === "list") return list;
        const value: unknown = Reflect.get(target, key);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    }),
  };
}

it("a reader that comes back reads what it needs, however long the log is", async () => {
  const { storage, count } = counted(createMemoryStorage());
  const fixture = createRunFixture(storage);
  const { parts, clock } = fixture;
  const run = await fixture.enqueue(await fixture.stack("one"), "one", Run_Mode.MODE_APPLY);
  // Segments of one event, of many, and of more than one segment holds.
  for (let round = 0; round < 90; round += 1) {
    const size = round % 30 === 29 ? 700 : (round % 3) * 60 + 1;
    const events = Array.from({ length: size }, () => ({ at: 1, event: { type: "x" } }));
    await transact(parts, async (tx) => appendEvents(tx, run, events));
  }
  await cancelRun(parts, run, { actor: "ann" });
  const all = await storage.list(
    "strong",
    SERVER_KINDS.segment.type,
    runPlace(run).tenancy,
    `${runPlace(run).name}.`,
  );
  expect(all.length).toBeGreaterThan(90);
  const bell = new LogBell({ storage, clock, logger: silentLogger });
  onTestFinished(() => bell[Symbol.asyncDispose]());
  const { signal } = new AbortController();
  const readAfter = async (after: number): Promise<number[]> => {
    const lines = await streamRunLog({ storage, clock, bell }, run, { after }, signal);
    const seen: number[] = [];
    for await (const line of lines ?? []) {
      const [, seq] = /^id: .*:([0-9]+)$/m.exec(line) ?? [];
      if (seq !== undefined) seen.push(Number(seq));
    }
    return seen;
  };
  const last = (await readAfter(0)).length;
  expect(last).toBeGreaterThan(4_000);
  for (const after of [
    0,
    1,
    254,
    255,
    256,
    257,
    511,
    512,
    1_000,
    2_777,
    last - 2,
    last - 1,
    last,
  ]) {
    count.listed = 0;
    const seen = await readAfter(after);
    expect(seen).toEqual(Array.from({ length: last - after }, (_, index) => after + 1 + index));
    expect(count.listed).toBeLessThan(20);
  }
});

it("a reader sees the last events that are written while it looks for them", async () => {
  const inner = createMemoryStorage();
  const fixture = createRunFixture(inner);
  const { parts, clock } = fixture;
  const run = await fixture.enqueue(await fixture.stack("one"), "one", Run_Mode.MODE_APPLY);
  let ending: Promise<unknown> | undefined;
  const read: StorageBackend["read"] = async (consistency, id, options) => {
    try {
      return await inner.read(consistency, id, options);
    } catch (error) {
      // The run ends after the reader has looked for the segment, and before it looks at the log.
      if (id.type.kind === SERVER_KINDS.segment.type.kind) {
        await (ending ??= cancelRun(parts, run, { actor: "ann" }));
      }
      throw error;
    }
  };
  const storage = new Proxy<StorageBackend>(inner, {
    get: (target, key) => {
      if (key === "read") return read;
      const value: unknown = Reflect.get(target, key);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
  const bell = new LogBell({ storage, clock, logger: silentLogger });
  onTestFinished(() => bell[Symbol.asyncDispose]());
  const { signal } = new AbortController();
  const lines = await streamRunLog({ storage, clock, bell }, run, { after: 0 }, signal);
  let text = "";
  for await (const line of lines ?? []) text += line;
  expect(ending).toBeDefined();
  expect(text).not.toContain("event: gap");
  const seqs = [...text.matchAll(/^id: .*:([0-9]+)$/gm)].map(([, seq]) => Number(seq));
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  expect(text).toContain('"to":"canceled"');
});
