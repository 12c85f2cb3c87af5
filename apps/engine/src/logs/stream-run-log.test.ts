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
import { silentWatches } from "../testing/silent-watches.ts";
import { LogBell } from "./log-bell.ts";
import { LogReader } from "./log-reader.ts";
import { SharedReads } from "./shared-reads.ts";
import { streamRunLog } from "./stream-run-log.ts";

async function textOf(pieces: AsyncIterable<string | Uint8Array> | undefined): Promise<string> {
  let text = "";
  for await (const piece of pieces ?? []) text += Buffer.from(piece).toString();
  return text;
}

function seqsOf(text: string): readonly number[] {
  return [...text.matchAll(/^id: .*:([0-9]+)$/gm)].map(([, seq]) => Number(seq));
}

/** A store that counts the segments that its lists give out, and reads of segments and logs. */
function counted(storage: StorageBackend) {
  const count = { listed: 0, read: 0 };
  const read: StorageBackend["read"] = async (consistency, id, options) => {
    const kinds: readonly string[] = [SERVER_KINDS.segment.type.kind, SERVER_KINDS.log.type.kind];
    if (kinds.includes(id.type.kind)) count.read += 1;
    return storage.read(consistency, id, options);
  };
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
        if (key === "read") return read;
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
  const readAfter = async (after: number): Promise<readonly number[]> => {
    const logs = new LogReader({ storage, clock });
    const pieces = await streamRunLog({ storage, clock, bell, logs }, run, { after }, signal);
    return seqsOf(await textOf(pieces));
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
  const logs = new LogReader({ storage, clock });
  const pieces = await streamRunLog({ storage, clock, bell, logs }, run, { after: 0 }, signal);
  const text = await textOf(pieces);
  expect(ending).toBeDefined();
  expect(text).not.toContain("event: gap");
  const seqs = seqsOf(text);
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  expect(text).toContain('"to":"canceled"');
});

it("a thousand readers of a run cost the store and the encoder what a few do, and each has every event once", async () => {
  const READERS = 1_000;
  const { storage, count } = counted(createMemoryStorage());
  const fixture = createRunFixture(storage);
  const { parts, clock } = fixture;
  const run = await fixture.enqueue(await fixture.stack("one"), "one", Run_Mode.MODE_APPLY);
  const bell = new LogBell({ storage, clock, logger: silentLogger });
  onTestFinished(() => bell[Symbol.asyncDispose]());
  const logs = new LogReader({ storage, clock });
  const { signal } = new AbortController();
  const buffers = new Set<ArrayBufferLike>();
  let isAt = 0;
  const readers = Array.from({ length: READERS }, async (_, index) => {
    // One in ten begins in the middle.
    const after = index % 10 === 0 ? 3 : 0;
    let text = "";
    for await (const piece of (await streamRunLog(
      { storage, clock, bell, logs },
      run,
      { after },
      signal,
    )) ?? []) {
      if (typeof piece !== "string") buffers.add(piece.buffer);
      text += Buffer.from(piece).toString();
      if (index === READERS - 1) isAt = seqsOf(text).at(-1) ?? 0;
    }
    return { after, seqs: seqsOf(text) };
  });
  let written = 1;
  for (let turn = 0; turn < 8; turn += 1) {
    const events = Array.from({ length: 10 }, () => ({ at: 1, event: { type: "x" } }));
    await transact(parts, async (tx) => appendEvents(tx, run, events));
    written += events.length;
    await expect.poll(() => isAt).toBeGreaterThanOrEqual(written - 1);
  }
  await cancelRun(parts, run, { actor: "ann" });
  const seen = await Promise.all(readers);
  const last = seen[0]?.seqs.at(-1) ?? 0;
  expect(last).toBeGreaterThan(80);
  for (const { after, seqs } of seen) {
    expect(seqs).toEqual(Array.from({ length: last - after }, (_, index) => after + 1 + index));
  }
  // 10 segments, each of one buffer that all readers are sent; a few more where some came later than the others.
  expect(buffers.size).toBeLessThan(30);
  expect(count.read).toBeLessThan(300);
});

it("a question that is asked during a read gets no answer from before it", async () => {
  const reads = new SharedReads<string | undefined>((value) => value !== undefined);
  const begun: PromiseWithResolvers<string | undefined>[] = [];
  const make = async (): Promise<string | undefined> => {
    const read = Promise.withResolvers<string | undefined>();
    begun.push(read);
    return read.promise;
  };
  const first = reads.read("a", make);
  const others = [reads.read("a", make), reads.read("a", make), reads.read("a", make)];
  begun[0]?.resolve(undefined);
  expect(await first).toBeUndefined();
  await expect.poll(() => begun.length).toBe(2);
  const joined = reads.read("a", make);
  begun[1]?.resolve("written meanwhile");
  expect(await Promise.all([...others, joined])).toEqual(
    Array.from({ length: 4 }, () => "written meanwhile"),
  );
  // A failure is that of who began the read: the others read again.
  const failing = reads.read("a", make);
  const patient = reads.read("a", make);
  begun[2]?.reject(new Error("the store is away"));
  await expect(failing).rejects.toThrow("away");
  await expect.poll(() => begun.length).toBe(4);
  begun[3]?.resolve("there");
  expect(await patient).toBe("there");
});

it("a reader whose watch says nothing has what was written within 15 s", async () => {
  const storage = silentWatches(createMemoryStorage());
  const { parts, clock, ...fixture } = createRunFixture(storage);
  const run = await fixture.enqueue(await fixture.stack("one"), "one", Run_Mode.MODE_APPLY);
  const bell = new LogBell({ storage, clock, logger: silentLogger });
  onTestFinished(() => bell[Symbol.asyncDispose]());
  const logs = new LogReader({ storage, clock });
  const reading = new AbortController();
  const stream = { storage, clock, bell, logs };
  const pieces = await streamRunLog(stream, run, { after: 0 }, reading.signal);
  const seen: string[] = [];
  const read = (async () => {
    for await (const piece of pieces ?? []) seen.push(Buffer.from(piece).toString());
  })();
  await clock.advance(1_000);
  const before = seqsOf(seen.join("")).length;
  const events = [{ at: 1, event: { type: "x" } }];
  await transact(parts, async (tx) => appendEvents(tx, run, events));
  await clock.advance(1_000);
  expect(seqsOf(seen.join(""))).toHaveLength(before);
  await clock.advance(14_000);
  await expect.poll(() => seqsOf(seen.join("")).length).toBe(before + 1);
  await cancelRun(parts, run, { actor: "ann" });
  await clock.advance(15_000);
  await read;
  expect(seqsOf(seen.join("")).length).toBeGreaterThan(before + 1);
});
