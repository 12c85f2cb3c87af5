import {
  createStackStates,
  decodePlan,
  type EncodedOutput,
  encodePlannedOutputs,
  plannedOutputs,
  type StackReference,
  type StoredKeys,
} from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import type { BlobStore } from "@stackwright/storage/blob";
import type { OtherStack } from "../executor/other-stacks.ts";
import { notePlannedRead } from "../plan-set/note-planned-read.ts";
import type { RunClaim } from "../queue/claim.ts";
import type { TransactionParts } from "../queue/transaction.ts";

/** What a stored plan of a stack will publish: undefined where that stays as it is, `deleted` where there is no such plan. */
export type ReadPlannedOutputs = (
  stack: StackReference,
  planDigest: string,
) => Promise<readonly EncodedOutput[] | "deleted" | undefined>;

interface PlannedReadingParts extends TransactionParts {
  readonly blobs: BlobStore;
  readonly keys: StoredKeys;
  /** How plans are read. @default from the state of the stack */
  readonly readPlannedOutputs?: ReadPlannedOutputs;
}

/**
 * What a stack will publish that is in one plan set with the reader, by its plan, unknown parts included; undefined for a stack of no
 * set, and for one that publishes what it did. `ENGINE_INPUT_UNAVAILABLE` where its plan is still to be made, with which the reader is planned again;
 * where it has none; and where both would read each other.
 */
export async function readPlannedStack(
  parts: PlannedReadingParts,
  claim: RunClaim,
  name: string,
): Promise<OtherStack | undefined> {
  const read = await notePlannedRead(parts, claim, name);
  switch (read.kind) {
    case "as-is":
      return undefined;
    case "waits":
      throw unavailable(
        `outputs of the stack "${name}" are not planned yet; this stack is planned again once they are`,
      );
    case "failed":
      throw unavailable(
        `the outputs of the stack "${name}" are not known: it could not be planned`,
      );
    case "circle": {
      const names = read.names.map((one) => `"${one}"`).join(" reads ");
      throw unavailable(`stacks read one another in a circle: ${names}`);
    }
    case "planned":
      break;
    default:
      return read satisfies never;
  }
  const { stack } = read.reference;
  const outputs = await (parts.readPlannedOutputs ?? storedOutputs(parts))(stack, read.planDigest);
  if (outputs === "deleted") {
    throw unavailable(`the plan of the stack "${name}" was deleted; request another plan set`);
  }
  if (outputs === undefined) return undefined;
  const revision = read.baseRevision.toString();
  return {
    stack,
    name: read.name,
    // Of an executor that does not know planned outputs: it refuses, as of a stack that was never applied.
    head: "0",
    revision: "0",
    outputs: [],
    planned: { revision, outputs },
  };
}

function storedOutputs({ storage, blobs, keys }: PlannedReadingParts): ReadPlannedOutputs {
  return async (stack, planDigest) => {
    const states = createStackStates({ storage, blobs, ciphers: keys, owner: "reader" });
    const stored = await states.stack(stack).plan(planDigest);
    if (stored === undefined) return "deleted";
    const outputs = plannedOutputs(decodePlan(stored.bytes));
    return outputs && encodePlannedOutputs(outputs);
  };
}

function unavailable(why: string): EngineError {
  return new EngineError("ENGINE_INPUT_UNAVAILABLE", why);
}
