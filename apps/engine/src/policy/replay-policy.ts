import { StackDirectory, type StackReference } from "@stackwright/core";
import type { PolicySet, PolicySetResult, PolicyVersion } from "@stackwright/proto/stackwright";
import { listResources, readStored, WILDCARD } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { RUN_KIND, type RunReference, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { inputOf, type JudgeParts, judgeInput } from "./judge-plan.ts";
import { judges } from "./policy-places.ts";
import { type OutcomeName, outcomeName } from "./policy-verdict.ts";

/** How a version of a set judges the plan of a former run, beside how the set judged it then. */
interface ReplayedRun {
  readonly project: string;
  readonly stackName: string;
  readonly run: string;
  readonly verdict: Pick<PolicySetResult, "outcome" | "findings" | "cut" | "error">;
  /** Undefined where the set did not judge the plan. */
  readonly before: OutcomeName | undefined;
}

interface ReplayOptions {
  readonly account: string;
  readonly set: PolicySet;
  readonly version: PolicyVersion;
  /** Newest runs with a plan. */
  readonly limit: number;
  /** Whether plans of a project are shown to the caller. */
  readonly sees: (project: string) => boolean;
  /** Values that nothing may show. */
  readonly secretsOf: (stack: StackReference, stackName: string) => Promise<readonly string[]>;
  readonly signal: AbortSignal;
  /** @default 2 minutes */
  readonly maxMs?: number;
  /** Candidates that are kept, the newest: the plans of some are gone. @default 10,000 */
  readonly maxFound?: number;
}

/** What is kept of each run while all are looked through: of large accounts there are 100,000. */
interface FoundRun {
  readonly reference: RunReference;
  readonly createdAtMs: number;
}

/** How long plans are judged: what is left then is not. */
const REPLAY_MS = 2 * 60_000;
const MAX_FOUND = 10_000;

/**
 * Judges the newest plans of the stacks that a set is for, as far as they are still stored, and changes nothing. The newest first. A replay
 * that takes too long ends with what was judged by then. It is complete where it judged as many plans as it was asked for, or all that there are.
 */
export async function replayPolicy(
  parts: JudgeParts,
  options: ReplayOptions,
): Promise<{ readonly runs: readonly ReplayedRun[]; readonly isComplete: boolean }> {
  const { account, set, version, limit, sees, secretsOf, signal } = options;
  const untilMs = parts.clock.monotonicMs() + (options.maxMs ?? REPLAY_MS);
  const isLate = (): boolean => parts.clock.monotonicMs() >= untilMs;
  const stacks = new StackDirectory({ storage: parts.storage });
  const names = new Map<string, ReadonlyMap<string, string>>();
  const nameOf = async ({ project, stack }: StackReference): Promise<string | undefined> => {
    const known =
      names.get(project) ??
      new Map(
        (await stacks.list({ account, project })).map((one) => [one.reference.stack, one.name]),
      );
    names.set(project, known);
    return known.get(stack);
  };
  const isFor = async ({ stack }: RunReference): Promise<string | undefined> => {
    if (!sees(stack.project)) return undefined;
    const name = await nameOf(stack);
    return name !== undefined && judges(set, stack.project, name) ? name : undefined;
  };
  const replayed: ReplayedRun[] = [];
  const maxFound = options.maxFound ?? MAX_FOUND;
  const candidates = await plannedRuns(parts, account, { isFor, isLate, signal, maxFound });
  for (const { reference } of candidates.runs) {
    if (replayed.length >= limit) return { runs: replayed, isComplete: true };
    if (isLate()) return { runs: replayed, isComplete: false };
    signal.throwIfAborted();
    const { stack } = reference;
    const { project } = stack;
    const stackName = await isFor(reference);
    const found = await readStored(parts.storage, "strong", idOf(RUN_KIND, runPlace(reference)));
    const run = found && decodeRecord(RUN_KIND, found);
    if (stackName === undefined || run === undefined || run.planDigest === "") continue;
    const { planDigest } = run;
    const secrets = async () => secretsOf(stack, stackName);
    const input = await inputOf(parts, { stack, stackName, run, planDigest, secrets });
    // Plans expire before their runs.
    if (typeof input === "string") continue;
    const verdict = await judgeInput(parts, version, input);
    const before = await outcomeThen(parts, reference, set.name, planDigest);
    replayed.push({ project, stackName, run: run.id, verdict, before });
  }
  return { runs: replayed, isComplete: !candidates.isCut || replayed.length >= limit };
}

interface Search {
  readonly isFor: (reference: RunReference) => Promise<string | undefined>;
  readonly isLate: () => boolean;
  readonly signal: AbortSignal;
  readonly maxFound: number;
}

/**
 * The runs of some stacks of an account that have a plan, the newest first, and whether there are others: older ones, or any where there was
 * no time to look through all.
 */
async function plannedRuns(
  { storage }: JudgeParts,
  account: string,
  { isFor, isLate, signal, maxFound }: Search,
): Promise<{ readonly runs: readonly FoundRun[]; readonly isCut: boolean }> {
  const everywhere = { partition: account, peerName: WILDCARD, namespace: WILDCARD };
  const newest = (found: readonly FoundRun[]): FoundRun[] =>
    found.toSorted((a, b) => b.createdAtMs - a.createdAtMs).slice(0, maxFound);
  let found: FoundRun[] = [];
  let count = 0;
  for await (const one of listResources(storage, "strong", RUN_KIND.type, everywhere, "", {
    signal,
  })) {
    // Of some alone it is not known which are the newest.
    if (isLate()) return { runs: [], isCut: true };
    const run = decodeRecord(RUN_KIND, one);
    // Runs of commands have no server that judges them.
    if (run.planDigest === "" || run.number === 0n) continue;
    const { namespace: project } = one.id.tenancy;
    const reference = { stack: { account, project, stack: run.stack }, run: run.id };
    if ((await isFor(reference)) === undefined) continue;
    found.push({ reference, createdAtMs: Number(run.createdAtMs) });
    count += 1;
    if (found.length >= 2 * maxFound) found = newest(found);
  }
  return { runs: newest(found), isCut: count > maxFound };
}

async function outcomeThen(
  { storage }: JudgeParts,
  reference: RunReference,
  set: string,
  planDigest: string,
): Promise<OutcomeName | undefined> {
  const id = idOf(SERVER_KINDS.policyResult, runPlace(reference));
  const found = await readStored(storage, "strong", id);
  if (found === undefined) return undefined;
  const result = decodeRecord(SERVER_KINDS.policyResult, found);
  const own = result.sets.find((one) => one.set === set);
  return own === undefined || result.planDigest !== planDigest ? undefined : outcomeName(own);
}
