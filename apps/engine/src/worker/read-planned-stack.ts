import {
  createStackStates,
  decodePlan,
  encodePlannedOutputs,
  plannedOutputs,
  type StoredKeys,
} from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import type { BlobStore } from "@stackwright/storage/blob";
import type { OtherStack } from "../executor/other-stacks.ts";
import { notePlannedRead } from "../plan-set/note-planned-read.ts";
import type { RunClaim } from "../queue/claim.ts";
import type { TransactionParts } from "../queue/transaction.ts";

interface PlannedReadingParts extends TransactionParts {
  readonly blobs: BlobStore;
  readonly keys: StoredKeys;
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
  const { storage, blobs, keys } = parts;
  const { stack } = read.reference;
  const states = createStackStates({ storage, blobs, ciphers: keys, owner: "reader" });
  const stored = await states.stack(stack).plan(read.planDigest);
  if (stored === undefined) {
    throw unavailable(`the plan of the stack "${name}" was deleted; request another plan set`);
  }
  const outputs = plannedOutputs(decodePlan(stored.bytes));
  if (outputs === undefined) return undefined;
  const revision = read.baseRevision.toString();
  return {
    stack,
    name: read.name,
    // Of an executor that does not know planned outputs: it refuses, as of a stack that was never applied.
    head: "0",
    revision: "0",
    outputs: [],
    planned: { revision, outputs: encodePlannedOutputs(outputs) },
  };
}

function unavailable(why: string): EngineError {
  return new EngineError("ENGINE_INPUT_UNAVAILABLE", why);
}
