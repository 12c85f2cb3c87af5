import { createHash } from "node:crypto";
import { createStackStates, type StackReference, type StoredKeys } from "@stackwright/core";
import {
  type PolicyResult,
  type PolicySet,
  PolicySetResult,
  PolicySetResult_Outcome,
  type PolicyVersion,
  type Run,
} from "@stackwright/proto/stackwright";
import { tenancyOf } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import { decodeRecord } from "../domain/record-kind.ts";
import { isServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { TransactionParts } from "../queue/transaction.ts";
import { policyInput, renderPolicyPlan } from "./policy-input.ts";
import { judges } from "./policy-places.ts";
import type { PolicyRunner } from "./policy-runner.ts";

/** What judging plans works with. */
export interface JudgeParts extends Pick<TransactionParts, "storage" | "clock"> {
  readonly blobs: BlobStore;
  readonly keys: StoredKeys;
  readonly policies: PolicyRunner;
}

/** A plan that is to be judged. */
interface JudgedPlan {
  readonly stack: StackReference;
  readonly stackName: string;
  readonly run: Run;
  readonly planDigest: string;
  /** Values that nothing may show. */
  readonly secrets: () => Promise<readonly string[]>;
}

/** The sets that judge the plans of a stack, by their names. */
async function setsFor(
  { storage }: JudgeParts,
  { stack: { account, project }, stackName }: JudgedPlan,
): Promise<readonly PolicySet[]> {
  const { type } = SERVER_KINDS.policySet;
  const listed = await storage.list("strong", type, tenancyOf({ kind: "account", account }), "");
  return listed
    .map((one) => decodeRecord(SERVER_KINDS.policySet, one))
    .filter((set) => set.version !== "" && judges(set, project, stackName))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Judges the plan of a run by all sets that are for its stack; undefined where there are none. The server itself makes the document from
 * the stored plan: what an executor says about a plan is not what is applied.
 */
export async function judgePlan(
  parts: JudgeParts,
  plan: JudgedPlan,
): Promise<PolicyResult | undefined> {
  const sets = await setsFor(parts, plan);
  if (sets.length === 0) return undefined;
  const input = await inputOf(parts, plan);
  const judged = await Promise.all(
    sets.map(async (set) => {
      const facts = {
        set: set.name,
        version: set.version,
        enforcement: set.enforcement,
        overrideRole: set.overrideRole,
      };
      const version = set.versions.find(({ digest }) => digest === set.version);
      const verdict =
        typeof input === "string" ? errored(input) : await judgeInput(parts, version, input);
      return PolicySetResult.create({ ...facts, ...verdict });
    }),
  );
  return {
    planDigest: plan.planDigest,
    inputDigest: typeof input === "string" ? "" : createHash("sha256").update(input).digest("hex"),
    sets: fitted(judged),
    override: undefined,
    atMs: BigInt(Math.floor(parts.clock.wallMs())),
  };
}

/** The document for the plan of a run, or why there is none. */
export async function inputOf(
  { storage, blobs, keys, clock }: JudgeParts,
  { stack, stackName, run, planDigest, secrets }: JudgedPlan,
): Promise<Uint8Array<ArrayBuffer> | string> {
  const states = createStackStates({
    storage,
    blobs,
    ciphers: keys,
    // Reading needs no lease, so that nothing is written with this name.
    owner: "policies",
    scheduler: clock,
  });
  let rendered: string | undefined;
  try {
    rendered = await renderPolicyPlan(states.stack(stack), planDigest, await secrets());
  } catch (error) {
    if (!isServerError(error, "too_large")) throw error;
    return error.message;
  }
  if (rendered === undefined) return "the plan is not stored";
  return policyInput(rendered, { project: stack.project, stackName, run });
}

type Verdict = Pick<PolicySetResult, "outcome" | "findings" | "cut" | "error">;

/** How one version of a set judges a document. */
export async function judgeInput(
  { blobs, policies }: Pick<JudgeParts, "blobs" | "policies">,
  version: PolicyVersion | undefined,
  input: Uint8Array<ArrayBuffer>,
): Promise<Verdict> {
  if (version === undefined) return errored("the version of the set is gone");
  const { programSha256, dataSha256, entrypoints } = version;
  const program = await readBlob(blobs, programSha256);
  const data = dataSha256 === "" ? undefined : await readBlob(blobs, dataSha256);
  const outcome = await policies.evaluate({ program, data, input, entrypoints });
  if (outcome.kind === "error") return errored(outcome.text);
  const { findings, cut, isForbidden } = outcome.answer;
  return {
    outcome: isForbidden
      ? PolicySetResult_Outcome.OUTCOME_FAILED
      : PolicySetResult_Outcome.OUTCOME_PASSED,
    findings: [...findings],
    cut,
    error: "",
  };
}

function errored(error: string): Verdict {
  return { outcome: PolicySetResult_Outcome.OUTCOME_ERRORED, findings: [], cut: 0, error };
}

/** Characters of all findings of a run: what is beyond is counted with its set. */
const ROOM = 49_152;

function fitted(sets: readonly PolicySetResult[]): PolicySetResult[] {
  let room = ROOM;
  return sets.map((set) => {
    const kept = set.findings.filter(({ rule, message, address }) => {
      // Characters of a text are up to three bytes each.
      room -= Buffer.byteLength(rule + message + address) + 8;
      return room >= 0;
    });
    return { ...set, findings: kept, cut: set.cut + set.findings.length - kept.length };
  });
}

async function readBlob(blobs: BlobStore, sha256: string): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of blobs.read(sha256)) chunks.push(chunk);
  return Uint8Array.from(Buffer.concat(chunks));
}
