import { randomBytes } from "node:crypto";
import { createStoredKeys, type NamedStack } from "@stackwright/core";
import { MemoryBlobs } from "@stackwright/core/testing";
import {
  PlanSummary,
  Run,
  Run_Mode,
  Run_Phase,
  RunLogSegment,
} from "@stackwright/proto/stackwright";
import type { ResourceId, StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { RUN_KIND, runPlace, segmentPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { PlanRenderer } from "../plan-rendering/plan-renderer.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { AwaitedApplies } from "./awaited-applies.ts";
import { LogMarks } from "./log-marks.ts";
import { OpenLogs } from "./open-logs.ts";
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
    awaited: new AwaitedApplies(fixture.parts.clock),
    open: new OpenLogs(fixture.parts.clock),
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

/** The lines of the log of a plan for programs, by the events of the run and what is stored of it. */
async function planLinesOf(
  events: readonly object[],
  stored: { readonly summary?: PlanSummary; readonly run?: Partial<Run> },
): Promise<readonly string[]> {
  const storage = createMemoryStorage();
  const fixture = createRunFixture(storage);
  const reference = await fixture.stack("one");
  const log = { stack: reference, run: "01J9ZC0000000000000000RUN1" };
  const lines = events.map((event, at) => JSON.stringify({ seq: at + 1, at: 0, ...event }));
  const segment = RunLogSegment.create({ first: 1n, events: lines });
  await fixture.put(SERVER_KINDS.segment, segmentPlace(log, 1), segment);
  await fixture.put(RUN_KIND, runPlace(log), Run.create({ id: log.run, ...stored.run }));
  if (stored.summary !== undefined) {
    await fixture.put(SERVER_KINDS.summary, runPlace(log), stored.summary);
  }
  const parts = {
    ...fixture.parts,
    blobs: new MemoryBlobs(),
    keys: createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } }),
    renderer: new PlanRenderer(fixture.parts),
    marks: new LogMarks(),
    awaited: new AwaitedApplies(fixture.parts.clock),
    open: new OpenLogs(fixture.parts.clock),
  };
  const stack = { name: "one", reference } as NamedStack;
  const wanted = { name: "plan", structured: true, offset: 0 } as const;
  const texts: string[] = [];
  for await (const part of runLogText(parts, stack, log, wanted).text) texts.push(part);
  return texts.join("").split("\n").slice(3);
}

it("has the plan as text among its lines where commands cannot render it", async () => {
  const linesOf = async (jsonSha256: string, to: string): Promise<readonly string[]> =>
    planLinesOf(
      [
        { type: "read-start", address: "a.b", deposed: "" },
        { type: "phase-change", to },
      ],
      { summary: PlanSummary.create({ planDigest: "d", create: 1, jsonSha256 }) },
    );
  const stored = "0".repeat(64);
  const [read, ...plan] = await linesOf("", "awaiting_approval");
  expect(read).toContain('"type":"refresh_start"');
  const text = "Plan: 1 to add, 0 to change, 0 to destroy.";
  expect(plan).toContain(text);
  expect(await linesOf(stored, "awaiting_approval")).not.toContain(text);
  // Of a run that has ended commands render none.
  expect(await linesOf(stored, "canceled")).toContain(text);
});

const warning = { type: "diagnostic", severity: "warning", summary: "Old", detail: "" };
const messagesOf = (lines: readonly string[]) =>
  lines.map((line) =>
    line.startsWith("{") ? (JSON.parse(line) as { "@message": string })["@message"] : line,
  );

it("has diagnostics at the end of the plan, as commands print them", async () => {
  const old = (line: number) => ({ ...warning, file: "main.tf", line });
  const lines = await planLinesOf(
    [
      old(7),
      { type: "read-start", address: "a.b", deposed: "" },
      old(2),
      { type: "phase-change", to: "awaiting_approval" },
    ],
    { summary: PlanSummary.create({ planDigest: "d", jsonSha256: "0".repeat(64) }) },
  );
  expect(messagesOf(lines)).toEqual([
    "a.b: Refreshing state...",
    "Warning: Old",
    "Plan: 0 to add, 0 to change, 0 to destroy.",
    "",
  ]);
  expect(lines[1]).toContain("(and one more similar warning elsewhere)");
});

it("says before the errors of a plan that it failed, as commands do, and nothing of it for a configuration", async () => {
  const linesOf = async (reasonCode: string) =>
    messagesOf(
      await planLinesOf(
        [
          { ...warning, severity: "error", summary: "Bad" },
          { type: "phase-change", to: "failed" },
        ],
        { run: { reasonCode } },
      ),
    );
  const failed = "Planning failed. Terraform encountered an error while generating this plan.";
  expect(await linesOf("plan")).toEqual(["", failed, "", "Error: Bad", ""]);
  expect(await linesOf("configuration")).toEqual(["Error: Bad", ""]);
});

it("has the plan and its failed apply where that ended before a command had the plan", async () => {
  const lines = await planLinesOf(
    [
      { type: "phase-change", to: "approved" },
      { type: "step-start", address: "a.b", deposed: "", action: "create" },
      { ...warning, severity: "error", summary: "Bad" },
      { type: "phase-change", to: "partially_applied" },
    ],
    {
      summary: PlanSummary.create({ planDigest: "d", create: 1, jsonSha256: "0".repeat(64) }),
      run: { phase: Run_Phase.PHASE_PARTIALLY_APPLIED },
    },
  );
  const found = messagesOf(lines);
  // The first is for other programs: commands leave it out of a plan.
  expect(found.filter((line) => line.startsWith("Plan: "))).toHaveLength(2);
  expect(found.slice(-3)).toEqual(["a.b: Creating...", "Error: Bad", ""]);
});
