import { randomBytes } from "node:crypto";
import { createStoredKeys, type NamedStack } from "@stackwright/core";
import { MemoryBlobs } from "@stackwright/core/testing";
import { PlanSummary, Run, Run_Phase, RunLogSegment } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import fc from "fast-check";
import { expect, it } from "vitest";
import { RUN_KIND, runPlace, segmentPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { PlanRenderer } from "../plan-rendering/plan-renderer.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { AwaitedApplies } from "./awaited-applies.ts";
import { LogMarks } from "./log-marks.ts";
import { OpenLogs } from "./open-logs.ts";
import { runLogText } from "./run-log.ts";

/** Of one to four bytes each, one that a string of JSON escapes, and half of a pair. */
const CHARACTERS = ["x", "ü", "漢", "😀", "e\u0301", '"', "\ud83d"];

/** Lines of which some are longer than the bytes between two places that are remembered. */
const line = fc
  .tuple(
    fc.array(fc.constantFrom(...CHARACTERS), { minLength: 1, maxLength: 6 }),
    fc.constantFrom(1, 40, 3_000),
  )
  .map(([characters, times]) => characters.join("").repeat(times));
const event = fc.oneof(
  { weight: 4, arbitrary: line.map((text) => ({ type: "log", line: text })) },
  {
    weight: 1,
    arbitrary: line.map((summary) => ({ type: "diagnostic", severity: "warning", summary })),
  },
  { weight: 1, arbitrary: fc.constant({ type: "read-start", address: "a.b", deposed: "" }) },
);
const segments = fc.array(fc.array(event, { minLength: 1, maxLength: 4 }), { maxLength: 8 });

/** A run that was planned and applied, with its events in the given segments; returns how its logs are read. */
async function storedLog(
  planned: readonly (readonly object[])[],
  applied: readonly (readonly object[])[],
) {
  const storage = createMemoryStorage();
  const fixture = createRunFixture(storage);
  const reference = await fixture.stack("one");
  const log = { stack: reference, run: "01J9ZC0000000000000000RUN1" };
  const phase = (to: string) => [{ type: "phase-change", to }];
  const all = [
    ...planned,
    phase("awaiting_approval"),
    phase("approved"),
    ...applied,
    phase("applied"),
  ];
  let seq = 0;
  for (const events of all) {
    const first = seq + 1;
    const lines = events.map((each) => {
      seq += 1;
      return JSON.stringify({ seq, at: 0, ...each });
    });
    const segment = RunLogSegment.create({ first: BigInt(first), events: lines });
    await fixture.put(SERVER_KINDS.segment, segmentPlace(log, first), segment);
  }
  const run = Run.create({ id: log.run, phase: Run_Phase.PHASE_APPLIED });
  await fixture.put(RUN_KIND, runPlace(log), run);
  const summary = PlanSummary.create({ planDigest: "d", create: 1 });
  await fixture.put(SERVER_KINDS.summary, runPlace(log), summary);
  const parts = {
    ...fixture.parts,
    blobs: new MemoryBlobs(),
    keys: createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } }),
    renderer: new PlanRenderer(fixture.parts),
    awaited: new AwaitedApplies(fixture.parts.clock),
    open: new OpenLogs(fixture.parts.clock),
  };
  const stack = { name: "one", reference } as NamedStack;
  /** The bytes of a log from an offset on, up to a length: a reader takes no more of the text than it needs. */
  return (form: { readonly name: "plan" | "apply"; readonly structured: boolean }) => {
    const marks = new LogMarks();
    return async (offset: number, length = Number.POSITIVE_INFINITY): Promise<Buffer> => {
      const { from, text } = runLogText({ ...parts, marks }, stack, log, { ...form, offset });
      expect(from).toBeLessThanOrEqual(offset);
      const chunks: Buffer[] = [];
      let at = from;
      for await (const part of text) {
        const bytes = Buffer.from(part);
        chunks.push(bytes);
        at += bytes.byteLength;
        if (at >= offset + length) break;
      }
      return Buffer.concat(chunks).subarray(offset - from, offset - from + length);
    };
  };
}

it("has the same bytes however it is split, also within a character, and in whatever order the parts are read", {
  timeout: 120_000,
}, async () => {
  const cases = fc.record({
    planned: segments,
    applied: segments,
    name: fc.constantFrom("plan" as const, "apply" as const),
    structured: fc.boolean(),
    // Places in the text as parts of its length, and which of the parts between them is read first.
    cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
    order: fc.infiniteStream(fc.nat()),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ planned, applied, name, structured, cuts, order }) => {
      const open = await storedLog(planned, applied);
      const whole = await open({ name, structured })(0);
      expect(whole.byteLength).toBeGreaterThan(0);
      const places = cuts.map((cut) => Math.floor(cut * whole.byteLength));
      const bounds = [0, ...places, whole.byteLength].toSorted((a, b) => a - b);
      const ranges = bounds
        .slice(1)
        .map((end, index) => ({ begin: bounds[index] ?? 0, end, rank: order.next().value ?? 0 }));
      // Readers of one server share what is remembered of the log.
      const read = open({ name, structured });
      const found = new Map<number, Buffer>();
      for (const { begin, end } of ranges.toSorted((a, b) => a.rank - b.rank)) {
        const bytes = await read(begin, end - begin);
        expect(bytes.equals(whole.subarray(begin, end))).toBe(true);
        if (begin < end) found.set(begin, bytes);
      }
      const inOrder = [...found].toSorted(([a], [b]) => a - b).map(([, bytes]) => bytes);
      expect(Buffer.concat(inOrder).equals(whole)).toBe(true);
      for (const place of places) {
        expect((await read(place)).equals(whole.subarray(place))).toBe(true);
      }
      expect((await read(whole.byteLength + 7)).byteLength).toBe(0);
    }),
    { numRuns: 60 },
  );
});
