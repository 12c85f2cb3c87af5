import {
  type AdopterFinder,
  type ApplyStatus,
  decodePlannedOutputs,
  type EncodedOutput,
  type FormerState,
  type PlannedStackFinder,
  type RevisionEntry,
  type StackFinder,
  type StackName,
  type StackReference,
} from "@stackwright/core";

/** What a stack publishes, as an executor gets it from its worker: it does not reach the stack itself. JSON. */
export interface OtherStack {
  readonly stack: StackReference;
  readonly name: string;
  /** Revision of its state. */
  readonly head: string;
  /** With which the outputs became what they are. */
  readonly revision: string;
  /** How its last apply ended, by its history; absent where none is recorded. */
  readonly last?: {
    readonly revision: string;
    readonly status?: ApplyStatus;
    readonly complete: boolean;
  };
  /** Types and values are JSON texts. */
  readonly outputs: readonly {
    readonly name: string;
    readonly type: string;
    readonly json: string;
    readonly sensitive: boolean;
  }[];
  /** What it will publish by its plan, of a stack that is planned together with the reader; the outputs above are none then. */
  readonly planned?: {
    /** Revision that its plan was made from. */
    readonly revision: string;
    readonly outputs: readonly EncodedOutput[];
  };
}

/**
 * Asks for what another stack publishes, by its name or by the state that it has adopted; undefined where there is no such stack. Rejects
 * where it may not be read.
 */
export type ReadOtherStack = (name: StackName | FormerState) => Promise<OtherStack | undefined>;

/** Finds other stacks for the engine of an executor. */
export function otherStacks(read: ReadOtherStack): StackFinder {
  return async (name, options) => {
    options?.signal?.throwIfAborted();
    const found = await read(name);
    if (found === undefined) return undefined;
    const outputs = new Map(found.outputs.map(({ name: key, ...output }) => [key, output]));
    return {
      reference: found.stack,
      head: async () => Promise.resolve({ revision: BigInt(found.head), run: "" }),
      outputs: async () =>
        Promise.resolve({ head: { revision: BigInt(found.revision), run: "" }, outputs }),
      history: async () => Promise.resolve(found.last === undefined ? [] : [entryOf(found.last)]),
    };
  };
}

function entryOf({ revision, status, complete }: NonNullable<OtherStack["last"]>): RevisionEntry {
  return { revision: BigInt(revision), run: "", finishedAtMs: 0, changed: 0, complete, status };
}

/** Finds, for the engine of an executor, the stacks that are planned together with the one that it plans. */
export function plannedStacks(read: ReadOtherStack): PlannedStackFinder {
  return async (name) => {
    const found = await read(name);
    if (found?.planned === undefined) return undefined;
    const { revision, outputs } = found.planned;
    return {
      reference: found.stack,
      revision: BigInt(revision),
      outputs: decodePlannedOutputs(outputs),
    };
  };
}

/** Finds, for the engine of an executor, the stacks that have adopted states. */
export function otherAdopters(
  read: ReadOtherStack,
  reader: Pick<StackReference, "project">,
): AdopterFinder {
  return async (state, options) => {
    options?.signal?.throwIfAborted();
    const found = await read(state);
    if (found === undefined) return undefined;
    const { project } = found.stack;
    return { stack: found.name, ...(project !== reader.project && { project }) };
  };
}
