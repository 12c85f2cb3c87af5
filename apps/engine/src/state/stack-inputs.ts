import type { CallOptions } from "@stackwright/storage";
import { EngineError } from "../errors.ts";
import type { StackOutput, StackReference } from "./stack-state.ts";
import type { StackStates } from "./stack-states.ts";

/** What a plan took from another stack, and where that stack's outputs stood then. */
export interface RecordedInput {
  readonly stack: StackReference;
  /** The head revision that published the outputs. */
  readonly revision: bigint;
}

/**
 * Outputs of other stacks for one plan. A stack is looked at once, so that everything in a plan sees the same of it, and what
 * was looked at is recorded.
 */
export class StackInputs {
  readonly #states: StackStates;
  readonly #seen = new Map<string, Promise<Published>>();

  constructor(states: StackStates) {
    this.#states = states;
  }

  /** What a stack publishes; nothing for one that has never published. */
  async outputs(stack: StackReference, options?: CallOptions): Promise<Published["outputs"]> {
    const key = nameOf(stack);
    let published = this.#seen.get(key);
    if (published === undefined) {
      published = this.#look(stack, options);
      this.#seen.set(key, published);
    }
    return (await published).outputs;
  }

  /** Everything that was looked at, in the order of the stacks' names. */
  async recorded(): Promise<readonly RecordedInput[]> {
    const seen = await Promise.all(this.#seen.values());
    return seen
      .map(({ stack, revision }) => ({ stack, revision }))
      .sort((a, b) => (nameOf(a.stack) < nameOf(b.stack) ? -1 : 1));
  }

  async #look(stack: StackReference, options?: CallOptions): Promise<Published> {
    const { head, outputs } = await this.#states.stack(stack).outputs(options);
    return { stack, revision: head.revision, outputs };
  }
}

interface Published extends RecordedInput {
  readonly outputs: ReadonlyMap<string, StackOutput>;
}

/**
 * Whether all stacks still publish what a plan was made with. `ENGINE_PLAN_STALE` names those that do not. To be called under
 * the fence of the planned stack, before the first write; a stack that publishes later is a reason for another plan.
 */
export async function checkInputs(
  states: StackStates,
  inputs: readonly RecordedInput[],
  options?: CallOptions,
): Promise<void> {
  const found = await Promise.all(
    inputs.map(async ({ stack, revision }) => {
      const { head } = await states.stack(stack).outputs(options);
      return head.revision === revision
        ? []
        : [`${nameOf(stack)} (${revision}, now ${head.revision})`];
    }),
  );
  const changed = found.flat();
  if (changed.length === 0) return;
  throw new EngineError(
    "ENGINE_PLAN_STALE",
    `outputs that the plan was made with were published again: ${changed.join(", ")}`,
    { details: { problems: changed } },
  );
}

function nameOf({ account, project, stack }: StackReference): string {
  return `${account}/${project}/${stack}`;
}
