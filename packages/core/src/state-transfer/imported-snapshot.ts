import type { TerraformState } from "@stackwright/tfstate";
import { EngineError } from "../errors.ts";
import { reduceChange } from "../state/reduce-change.ts";
import type { StackReference, StackSnapshot, StackState } from "../state/stack-state.ts";
import { objectKey, type StateObject } from "../state/state-object.ts";
import { importState } from "./import-state.ts";

/**
 * A state file as the state of a stack that exists only in memory, for a plan before anything is recorded. It cannot be
 * written. `ENGINE_STATE_FILE_INVALID`.
 */
export function importedState(reference: StackReference, file: TerraformState): StackState {
  const { changes, outputs } = importState(file);
  const objects = new Map<string, StateObject>();
  const context = { run: "", epoch: 0n, revision: 1n, nowMs: Date.now() };
  const vacant = { get: () => undefined, dependentsOf: () => [] };
  for (const change of changes) {
    for (const { key, after } of reduceChange(vacant, change, context)) {
      if (after !== undefined) objects.set(objectKey(key), after);
    }
  }
  const head = { revision: 1n, run: "" };
  const snapshot: StackSnapshot = { head, objects, outputs, epoch: 0n };
  const refuse = async (): Promise<never> => {
    throw new EngineError("ENGINE_STATE_TRANSITION", "the state is not recorded yet");
  };
  return {
    reference,
    head: async () => head,
    read: async () => snapshot,
    object: async (key) => objects.get(objectKey(key)),
    outputs: async () => ({ head, outputs }),
    history: async () => [],
    changes: async () => undefined,
    plan: async () => undefined,
    storePlan: refuse,
    acquire: refuse,
    tryAcquire: async () => undefined,
  };
}
