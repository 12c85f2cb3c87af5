import { type CallOptions, isStorageError } from "@stackwright/storage";
import { EngineError, isEngineError } from "../errors.ts";
import type { StackInput, StackOutput, StackReference, StackState } from "./stack-state.ts";

/** How a template names another stack. */
export interface StackName {
  readonly stack: string;
  /** @default the project of the stack that reads */
  readonly project?: string;
}

/** Another stack, as far as readers of its outputs need it. */
export type PublishingStack = Pick<StackState, "reference" | "head" | "outputs">;

/** Finds a stack by its name; undefined where there is none. */
export type StackFinder = (
  name: StackName,
  options?: CallOptions,
) => Promise<PublishingStack | undefined>;

/** How a state of another command is known: by what it says of itself, or by the digest of its place. */
export type FormerState = { readonly lineage: string } | { readonly placeDigest: string };

/** The stack that has adopted a state; undefined where none has. */
export type AdopterFinder = (
  state: FormerState,
  options?: CallOptions,
) => Promise<StackName | undefined>;

/** What a stack publishes, with the revision that published it. */
export interface PublishedStack extends StackInput {
  readonly values: ReadonlyMap<string, StackOutput>;
}

export interface StackInputsOptions {
  readonly find: StackFinder;
  /** @default no state was adopted */
  readonly findAdopter?: AdopterFinder;
  /** The stack that reads: it cannot read itself. */
  readonly reader?: StackReference;
  /** What an approved plan was made with: what is read now has to be the same. */
  readonly expected?: readonly StackInput[];
}

/**
 * Outputs of other stacks for one plan or one apply. A stack is read once, so that all readers see the same of it, and
 * what was read is recorded.
 */
export class StackInputs {
  readonly #options: StackInputsOptions;
  readonly #seen = new Map<string, Promise<PublishedStack>>();

  constructor(options: StackInputsOptions) {
    this.#options = options;
  }

  /**
   * What a stack publishes. `ENGINE_INPUT_UNAVAILABLE` says why it is not available: there is no such stack, it was
   * never applied, or reading is not allowed. `ENGINE_PLAN_STALE` where it is not what the plan was made with.
   */
  async read(name: StackName, options?: CallOptions): Promise<PublishedStack> {
    const key = `${name.project ?? ""}\0${name.stack}`;
    let seen = this.#seen.get(key);
    if (seen === undefined) {
      seen = this.#look(name, options);
      this.#seen.set(key, seen);
    }
    return seen;
  }

  /** As {@link read}, of the stack that has adopted a state; undefined where none has. */
  async readAdopter(
    state: FormerState,
    options?: CallOptions,
  ): Promise<PublishedStack | undefined> {
    const name = await this.#options.findAdopter?.(state, options);
    return name && (await this.read(name, options));
  }

  /** Everything that was read, in the order of the stacks' names. */
  async recorded(): Promise<readonly StackInput[]> {
    const seen = await Promise.allSettled(this.#seen.values());
    const inputs = seen.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    return mergeInputs(
      inputs.map(({ stack, name, revision, outputs }) => ({ stack, name, revision, outputs })),
    );
  }

  async #look(name: StackName, options?: CallOptions): Promise<PublishedStack> {
    const { find, reader, expected } = this.#options;
    try {
      const found = await find(name, options);
      if (found === undefined) throw unavailable(name, "there is no such stack");
      const { reference } = found;
      if (reader !== undefined && stackKey(reader) === stackKey(reference)) {
        throw unavailable(name, "a stack cannot read its own outputs");
      }
      const { head, outputs } = await found.outputs(options);
      if (head.revision === 0n && (await found.head(options)).revision === 0n) {
        throw unavailable(name, "it was never applied");
      }
      const planned = expected?.find(({ stack }) => stackKey(stack) === stackKey(reference));
      if (planned !== undefined && planned.revision !== head.revision) {
        throw stale([changeOf(planned, head.revision)]);
      }
      return {
        stack: reference,
        name: name.stack,
        revision: head.revision,
        outputs: [...outputs.keys()].toSorted(),
        values: outputs,
      };
    } catch (error) {
      if (isStorageError(error, "STORAGE_PERMISSION_DENIED")) {
        throw unavailable(name, "permission denied", error);
      }
      if (isEngineError(error, "ENGINE_KEY_UNAVAILABLE")) {
        throw unavailable(name, `its secrets cannot be decrypted here: ${error.message}`, error);
      }
      throw error;
    }
  }
}

/** Inputs of several readings, one for each stack, in the order of their names. */
export function mergeInputs(...lists: readonly (readonly StackInput[])[]): readonly StackInput[] {
  const byStack = new Map(lists.flat().map((input) => [stackKey(input.stack), input]));
  return [...byStack.values()].toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}

/**
 * Whether all stacks are still there under their names and publish what a plan was made with. `ENGINE_PLAN_STALE` names those
 * that are not and do not. To be called under the fence of the planned stack, before the first write; a stack that publishes
 * later is a reason for another plan.
 */
export async function checkInputs(
  find: StackFinder,
  inputs: readonly StackInput[],
  options?: CallOptions,
): Promise<void> {
  const found = await Promise.all(
    inputs.map(async (input) => {
      const { project } = input.stack;
      const present = await find({ stack: input.name, project }, options);
      if (present === undefined) return [`the stack "${input.name}" no longer exists`];
      if (stackKey(present.reference) !== stackKey(input.stack)) {
        return [`the stack "${input.name}" is another one now`];
      }
      const { head } = await present.outputs(options);
      return head.revision === input.revision ? [] : [changeOf(input, head.revision)];
    }),
  );
  if (found.flat().length > 0) throw stale(found.flat());
}

function changeOf({ name, revision }: StackInput, now: bigint): string {
  return `the stack "${name}" has published other outputs (revision ${now}, the plan has ${revision})`;
}

function stale(problems: readonly string[]): EngineError {
  return new EngineError(
    "ENGINE_PLAN_STALE",
    `what the plan was made with has changed: ${problems.join("; ")}; make a new plan`,
    { details: { problems } },
  );
}

function unavailable({ stack, project }: StackName, why: string, cause?: unknown): EngineError {
  const place = project === undefined ? "" : ` of project "${project}"`;
  return new EngineError(
    "ENGINE_INPUT_UNAVAILABLE",
    `the outputs of the stack "${stack}"${place} cannot be read: ${why}`,
    cause === undefined ? {} : { cause },
  );
}

function stackKey({ account, project, stack }: StackReference): string {
  return `${account}/${project}/${stack}`;
}

function sortKey({ stack, name }: StackInput): string {
  return [stack.account, stack.project, name, stack.stack].join("\0");
}
