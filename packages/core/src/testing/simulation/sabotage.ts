import type { LifecycleProvider } from "@stackwright/mux/router";
import type { Plan, PlanOptions } from "../../plan/plan.ts";
import type { FinishRun, StackLock, StackState, StateWriter } from "../../state/stack-state.ts";
import type { StateChange } from "../../state/state-change.ts";
import type { StateObject } from "../../state/state-object.ts";

/** A bug that is planted into a simulation, to show that it would be found. */
export interface Sabotage {
  /** Changes what is written: another step, several, or none (then the caller is told that all went well). */
  readonly write?: (
    change: StateChange,
    next: (change: StateChange) => Promise<readonly StateObject[]>,
    writer: StateWriter,
  ) => Promise<readonly StateObject[]>;
  readonly plan?: (plan: Plan) => Plan;
  /** Changes what a plan is requested for. */
  readonly options?: (options: PlanOptions) => PlanOptions;
  /** Changes what a run publishes at its end. */
  readonly finish?: (result: FinishRun | undefined) => FinishRun | undefined;
  /** Plans are applied at whatever revision the stack is. */
  readonly ignoresRevision?: boolean;
  /** Calls at the same time, whatever the limits say. */
  readonly parallelism?: number;
  /** What the engine has in place of a provider. */
  readonly provider?: (provider: LifecycleProvider) => LifecycleProvider;
  /** Writes without their guards. */
  readonly dropGuards?: boolean;
  /** Told as if it were an event. */
  readonly tell?: (secret: string) => string;
}

/** A state whose writes go through a sabotage. */
export function sabotaged(state: StackState, { write, finish }: Sabotage): StackState {
  if (write === undefined && finish === undefined) return state;
  const wrapHold = (hold: StackLock): StackLock =>
    overriding(hold, {
      begin: async (...given: Parameters<StackLock["begin"]>) => {
        const writer = await hold.begin(...given);
        return overriding(writer, {
          ...(write && {
            write: (change: StateChange) => write(change, (other) => writer.write(other), writer),
          }),
          ...(finish && { finish: (result?: FinishRun) => writer.finish(finish(result)) }),
        });
      },
    });
  return overriding(state, {
    acquire: async (...given: Parameters<StackState["acquire"]>) =>
      wrapHold(await state.acquire(...given)),
    tryAcquire: async (...given: Parameters<StackState["tryAcquire"]>) => {
      const hold = await state.tryAcquire(...given);
      return hold && wrapHold(hold);
    },
  });
}

/** The same object with some methods replaced; all others keep working on the original. */
function overriding<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get: (object, name) => {
      if (Object.hasOwn(methods, name)) return methods[name as keyof T];
      const member: unknown = Reflect.get(object, name, object);
      return typeof member === "function" ? (member.bind(object) as unknown) : member;
    },
  });
}
