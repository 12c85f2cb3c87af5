import { refines, unmarkDeep, Value } from "@stackwright/cty";
import { type CallOptions, isStorageError } from "@stackwright/storage";
import { EngineError, isEngineError } from "../errors.ts";
import type { ApplyStatus } from "./apply-status.ts";
import { outputValue } from "./output-value.ts";
import type { StackInput, StackOutput, StackReference, StackState } from "./stack-state.ts";

/** How a template names another stack. */
export interface StackName {
  readonly stack: string;
  /** @default the project of the stack that reads */
  readonly project?: string;
}

/** Another stack, as far as readers of its outputs need it. */
export type PublishingStack = Pick<StackState, "reference" | "head" | "outputs" | "history">;

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

/** A stack that is planned together with others: what it will publish. */
export interface PlannedStack {
  readonly reference: StackReference;
  /** The head revision that its plan was made from. */
  readonly revision: bigint;
  /** With unknown parts; sensitive ones are marked. */
  readonly outputs: ReadonlyMap<string, Value>;
}

/** What a stack will publish by its plan; undefined where it is not planned here, or its outputs stay as they are. */
export type PlannedStackFinder = (name: StackName) => Promise<PlannedStack | undefined>;

export interface StackInputsOptions {
  readonly find: StackFinder;
  /** Stacks that are planned together with the one that reads. @default there are none */
  readonly planned?: PlannedStackFinder | undefined;
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
      inputs.map(({ stack, name, revision, outputs, planned }) => {
        return { stack, name, revision, outputs, ...(planned && { planned }) };
      }),
    );
  }

  async #look(name: StackName, options?: CallOptions): Promise<PublishedStack> {
    const { find, planned: findPlanned, reader, expected } = this.#options;
    try {
      const planned = await findPlanned?.(name);
      if (planned !== undefined) return publishedBy(planned, name);
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
      const input = expected?.find(({ stack }) => stackKey(stack) === stackKey(reference));
      const problem = input && (await problemOf(input, found, { head, outputs }, options));
      if (problem !== undefined) throw stale([problem]);
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

function publishedBy(
  { reference, revision, outputs }: PlannedStack,
  { stack: name }: StackName,
): PublishedStack {
  return {
    stack: reference,
    name,
    revision,
    outputs: [...outputs.keys()].toSorted(),
    planned: outputs,
    values: new Map(),
  };
}

/** Inputs of several readings, one for each stack, in the order of their names. */
export function mergeInputs(...lists: readonly (readonly StackInput[])[]): readonly StackInput[] {
  const byStack = new Map(lists.flat().map((input) => [stackKey(input.stack), input]));
  return [...byStack.values()].toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}

/**
 * Whether all stacks are still there under their names and publish what a plan was made with, or what it expected by their own plans.
 * `ENGINE_PLAN_STALE` names those that are not and do not. Gives the inputs as they are now. To be called under the fence of the planned
 * stack, before the first write; a stack that publishes later is a reason for another plan.
 */
export async function checkInputs(
  find: StackFinder,
  inputs: readonly StackInput[],
  options?: CallOptions,
): Promise<readonly StackInput[]> {
  const problems: string[] = [];
  const found = await Promise.all(
    inputs.map(async (input): Promise<StackInput> => {
      const { name, stack } = input;
      const present = await find({ stack: name, project: stack.project }, options);
      if (present === undefined) {
        problems.push(`the stack "${name}" no longer exists`);
        return input;
      }
      if (stackKey(present.reference) !== stackKey(stack)) {
        problems.push(`the stack "${name}" is another one now`);
        return input;
      }
      const { head, outputs } = await present.outputs(options);
      const problem = await problemOf(input, present, { head, outputs }, options);
      if (problem !== undefined) problems.push(problem);
      if (input.planned === undefined) return input;
      return { stack, name, revision: head.revision, outputs: [...outputs.keys()].toSorted() };
    }),
  );
  if (problems.length > 0) throw stale(problems.toSorted());
  return found;
}

/** Why a stack does not publish what a plan was made with; undefined where it does. */
async function problemOf(
  input: StackInput,
  stack: PublishingStack,
  { head, outputs }: Awaited<ReturnType<PublishingStack["outputs"]>>,
  options?: CallOptions,
): Promise<string | undefined> {
  const { name, revision, planned } = input;
  if (planned === undefined) {
    return head.revision === revision ? undefined : changeOf(input, head.revision);
  }
  const now = await stack.head(options);
  const last = now.run === "" ? await lastApply(stack, revision, options) : undefined;
  if (last === undefined) {
    return `the stack "${name}" was not applied, whose planned outputs the plan has`;
  }
  if (last !== "applied") {
    return `not all of the plan of the stack "${name}" was applied, whose planned outputs the plan has`;
  }
  const output = contradictedOutput(planned, outputs);
  return output === undefined
    ? undefined
    : `the output "${output}" of the stack "${name}" is not what was planned`;
}

/** Writes of a stack that are looked through for an apply: others are few, such as moves within its state. */
const LOOKED_THROUGH = 100;

/** How the last apply after a revision ended; undefined where there was none. One whose end another run determined counts as interrupted. */
async function lastApply(
  stack: PublishingStack,
  revision: bigint,
  options?: CallOptions,
): Promise<ApplyStatus | "interrupted" | undefined> {
  const entries = await stack.history({ ...options, limit: LOOKED_THROUGH });
  const last = entries.find(
    (entry) => entry.revision > revision && (entry.status !== undefined || !entry.complete),
  );
  return last && (last.status ?? "interrupted");
}

/** The first output that is not what a plan allowed; undefined where all are. Null ones are not published. */
function contradictedOutput(
  planned: ReadonlyMap<string, Value>,
  published: ReadonlyMap<string, StackOutput>,
): string | undefined {
  const names = new Set([...planned.keys(), ...published.keys()]);
  return [...names].toSorted().find((name) => {
    const [expected, output] = [planned.get(name), published.get(name)];
    if (expected === undefined) return true;
    return !refines(
      output === undefined ? Value.null(unmarkDeep(expected)[0].type) : outputValue(output),
      expected,
    );
  });
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
