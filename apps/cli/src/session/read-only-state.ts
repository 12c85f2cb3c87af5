import type { StackState } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";

/**
 * A state that is only read: its fence is not acquired. It is that of a stack that does not exist yet where none is
 * given.
 */
export function readOnlyState(state: StackState | undefined): StackState {
  const refuse = async (): Promise<never> => {
    throw new EngineError("ENGINE_STATE_TRANSITION", "the state was opened for reading");
  };
  const head = { revision: 0n, run: "" };
  const outputs = new Map();
  return {
    reference: state?.reference ?? { account: "default", project: "default", stack: "" },
    head: async (options) => state?.head(options) ?? head,
    read: async (options) =>
      state?.read(options) ?? { head, objects: new Map(), outputs, epoch: 0n },
    object: async (key, options) => state?.object(key, options),
    outputs: async (options) => state?.outputs(options) ?? { head, outputs },
    history: async (options) => state?.history(options) ?? [],
    changes: async (revision, options) => state?.changes(revision, options),
    plan: async (digest, options) => state?.plan(digest, options),
    storePlan: refuse,
    acquire: refuse,
    tryAcquire: async () => undefined,
  };
}
