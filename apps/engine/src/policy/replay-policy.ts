import { StackDirectory, type StackReference } from "@stackwright/core";
import type {
  PolicySet,
  PolicySetResult,
  PolicyVersion,
  Run,
} from "@stackwright/proto/stackwright";
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
}

interface FoundRun {
  readonly reference: RunReference;
  readonly run: Run;
}

/**
 * Judges the newest plans of the stacks that a set is for, as far as they are still stored, and changes nothing. The newest first.
 */
export async function replayPolicy(
  parts: JudgeParts,
  options: ReplayOptions,
): Promise<readonly ReplayedRun[]> {
  const { account, set, version, limit, sees, secretsOf, signal } = options;
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
  const replayed: ReplayedRun[] = [];
  for (const { reference, run } of await plannedRuns(parts, account, signal)) {
    if (replayed.length >= limit) break;
    signal.throwIfAborted();
    const { stack } = reference;
    const { project } = stack;
    if (!sees(project)) continue;
    const stackName = await nameOf(stack);
    if (stackName === undefined || !judges(set, project, stackName)) continue;
    const { planDigest } = run;
    const secrets = async () => secretsOf(stack, stackName);
    const input = await inputOf(parts, { stack, stackName, run, planDigest, secrets });
    // Plans expire before their runs.
    if (typeof input === "string") continue;
    const verdict = await judgeInput(parts, version, input);
    const before = await outcomeThen(parts, reference, set.name, planDigest);
    replayed.push({ project, stackName, run: run.id, verdict, before });
  }
  return replayed;
}

/** The runs of an account that have a plan, the newest first. */
async function plannedRuns(
  { storage }: JudgeParts,
  account: string,
  signal: AbortSignal,
): Promise<readonly FoundRun[]> {
  const everywhere = { partition: account, peerName: WILDCARD, namespace: WILDCARD };
  const found: FoundRun[] = [];
  for await (const one of listResources(storage, "strong", RUN_KIND.type, everywhere, "", {
    signal,
  })) {
    const run = decodeRecord(RUN_KIND, one);
    // Runs of commands have no server that judges them.
    if (run.planDigest === "" || run.number === 0n) continue;
    const { namespace: project } = one.id.tenancy;
    found.push({ reference: { stack: { account, project, stack: run.stack }, run: run.id }, run });
  }
  return found.toSorted((a, b) => Number(b.run.createdAtMs - a.run.createdAtMs));
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
