import { randomBytes } from "node:crypto";
import { createStoredKeys, type NamedStack } from "@stackwright/core";
import { MemoryBlobs } from "@stackwright/core/testing";
import { PlanSummary, Run_Mode, RunLogSegment } from "@stackwright/proto/stackwright";
import type { ResourceId, StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { runPlace, segmentPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { PlanRenderer } from "../plan-rendering/plan-renderer.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { LogMarks } from "./log-marks.ts";
import { runLogText } from "./run-log.ts";

const SEGMENTS = 20;
/** More than the bytes between two places that are remembered. */
const LINE = "x".repeat(40_000);

/** A store that counts the segments of logs that are read. */
function counting(inner: StorageBackend, count: () => void): StorageBackend {
  return new Proxy(inner, {
    get: (target, key) => {
      const member: unknown = Reflect.get(target, key, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        const id = args[1] as ResourceId | undefined;
        if (key === "read" && id?.type?.kind === "RunLogSegment") count();
        return Reflect.apply(member, target, args);
      };
    },
  });
}

it("reads the segments that a slice needs, and gives the same text from any place", async () => {
  let reads = 0;
  const storage = counting(createMemoryStorage(), () => {
    reads += 1;
  });
  const fixture = createRunFixture(storage);
  const reference = await fixture.stack("one");
  const run = await fixture.enqueue(reference, "one", Run_Mode.MODE_APPLY);
  const log = { stack: reference, run: `${run.run}X` };
  for (let at = 0; at < SEGMENTS; at += 1) {
    const events = [at * 2 + 1, at * 2 + 2].map((seq) =>
      JSON.stringify({ seq, type: "log", line: `${seq} ${LINE}` }),
    );
    const segment = RunLogSegment.create({ first: BigInt(at * 2 + 1), events });
    await fixture.put(SERVER_KINDS.segment, segmentPlace(log, at * 2 + 1), segment);
  }
  const parts = {
    ...fixture.parts,
    blobs: new MemoryBlobs(),
    keys: createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } }),
    renderer: new PlanRenderer(fixture.parts),
    marks: new LogMarks(),
  };
  const stack = { name: "one", reference } as NamedStack;
  const read = async (offset: number) => {
    reads = 0;
    const { from, text } = runLogText(parts, stack, log, {
      name: "plan",
      structured: false,
      offset,
    });
    const lines: string[] = [];
    for await (const part of text) lines.push(part);
    expect(from).toBeLessThanOrEqual(offset);
    return {
      text: Buffer.from(lines.join(""))
        .subarray(offset - from)
        .toString("utf8"),
      reads,
    };
  };
  const whole = await read(0);
  expect(whole.reads).toBe(SEGMENTS + 1);
  const end = whole.text.length - 100;
  expect(await read(end)).toEqual({ text: whole.text.slice(end), reads: 2 });
  const middle = Math.floor(whole.text.length / 2);
  expect((await read(middle)).text).toBe(whole.text.slice(middle));
  expect((await read(whole.text.length + 5)).reads).toBe(1);
});

it("has the plan as text among its lines where commands cannot render it", async () => {
  const storage = createMemoryStorage();
  const fixture = createRunFixture(storage);
  const reference = await fixture.stack("one");
  const run = await fixture.enqueue(reference, "one", Run_Mode.MODE_APPLY);
  const linesOf = async (jsonSha256: string, to: string): Promise<readonly string[]> => {
    const events = [
      { seq: 1, at: 0, type: "read-start", address: "a.b", deposed: "" },
      { seq: 2, at: 0, type: "phase-change", to },
    ].map((event) => JSON.stringify(event));
    const segment = RunLogSegment.create({ first: 1n, events });
    await fixture.put(SERVER_KINDS.segment, segmentPlace(run, 1), segment);
    const summary = PlanSummary.create({ planDigest: "d", create: 1, jsonSha256 });
    await fixture.put(SERVER_KINDS.summary, runPlace(run), summary);
    const parts = {
      ...fixture.parts,
      blobs: new MemoryBlobs(),
      keys: createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } }),
      renderer: new PlanRenderer(fixture.parts),
      marks: new LogMarks(),
    };
    const stack = { name: "one", reference } as NamedStack;
    const wanted = { name: "plan", structured: true, offset: 0 } as const;
    const texts: string[] = [];
    for await (const part of runLogText(parts, stack, run, wanted).text) texts.push(part);
    return texts.join("").split("\n").slice(3);
  };
  const stored = "0".repeat(64);
  const [read, ...plan] = await linesOf("", "awaiting_approval");
  expect(read).toContain('"type":"refresh_start"');
  const text = "Plan: 1 to add, 0 to change, 0 to destroy.";
  expect(plan).toContain(text);
  expect(await linesOf(stored, "awaiting_approval")).not.toContain(text);
  // Of a run that has ended commands render none.
  expect(await linesOf(stored, "canceled")).toContain(text);
});
