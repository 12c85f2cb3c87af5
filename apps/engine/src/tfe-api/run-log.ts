import type { NamedStack } from "@stackwright/core";
import { isEnded, type RunPhase } from "@stackwright/core";
import { decodeJson, decodeTypeJson } from "@stackwright/cty";
import { valueText } from "@stackwright/lang";
import { PlanSummary, type Run, Run_Mode } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import type { TfeLogName, TfeLogText } from "@stackwright/tfe";
import {
  compactJson,
  type JsonNode,
  literalNode,
  objectNode,
  parseStateFile,
} from "@stackwright/tfstate";
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
import { blockOf } from "../policy/policy-verdict.ts";
import { phaseOf } from "../queue/run-row.ts";
import { idOf } from "../queue/transaction.ts";
import { type ServedParts, serveState } from "../terraform-state/served-state.ts";
import type { AwaitedApplies } from "./awaited-applies.ts";
import type { LogMark, LogMarks } from "./log-marks.ts";
import type { OpenLogs } from "./open-logs.ts";
import { eventLines, exactLine, jsonLine, textLines } from "./run-lines.ts";
import { eventText, isOwnBlock } from "./run-text.ts";
import { sortedDiagnostics } from "./sorted-diagnostics.ts";

interface RunLogParts extends ServedParts {
  readonly awaited: AwaitedApplies;
  readonly open: OpenLogs;
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  readonly renderer: PlanRenderer;
  readonly marks: LogMarks;
}

/** Commands leave the first three lines of the log of an apply out. */
const HEAD = "Stackwright\nThe server executes the run.\n\n";
/** Phases in which the plan is still being made. */
const PLANNING: ReadonlySet<string> = new Set(["queued", "preparing", "planning", "planned"]);

/** Which log of a run, and in which form. */
interface WantedLog {
  readonly name: TfeLogName;
  /** Lines for programs, in which a plan is not rendered. */
  readonly structured: boolean;
}

/**
 * The log of the plan or of the apply of a run, made from its events: the same events give the same text, so that a reader may
 * continue at any place. Returns whether the log is complete: the phase that says so is stored with the event.
 */
export function runLogText(
  parts: RunLogParts,
  stack: NamedStack,
  reference: RunReference,
  { name, structured, offset }: WantedLog & { readonly offset: number },
): TfeLogText {
  const form = structured ? "lines" : "text";
  const log = [...Object.values(reference.stack), reference.run, name, form].join("\0");
  const start = parts.marks.before(log, offset);
  const wanted = { name, structured, log, start };
  const text = noteEnd(parts, reference, name, textFrom(parts, stack, reference, wanted));
  return { from: start?.bytes ?? 0, text };
}

/** Notes how far a log was read. A reader that has enough before its present end is not noted: it reads on. */
async function* noteEnd(
  { open }: RunLogParts,
  { run }: RunReference,
  name: TfeLogName,
  text: AsyncGenerator<string, boolean>,
): AsyncGenerator<string, boolean> {
  const isComplete = yield* text;
  if (isComplete) open.readToEnd(run, name);
  else open.readSoFar(run, name);
  return isComplete;
}

interface TextStart extends WantedLog {
  /** Names the log among the marks. */
  readonly log: string;
  readonly start: LogMark | undefined;
}

async function* textFrom(
  parts: RunLogParts,
  stack: NamedStack,
  reference: RunReference,
  { name, structured, log, start }: TextStart,
): AsyncGenerator<string, boolean> {
  const written = structured ? eventLines : eventText;
  const [planEnd, applyEnd] = structured
    ? [planEndLines, applyEndLines]
    : [planEndText, applyEndText];
  let hasPlan = false;
  let { isApply, bytes, next } = start ?? { isApply: false, bytes: 0, next: 1 };
  let held = [...(start?.held ?? [])];
  const counted = (text: string): string => {
    bytes += Buffer.byteLength(text);
    return text;
  };
  /** Commands that plan themselves print diagnostics at the end: a structured log has them there. */
  const flush = (): { readonly text: string; readonly hasError: boolean } => {
    const found = sortedDiagnostics(held);
    held = [];
    const hasError = found.some(({ severity }) => severity === "error");
    return { text: found.map(eventLines).join(""), hasError };
  };
  if (start === undefined) yield counted(HEAD);
  for (;;) {
    const events = await readSegment(parts, reference, next);
    if (events === undefined) return false;
    for (const event of events) {
      const to = event.type === "phase-change" ? String(event["to"]) : undefined;
      if (to === undefined) {
        if (!hasPlan && isApply !== (name === "apply")) continue;
        if (!structured || event.type !== "diagnostic") yield counted(written(event));
        else if (!isOwnBlock(event)) held.push(event);
        continue;
      }
      const hasEnded = isEnded(to as RunPhase);
      const end = { stack, reference, phase: to, at: event.at };
      if (name === "plan") {
        if (PLANNING.has(to)) continue;
        if (!hasPlan) yield await planEnd(parts, { ...end, ...flush() });
        else if (hasEnded) yield await applyEnd(parts, { ...end, ...flush() });
        // A command asks for the run once it has the plan. Of one that has failed by then it renders no plan and reads no other log, so that
        // this one has all of it.
        if (!hasPlan && to === "approved" && (await hasFailed(parts, reference))) {
          hasPlan = true;
          if (structured) yield textLines(await planEndText(parts, end), event.at);
        }
        if (!hasPlan && to === "approved") parts.awaited.planRead(reference.run);
        if (!hasPlan || hasEnded) return true;
        continue;
      }
      if (to === "approved") isApply = true;
      if (!hasEnded) continue;
      if (isApply) yield await applyEnd(parts, { ...end, ...flush() });
      parts.awaited.applyRead(reference.run);
      return true;
    }
    next += events.length;
    // What a plan has behind its end is there or not by the time at which it is read.
    if (!hasPlan) parts.marks.add(log, { next, isApply, bytes, held: [...held] });
  }
}

/** Whether a run ended in its apply, and not as it should. */
async function hasFailed(parts: RunLogParts, reference: RunReference): Promise<boolean> {
  const run = await readRun(parts, reference);
  const phase = run && phaseOf(run);
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

/** How a plan or an apply ended. */
interface LogEnd {
  readonly stack: NamedStack;
  readonly reference: RunReference;
  readonly phase: string;
  readonly at: number;
}

/** With the lines of its diagnostics, and whether errors are among them. */
interface LinesEnd extends LogEnd {
  readonly text: string;
  readonly hasError: boolean;
}

/** Failures that diagnostics of the log explain. */
const EXPLAINED: ReadonlySet<string> = new Set(["plan", "configuration"]);
const PLANNING_FAILED =
  "\nPlanning failed. Terraform encountered an error while generating this plan.\n\n";

/** Commands render the plan themselves, and skip its counts: those are for other programs. */
async function planEndLines(parts: RunLogParts, end: LinesEnd): Promise<string> {
  const { reference, phase, at, text } = end;
  if (phase === "no_changes") return text;
  const summary = await readSummary(parts, reference);
  const isRendered = await rendersPlan(parts, reference, phase);
  if (summary === undefined || !hasDocument(summary) || !isRendered) {
    const code = (await readRun(parts, reference))?.reasonCode ?? "";
    if (phase !== "failed" || !EXPLAINED.has(code)) {
      return `${text}${textLines(await planEndText(parts, end), at)}`;
    }
    return code === "plan" && end.hasError ? `${textLines(PLANNING_FAILED, at)}${text}` : text;
  }
  const counts = countsOf(summary);
  const message = `Plan: ${counts.add} to add, ${counts.change} to change, ${counts.remove} to destroy.`;
  const members = { changes: { ...counts, operation: "plan" } };
  return `${text}${jsonLine({ level: "info", message, type: "change_summary", members }, at)}`;
}

/** Commands render no plan of a run that has ended without an apply, among them one that policies refuse for good. */
async function rendersPlan(
  { storage }: RunLogParts,
  reference: RunReference,
  phase: string,
): Promise<boolean> {
  if (["failed", "discarded", "canceled", "superseded"].includes(phase)) return false;
  if (phase !== "policy_failed") return true;
  const id = idOf(SERVER_KINDS.policyResult, runPlace(reference));
  const found = await readStored(storage, "strong", id);
  return (
    found === undefined || blockOf(decodeRecord(SERVER_KINDS.policyResult, found)) !== "forbidden"
  );
}

/** The counts of a plan by the names of `--json`; none of a run whose plan is no longer stored. */
function countsOf(summary: PlanSummary | undefined) {
  const {
    create,
    replace,
    update,
    delete: removed,
    import: imported,
    forget,
  } = summary ?? PlanSummary.create({});
  return {
    add: create + replace,
    change: update,
    import: imported,
    remove: removed + replace,
    forget,
  };
}

/** Whether the plan of a run is stored in a form from which commands render it. */
export function hasDocument({ renderedSha256, jsonSha256 }: PlanSummary): boolean {
  return renderedSha256 !== "" || jsonSha256 !== "";
}

async function planEndText(
  { storage, blobs, renderer }: RunLogParts,
  { reference, phase }: LogEnd,
): Promise<string> {
  if (phase === "no_changes") {
    return "\nNo changes. Your infrastructure matches the configuration.\n";
  }
  const [run, summary] = await Promise.all([
    readRun({ storage }, reference),
    readSummary({ storage }, reference),
  ]);
  if (summary === undefined) {
    return phase === "failed"
      ? `\nThe plan failed: ${run?.reason ?? ""}\n`
      : `\nThe run is ${phase}.\n`;
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

async function applyEndLines(parts: RunLogParts, end: LinesEnd): Promise<string> {
  const { stack, reference, phase, at, text } = end;
  if (phase !== "applied") {
    return end.hasError ? text : `${text}${textLines(await applyEndText(parts, end), at)}`;
  }
  const run = await readRun(parts, reference);
  const summary = await readSummary(parts, reference);
  const members = { changes: { ...countsOf(summary), operation: operationOf(run?.mode) } };
  const message = appliedText(run?.mode, summary);
  const ended = `${text}${jsonLine({ level: "info", message, type: "change_summary", members }, at)}`;
  const outputs = run === undefined ? [] : await outputsOf(parts, stack, run);
  if (outputs.length === 0) return ended;
  const written = outputs.map(({ name, sensitive, value, type }): [string, JsonNode] => [
    name,
    objectNode({ sensitive: literalNode(sensitive), type, ...(!sensitive && { value }) }),
  ]);
  return `${ended}${exactLine(`Outputs: ${outputs.length}`, "outputs", at, {
    outputs: objectNode(Object.fromEntries(written)),
  })}`;
}

function operationOf(mode: Run_Mode | undefined): string {
  return mode === Run_Mode.MODE_DESTROY ? "destroy" : "apply";
}

async function applyEndText(
  parts: RunLogParts,
  { stack, reference, phase }: LogEnd,
): Promise<string> {
  const run = await readRun(parts, reference);
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

async function readRun(
  { storage }: Pick<RunLogParts, "storage">,
  reference: RunReference,
): Promise<Run | undefined> {
  const stored = await readStored(storage, "strong", idOf(RUN_KIND, runPlace(reference)));
  return stored && decodeRecord(RUN_KIND, stored);
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

async function outputsText(parts: RunLogParts, stack: NamedStack, run: Run): Promise<string> {
  const outputs = await outputsOf(parts, stack, run);
  if (outputs.length === 0) return "";
  const lines = outputs.map(({ name, sensitive, value, type }) => {
    const shown = (): string =>
      valueText(decodeJson(compactJson(value), decodeTypeJson(compactJson(type))));
    return `${name} = ${sensitive ? "<sensitive>" : shown()}\n`;
  });
  return `\nOutputs:\n\n${lines.join("")}`;
}

/** The outputs as a run left them. Only the present ones are stored: where a later run changed them there are none. */
async function outputsOf(
  parts: RunLogParts,
  stack: NamedStack,
  run: Run,
): Promise<ReturnType<typeof parseStateFile>["outputs"]> {
  const state = await serveState(parts, stack).catch(() => undefined);
  if (state === undefined) return [];
  const chunks: Uint8Array[] = [];
  for await (const chunk of state.content) chunks.push(chunk);
  const { outputs } = parseStateFile(Buffer.concat(chunks).toString("utf8"));
  // Read after the state, so that what it says of the state was true then.
  const place = idOf(STACK_OUTPUTS_KIND, stackPlace(stack.reference));
  const published = await readStored(parts.storage, "strong", place);
  const changedAt = published && decodeRecord(STACK_OUTPUTS_KIND, published).revision;
  return changedAt === undefined || changedAt <= run.revision ? outputs : [];
}
