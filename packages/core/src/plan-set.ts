import { EngineError } from "./errors.ts";
import type { Plan } from "./plan/plan.ts";
import { plannedOutputs } from "./plan/planned-outputs.ts";
import type { PlannedStack, PlannedStackFinder, StackName } from "./state/stack-inputs.ts";
import type { StackReference } from "./state/stack-state.ts";

/** A plan of one stack of a set. */
export interface SetPlan {
  readonly reference: StackReference;
  readonly plan: Plan;
}

/** A stack of a set. */
export interface SetMember<P extends SetPlan> {
  readonly name: string;
  /** Makes its plan; undefined where there is none, which has been shown. */
  readonly make: (planned: PlannedStackFinder) => Promise<P | undefined>;
}

/**
 * Plans of several stacks of one project, each made with the planned outputs of the others that it reads. The plan of a stack is made
 * when another one reads it, or when it is its turn; once. Invariant: {@link made} has each plan behind those that it was made with.
 */
export class PlanSet<P extends SetPlan> {
  /** In the order in which they may be applied. */
  readonly made: P[] = [];
  readonly #members: ReadonlyMap<string, SetMember<P>>;
  readonly #project: string;
  readonly #plans = new Map<string, Promise<P | undefined>>();
  readonly #reads = new Map<string, Set<string>>();

  /** @param project of all members */
  constructor(members: readonly SetMember<P>[], project: string) {
    this.#members = new Map(members.map((member) => [member.name, member]));
    this.#project = project;
  }

  /** Makes the plans of all; false where one could not be made. */
  async make(): Promise<boolean> {
    let isWhole = true;
    for (const member of this.#members.values()) {
      // Rejections of what another one reads are those of its reader, too.
      if ((await this.#planOf(member)) === undefined) isWhole = false;
    }
    return isWhole;
  }

  async #planOf(member: SetMember<P>): Promise<P | undefined> {
    const { name } = member;
    let plan = this.#plans.get(name);
    if (plan === undefined) {
      plan = this.#make(member);
      this.#plans.set(name, plan);
    }
    return plan;
  }

  async #make({ name, make }: SetMember<P>): Promise<P | undefined> {
    const made = await make(async (other) => this.#read(name, other));
    if (made !== undefined) this.made.push(made);
    return made;
  }

  async #read(reader: string, { stack, project }: StackName): Promise<PlannedStack | undefined> {
    const member = this.#members.get(stack);
    if (member === undefined || (project ?? this.#project) !== this.#project) return undefined;
    // That a stack cannot read itself is said where it reads.
    if (stack === reader) return undefined;
    const path = this.#pathBetween(stack, reader);
    if (path !== undefined) {
      const names = [reader, ...path].map((name) => `"${name}"`).join(" reads ");
      throw new EngineError(
        "ENGINE_INPUT_UNAVAILABLE",
        `stacks read one another in a circle: ${names}`,
      );
    }
    const reads = this.#reads.get(reader) ?? new Set();
    this.#reads.set(reader, reads.add(stack));
    const made = await this.#planOf(member).catch(() => undefined);
    if (made === undefined) {
      throw new EngineError(
        "ENGINE_INPUT_UNAVAILABLE",
        `the outputs of the stack "${stack}" are not known: it could not be planned`,
      );
    }
    const outputs = plannedOutputs(made.plan);
    return outputs && { reference: made.reference, revision: made.plan.revision, outputs };
  }

  /** How one stack reads another one, directly or through others. */
  #pathBetween(from: string, to: string): readonly string[] | undefined {
    const paths = [[from]];
    const seen = new Set([from]);
    for (const path of paths) {
      const last = path.at(-1) ?? from;
      if (last === to) return path;
      for (const next of this.#reads.get(last) ?? []) {
        if (seen.has(next)) continue;
        seen.add(next);
        paths.push([...path, next]);
      }
    }
    return undefined;
  }
}
