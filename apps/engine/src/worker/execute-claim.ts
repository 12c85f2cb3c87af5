import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { ExecutionJob } from "../executor/execution-job.ts";
import type { Execution, ExecutionEnd, Executor } from "../executor/executor.ts";
import { LogWriter } from "../logs/log-writer.ts";
import type { RunClaim } from "../queue/claim.ts";
import type { SpanSink } from "../span/span.ts";
import { stepPlaceOf } from "../span/trace-context.ts";
import { TracedWork, type TraceScope } from "../span/trace-scope.ts";
import { StepSpans } from "../tracing/step-spans.ts";
import type { ClaimHost } from "./claim-host.ts";
import { type OfferedTool, offeredTool } from "./offered-tools.ts";
import { StepDeadline, type StepLimits } from "./step-deadline.ts";
import type { StepFolder, StepFolders } from "./step-folders.ts";
import { keptText } from "./unstored-states.ts";

/** The variable by which programs hand their traces on, as OpenTelemetry has it. */
const TRACE_PARENT = "TRACEPARENT";

export interface ExecuteClaimParts {
  readonly clock: Clock;
  readonly executor: Executor;
  readonly logger: Logger;
  readonly folders: StepFolders;
  /** How long steps may take. */
  readonly limits?: StepLimits;
  /** Programs that execute runs instead of the engine. @default none */
  readonly tools?: readonly OfferedTool[] | undefined;
  /** Where the time of steps and of the calls of providers is reported. @default nowhere */
  readonly spans?: SpanSink | undefined;
  /** Knows for lines of the log which run they are about. @default nothing does */
  readonly traces?: TraceScope | undefined;
}

/** The claim to be executed, as far as its worker needs it. */
interface ExecutedClaim {
  readonly run: string;
  readonly step: RunClaim["step"];
  /** Aborts when the worker loses its lease. @default never */
  readonly lost: AbortSignal | undefined;
  /** Where the executor reaches the store; undefined where it shares that of its process. */
  readonly store: ExecutionJob["store"];
  /** Where the step belongs; empty: to a trace of the run alone. */
  readonly traceParent: string;
}

/**
 * Executes the step of a claim and writes how it ended: a result, or the ticket for the next worker. Resolves with whether there
 * is a result.
 */
export async function executeClaim(
  parts: ExecuteClaimParts,
  claim: ExecutedClaim,
  host: ClaimHost,
  onStart: (execution: Execution) => void,
): Promise<boolean> {
  const execute = async (): Promise<boolean> => executeTraced(parts, claim, host, onStart);
  const { traces } = parts;
  if (traces === undefined) return execute();
  return traces.run(new TracedWork(stepPlaceOf(claim.run, claim.traceParent), claim.run), execute);
}

async function executeTraced(
  parts: ExecuteClaimParts,
  claim: ExecutedClaim,
  host: ClaimHost,
  onStart: (execution: Execution) => void,
): Promise<boolean> {
  const { executor, logger, clock, folders } = parts;
  const { run, step, lost, store } = claim;
  const startMs = clock.wallMs();
  let folder: StepFolder | undefined;
  let spans: StepSpans | undefined;
  let ended: ExecutionEnd | undefined;
  try {
    folder = await folders.open(run);
    const append: ClaimHost["append"] = async (events) => host.append(events);
    await using log = new LogWriter({ run, lost, clock, logger, append });
    const { tool, ...given } = await host.job();
    const job: ExecutionJob = {
      ...given,
      ...(tool !== undefined && { tool: offeredTool(tool, parts.tools) }),
      folder: folder.path,
      providersFolder: folders.providers,
      ...(store !== undefined && { store }),
    };
    spans = parts.spans === undefined ? undefined : new StepSpans(parts.spans, job, startMs);
    const execution = executor.start(tracedJob(job, spans), {
      onEvent: (event, at) => {
        spans?.event(event, at);
        return log.add(event, at);
      },
      beginPlanning: async () => host.beginPlanning(),
      beginApply: async (epoch) => host.beginApply(epoch),
      readOtherStack: async (name) => host.readOtherStack(name),
      identityTokens: async () => host.identityTokens(),
      readRegistry: async (query) => host.readRegistry(query),
      recordState: async (content) => host.recordState(content),
      handInSchema: async (offered) => host.handInSchema(offered),
    });
    onStart(execution);
    const limited = job.shadow === undefined ? step : "shadow";
    using deadline = new StepDeadline(clock, execution, parts.limits ?? {}, limited, (stage) => {
      logger.warn({ run, stage }, "a step missed its deadline");
      void log.add({ type: "deadline", stage }, clock.wallMs());
    });
    ended = await execution.ended;
    const kept = await folder.keepState();
    if (kept !== undefined) {
      const summary = "The last state is not stored";
      const event = { type: "diagnostic", severity: "error", summary, detail: keptText(kept) };
      void log.add(event, clock.wallMs());
    }
    await log.flush();
    const end = kept === undefined ? ended : withReason(ended, keptText(kept));
    const { reason } = deadline;
    await insist(parts, claim, host, async () => host.end(end, reason));
    return true;
  } catch (error) {
    logger.warn({ run, err: error }, "a step of a run could not be executed");
    await host.giveUp(error);
    return false;
  } finally {
    spans?.over(ended, clock.wallMs());
    await folder?.remove();
  }
}

/** The job with the step as the parent of what its providers, hooks and tools trace, unless its stack names another one. */
function tracedJob(job: ExecutionJob, spans: StepSpans | undefined): ExecutionJob {
  if (spans === undefined || job.environment[TRACE_PARENT] !== undefined) return job;
  return { ...job, environment: { ...job.environment, [TRACE_PARENT]: spans.traceParent } };
}

/** The same end, with more said about it. */
function withReason(end: ExecutionEnd, more: string): ExecutionEnd {
  if (end.how !== "result" || !("reason" in end.result)) return end;
  const { result } = end;
  return { how: "result", result: { ...result, reason: `${result.reason ?? ""}; ${more}` } };
}

/** How long a store that is away is left alone. */
const AWAY_MS = 1_000;

/** Writes something as soon as the store is there again, as long as the worker has its lease. */
async function insist(
  { clock, logger }: ExecuteClaimParts,
  { run, lost }: ExecutedClaim,
  host: ClaimHost,
  write: () => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!host.isAway(error) || lost?.aborted === true) throw error;
      logger.warn({ run, err: error }, "the result of a step waits for the store");
      await sleep(clock, AWAY_MS, lost).catch(() => undefined);
    }
  }
}
