import type { RfsCaller } from "./rfs-stacks-port.ts";
import type { RfsConfiguration, RfsRunPhase, RfsStack } from "./stack-port.ts";

/** A plan that has a name. */
export interface RfsPlan {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly createdAtMs: number;
  /** 0 before it is applied. */
  readonly appliedAtMs: number;
  readonly phase: RfsRunPhase;
  readonly reason: string;
  /** It has objects that change. */
  readonly hasPlan: boolean;
  readonly counts: {
    readonly add: number;
    readonly update: number;
    readonly delete: number;
    readonly import: number;
  };
}

export interface RfsPlanItem {
  readonly type: string;
  readonly name: string;
  readonly index: string;
  readonly mode: "DATA" | "RESOURCE";
  readonly action: string;
  readonly reason: string;
  readonly providerName: string;
  readonly id: string;
  readonly drifted: boolean;
  readonly imported: boolean;
  readonly attributes: readonly {
    readonly name: string;
    readonly before: string;
    readonly after: string;
  }[];
}

/** Execution plans. */
export interface PlanPort {
  find(caller: RfsCaller, stack: RfsStack, name: string): Promise<RfsPlan | undefined>;
  list(caller: RfsCaller, stack: RfsStack): Promise<readonly RfsPlan[]>;
  /** Returns its id; `taken` for the name of another one, `busy` while the stack is in progress. */
  create(
    caller: RfsCaller,
    stack: RfsStack,
    given: { readonly name: string; readonly description: string } & RfsConfiguration,
    signal: AbortSignal,
  ): Promise<{ readonly id: string } | "taken" | "busy">;
  items(caller: RfsCaller, stack: RfsStack, plan: RfsPlan): Promise<readonly RfsPlanItem[]>;
  /** Returns the id of the deployment. */
  apply(caller: RfsCaller, stack: RfsStack, plan: RfsPlan): Promise<string>;
  remove(caller: RfsCaller, stack: RfsStack, plan: RfsPlan): Promise<void>;
}
