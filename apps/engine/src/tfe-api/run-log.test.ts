import { randomBytes } from "node:crypto";
import { createStoredKeys, type NamedStack } from "@stackwright/core";
import { MemoryBlobs } from "@stackwright/core/testing";
import { Run_Mode, RunLogSegment } from "@stackwright/proto/stackwright";
import type { ResourceId, StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { segmentPlace } from "../domain/run-places.ts";
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
    const { from, text } = runLogText(parts, stack, log, { name: "plan", offset });
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
