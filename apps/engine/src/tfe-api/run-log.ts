import type { NamedStack } from "@stackwright/core";
import { isEnded, type RunPhase } from "@stackwright/core";
import { decodeJson, decodeTypeJson } from "@stackwright/cty";
import { valueText } from "@stackwright/lang";
import { type PlanSummary, type Run, Run_Mode } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import type { TfeLogName, TfeLogText } from "@stackwright/tfe";
import { compactJson, parseStateFile } from "@stackwright/tfstate";
import { decodeRecord } from "../domain/record-kind.ts";
import type { StoredRunLogEvent } from "../domain/run-log-event.ts";
import {
  RUN_KIND,
  type RunReference,
  runPlace,
  STACK_OUTPUTS_KIND,
  segmentPlace,
  stackPlace,
} from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { PlanRenderer } from "../plan-rendering/plan-renderer.ts";
import { phaseOf } from "../queue/run-row.ts";
import { idOf } from "../queue/transaction.ts";
import { type ServedParts, serveState } from "../terraform-state/served-state.ts";
import type { LogMark, LogMarks } from "./log-marks.ts";
import { eventText } from "./run-text.ts";

interface RunLogParts extends ServedParts {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  readonly renderer: PlanRenderer;
  readonly marks: LogMarks;
}

/** Commands leave the first three lines of the log of an apply out. */
const HEAD = "Stackwright\nThe server executes the run.\n\n";
/** Phases in which the plan is still being made. */
const PLANNING: ReadonlySet<string> = new Set(["queued", "preparing", "planning", "planned"]);

/**
 * The log of the plan or of the apply of a run as text, made from its events: the same events give the same text, so that a reader may
 * continue at any place. Returns whether the log is complete: the phase that says so is stored with the event.
 */
export function runLogText(
  parts: RunLogParts,
  stack: NamedStack,
  reference: RunReference,
  { name, offset }: { readonly name: TfeLogName; readonly offset: number },
): TfeLogText {
  const log = [...Object.values(reference.stack), reference.run, name].join("\0");
  const start = parts.marks.before(log, offset);
  return { from: start?.bytes ?? 0, text: textFrom(parts, stack, reference, { name, log, start }) };
}

interface TextStart {
  readonly name: TfeLogName;
  /** Names the log among the marks. */
  readonly log: string;
  readonly start: LogMark | undefined;
}

async function* textFrom(
  parts: RunLogParts,
  stack: NamedStack,
  reference: RunReference,
  { name, log, start }: TextStart,
): AsyncGenerator<string, boolean> {
  let hasPlan = false;
  let { isApply, bytes, next } = start ?? { isApply: false, bytes: 0, next: 1 };
  const counted = (text: string): string => {
    bytes += Buffer.byteLength(text);
    return text;
  };
  if (start === undefined) yield counted(HEAD);
  for (;;) {
    const events = await readSegment(parts, reference, next);
    if (events === undefined) return false;
    for (const event of events) {
      const to = event.type === "phase-change" ? String(event["to"]) : undefined;
      if (to === undefined) {
        if (hasPlan || isApply === (name === "apply")) yield counted(eventText(event));
        continue;
      }
      const hasEnded = isEnded(to as RunPhase);
      if (name === "plan") {
        if (PLANNING.has(to)) continue;
        if (!hasPlan) yield await planEndText(parts, reference, to);
        else if (hasEnded) yield await applyEndText(parts, stack, reference, to);
        // A command asks for the run once it has the plan. Of one that has failed by then it reads no other log, so that this one says why.
        hasPlan ||= to === "approved" && (await hasFailed(parts, reference));
        if (!hasPlan || hasEnded) return true;
        continue;
      }
      if (to === "approved") isApply = true;
      if (!hasEnded) continue;
      if (isApply) yield await applyEndText(parts, stack, reference, to);
      return true;
    }
    next += events.length;
    // What a plan has behind its end is there or not by the time at which it is read.
    if (!hasPlan) parts.marks.add(log, { next, isApply, bytes });
  }
}

/** Whether a run ended in its apply, and not as it should. */
async function hasFailed({ storage }: RunLogParts, reference: RunReference): Promise<boolean> {
  const stored = await readStored(storage, "strong", idOf(RUN_KIND, runPlace(reference)));
  const phase = stored && phaseOf(decodeRecord(RUN_KIND, stored));
  return phase === "failed" || phase === "partially_applied";
}

/** The events of the segment that begins with one; undefined where it is not written yet. */
async function readSegment(
  { storage }: RunLogParts,
  reference: RunReference,
  first: number,
): Promise<readonly StoredRunLogEvent[] | undefined> {
  const id = idOf(SERVER_KINDS.segment, segmentPlace(reference, first));
  const found = await readStored(storage, "strong", id);
  if (found === undefined) return undefined;
  const { events } = decodeRecord(SERVER_KINDS.segment, found);
  return events.map((line) => JSON.parse(line) as StoredRunLogEvent);
}

async function planEndText(
  { storage, blobs, renderer }: RunLogParts,
  reference: RunReference,
  phase: string,
): Promise<string> {
  if (phase === "no_changes") {
    return "\nNo changes. Your infrastructure matches the configuration.\n";
  }
  const [storedRun, summary] = await Promise.all([
    readStored(storage, "strong", idOf(RUN_KIND, runPlace(reference))),
    readSummary({ storage }, reference),
  ]);
  if (summary === undefined) {
    const reason = storedRun && decodeRecord(RUN_KIND, storedRun).reason;
    return phase === "failed" ? `\nThe plan failed: ${reason ?? ""}\n` : `\nThe run is ${phase}.\n`;
  }
  const add = summary.create + summary.replace;
  const destroy = summary.delete + summary.replace;
  const imports = summary.import > 0 ? `${summary.import} to import, ` : "";
  const counts = `Plan: ${imports}${add} to add, ${summary.update} to change, ${destroy} to destroy.\n`;
  const text = await planText({ blobs, renderer }, summary.viewSha256);
  // The text of a plan says it as well.
  return /^Plan: /m.test(text) ? `\n${text.trimEnd()}\n` : `\n${text}\n${counts}`;
}

async function planText(
  { blobs, renderer }: Pick<RunLogParts, "blobs" | "renderer">,
  sha256: string,
): Promise<string> {
  if (sha256 === "") return "The plan cannot be shown as text.\n";
  const chunks: Uint8Array[] = [];
  for await (const chunk of blobs.read(sha256)) chunks.push(chunk);
  const view = Buffer.concat(chunks).toString("utf8");
  const form = { form: "text", title: "", limitBytes: undefined } as const;
  return renderer.render(view, form, new AbortController().signal);
}

async function applyEndText(
  parts: RunLogParts,
  stack: NamedStack,
  reference: RunReference,
  phase: string,
): Promise<string> {
  const stored = await readStored(parts.storage, "strong", idOf(RUN_KIND, runPlace(reference)));
  const run = stored && decodeRecord(RUN_KIND, stored);
  const reason = run?.reason ?? "";
  if (phase !== "applied")
    return `\nThe apply ended as ${phase}${reason === "" ? "" : `: ${reason}`}\n`;
  const outputs = run === undefined ? "" : await outputsText(parts, stack, run);
  const summary = await readSummary(parts, reference);
  return `\n${appliedText(run?.mode, summary)}\n${outputs}`;
}

/** What terraform says of an apply that did all of its plan: pipelines read the numbers in it. */
function appliedText(mode: Run_Mode | undefined, summary: PlanSummary | undefined): string {
  if (summary === undefined) return "Apply complete!";
  const destroyed = summary.delete + summary.replace;
  if (mode === Run_Mode.MODE_DESTROY) {
    return `Destroy complete! Resources: ${destroyed} destroyed.`;
  }
  const imported = summary.import > 0 ? `${summary.import} imported, ` : "";
  const added = summary.create + summary.replace;
  return `Apply complete! Resources: ${imported}${added} added, ${summary.update} changed, ${destroyed} destroyed.`;
}

async function readSummary(
  { storage }: Pick<RunLogParts, "storage">,
  reference: RunReference,
): Promise<PlanSummary | undefined> {
  const stored = await readStored(
    storage,
    "strong",
    idOf(SERVER_KINDS.summary, runPlace(reference)),
  );
  return stored && decodeRecord(SERVER_KINDS.summary, stored);
}

/**
 * The outputs as a run left them, sensitive ones without their values. Only the present ones are stored: where a later run changed them
 * the log has none.
 */
async function outputsText(parts: RunLogParts, stack: NamedStack, run: Run): Promise<string> {
  const state = await serveState(parts, stack).catch(() => undefined);
  if (state === undefined) return "";
  const chunks: Uint8Array[] = [];
  for await (const chunk of state.content) chunks.push(chunk);
  const { outputs } = parseStateFile(Buffer.concat(chunks).toString("utf8"));
  // Read after the state, so that what it says of the state was true then.
  const place = idOf(STACK_OUTPUTS_KIND, stackPlace(stack.reference));
  const published = await readStored(parts.storage, "strong", place);
  const changedAt = published && decodeRecord(STACK_OUTPUTS_KIND, published).revision;
  const isOfRun = changedAt === undefined || changedAt <= run.revision;
  if (!isOfRun || outputs.length === 0) return "";
  const lines = outputs.map(({ name, sensitive, value, type }) => {
    const shown = (): string =>
      valueText(decodeJson(compactJson(value), decodeTypeJson(compactJson(type))));
    return `${name} = ${sensitive ? "<sensitive>" : shown()}\n`;
  });
  return `\nOutputs:\n\n${lines.join("")}`;
}
