import { isClientError, type Run, type RunLogEvent } from "@stackwright/client";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { dependentLines } from "./dependent-lines.ts";
import { noteStuck } from "./note-stuck.ts";
import { obstaclesOf } from "./run-obstacles.ts";
import type { ServerStack } from "./run-place.ts";
import { OUTCOMES } from "./run-text.ts";
import type { RunView } from "./run-view.ts";

/** A run that a command follows. */
interface AttendedRun extends ServerStack {
  readonly run: Run;
  readonly view: RunView;
  /** Whether the user is asked to approve the plan. */
  readonly asks: boolean;
}

/**
 * Follows a run to its end: shows its events and its plan, and asks for the approval. Without a terminal it ends where the run waits
 * for approval. Ctrl-C asks whether to cancel the run; otherwise the run continues on the server.
 */
export async function attendRun(attended: AttendedRun): Promise<ExitCode> {
  const over = new AbortController();
  const noting = noteStuck(attended, over.signal);
  try {
    return await followToItsEnd(attended);
  } finally {
    over.abort();
    await noting;
  }
}

async function followToItsEnd(attended: AttendedRun): Promise<ExitCode> {
  const { client, place, run, view, context } = attended;
  let after = 0;
  let signal = context.signal;
  for (;;) {
    try {
      for await (const seq of attendFrom(attended, after, signal)) after = seq;
      const { data } = await client.showRun({ ...place, run: run.id }, { signal });
      view.ended(data);
      return exitCodeOf(data);
    } catch (error) {
      if (!signal.aborted || signal === context.forceSignal) throw error;
      if (!(await isCanceled(attended))) return detach(attended);
      signal = context.forceSignal;
    }
  }
}

/** Yields the number of each event once it is handled. Ends with the run, or where it waits for an approval and the command cannot ask. */
async function* attendFrom(
  attended: AttendedRun,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<number> {
  const { client, place, run, view, asks, context } = attended;
  const stop = new AbortController();
  const follow = client.followRun({
    ...place,
    run: run.id,
    after,
    signal: AbortSignal.any([signal, stop.signal]),
  });
  const events = follow[Symbol.asyncIterator]();
  // Read ahead while an event is handled, so that a failure may come before it is awaited.
  const readAhead = (): ReturnType<typeof events.next> => {
    const read = events.next();
    read.catch(() => undefined);
    return read;
  };
  let digest: string | undefined;
  let waits = false;
  try {
    let next = readAhead();
    for (;;) {
      if (waits) {
        if (!asks || !context.terminal.interactive) return;
        // An event that comes meanwhile is the decision of another user.
        if (await isDecided(attended, digest, next, signal)) waits = false;
      }
      const { done, value } = await next;
      if (done === true) return;
      next = readAhead();
      view.event(value);
      yield value.seq;
      if (isPlanned(value)) digest = (await showPlan(attended, signal)) ?? digest;
      if (value.type === "phase-change") {
        // Somebody has to let it pass, or give it up: that may take days.
        if (await isStill(attended, value, "policy_failed", signal)) return;
        waits = await isStill(attended, value, "awaiting_approval", signal);
        await noteObstacles(attended, value, signal);
      }
    }
  } finally {
    stop.abort(new Error("not followed any longer"));
  }
}

function isPlanned({ type, to }: RunLogEvent): boolean {
  return type === "phase-change" && to === "planned";
}

/** Shows the plan of the run and returns its digest; undefined where it was replaced meanwhile. */
async function showPlan(attended: AttendedRun, signal: AbortSignal): Promise<string | undefined> {
  const { client, place, run, view } = attended;
  try {
    const { data, text } = await client.showPlan({ ...place, run: run.id }, { signal });
    view.plan(text);
    for (const line of await dependentLines(attended, run, signal)) view.note(line);
    return typeof data["digest"] === "string" ? data["digest"] : undefined;
  } catch (error) {
    if (!isClientError(error, "not_found")) throw error;
    return undefined;
  }
}

/** The event may be old: the run is in a phase only if it still is. */
async function isStill(
  { client, place, run }: AttendedRun,
  { to }: RunLogEvent,
  phase: Run["phase"],
  signal: AbortSignal,
): Promise<boolean> {
  if (to !== phase) return false;
  const { data } = await client.showRun({ ...place, run: run.id }, { signal });
  return data.phase === phase;
}

/** Says what holds the run up. The event may be old: it counts only if the run is still in that phase. */
async function noteObstacles(
  attended: AttendedRun,
  { to }: RunLogEvent,
  signal: AbortSignal,
): Promise<void> {
  if (to !== "queued" && to !== "approved") return;
  const { client, place, run, view } = attended;
  const { data } = await client.showRun({ ...place, run: run.id }, { signal });
  if (data.phase !== to) return;
  for (const text of await obstaclesOf(attended, data, signal)) view.note(text);
}

/** Asks for the approval, as long as no event comes; whether the user has decided. */
async function isDecided(
  { client, place, run, view, context }: AttendedRun,
  digest: string | undefined,
  next: Promise<unknown>,
  signal: AbortSignal,
): Promise<boolean> {
  const { terminal } = context;
  const moved = new AbortController();
  void next.then(
    () => moved.abort(),
    () => moved.abort(),
  );
  const question = `\n${terminal.style.paint("strong", "Apply this plan?")} Only "yes" is taken as a yes: `;
  const answer = await terminal
    .ask(question, { signal: AbortSignal.any([signal, moved.signal]) })
    .catch((error: unknown) => {
      if (signal.aborted || !moved.signal.aborted) throw error;
      return moved;
    });
  if (answer === moved) return false;
  const target = { ...place, run: run.id };
  try {
    if (typeof answer === "string" && answer.trim() === "yes" && digest !== undefined) {
      await client.approveRun({ ...target, body: { plan_digest: digest } }, { signal });
    } else {
      await client.discardRun({ ...target, body: {} }, { signal });
    }
  } catch (error) {
    if (!isClientError(error, "illegal_transition", "run_ended")) throw error;
    view.note("Another user has decided meanwhile.");
  }
  return true;
}

/** What Ctrl-C means: the user may cancel the run. Whether that was requested. */
async function isCanceled({ client, place, run, view, context }: AttendedRun): Promise<boolean> {
  const { terminal, forceSignal } = context;
  if (!terminal.interactive) return false;
  const answer = await terminal
    .ask(`\nCancel run ${run.number}? Only "yes" cancels it; otherwise it continues: `, {
      signal: forceSignal,
    })
    .catch(() => undefined);
  if (answer?.trim() !== "yes") return false;
  try {
    await client.cancelRun({ ...place, run: run.id, body: {} }, { signal: forceSignal });
  } catch (error) {
    if (!isClientError(error, "run_ended")) throw error;
  }
  view.note("Cancel requested. The run ends once its calls in progress have ended.");
  return true;
}

function detach({ run, place, view }: AttendedRun): ExitCode {
  const { project, stack } = place;
  view.note(`Run ${run.number} continues on the server. To follow it again:
  stackwright runs logs -f ${run.number} --stack ${project}/${stack}`);
  return EXIT.interrupted;
}

/** 0 for what was requested, 2 where the run waits for approval, 1 for all other ends. */
function exitCodeOf({ phase }: Pick<Run, "phase">): ExitCode {
  const isDone = OUTCOMES[phase];
  if (isDone === undefined) return EXIT.changes;
  return isDone ? EXIT.ok : EXIT.failed;
}
