import type { Value } from "@stackwright/cty";
import type { Diagnostic, FileRead } from "@stackwright/lang";
import type { ProviderReference } from "@stackwright/mux/router";
import type { CheckResult } from "../state/check-result.ts";
import type { StackInput } from "../state/stack-state.ts";
import type { RecordedKeys } from "../walk/keys.ts";
import type { Drift, OutputChange, ResourceChange } from "./change.ts";

/** What the plan is for: applying the configuration, a refresh alone, or destroying all objects. */
export type PlanMode = "normal" | "refresh-only" | "destroy";

/**
 * Which objects are refreshed before planning: all, those whose last refresh is longer ago than a duration, none. An
 * object that was never refreshed counts as infinitely old.
 */
export type ReadPolicy =
  | { readonly kind: "always" }
  | { readonly kind: "older-than"; readonly ageMs: number }
  | { readonly kind: "never" };

/** What a caller requests a plan for. */
export interface PlanOptions {
  /** @default "normal" */
  readonly mode?: PlanMode;
  /** @default always */
  readonly read?: ReadPolicy;
  /** Addresses of modules, resources or instances: only these and what they depend on. */
  readonly targets?: readonly string[];
  /** Addresses of modules, resources or instances: all but these and what depends on them. */
  readonly excludes?: readonly string[];
  /** Addresses of instances that are to be replaced. */
  readonly replace?: readonly string[];
  /**
   * What cannot be planned before something else was applied, as its instances or the configuration of its provider are not known, is left
   * to a later plan. @default false: it is an error, or left to the provider
   */
  readonly staged?: boolean;
  /**
   * Source addresses, or the ends of them, of providers that are known to be pure: asked to plan an object that is as it was recorded, by a configuration that
   * asks for nothing else, they answer with that object, its private data and its identity. They are asked about one such object of each type, and where the answer is that, not about
   * the others. One without a version is asked about all. @default none: every provider is asked about every object
   */
  readonly pureProviders?: readonly string[];
}

/** A resource or a call of a module that is left to a later stage. */
export interface DeferredPart {
  /** Without keys. */
  readonly address: string;
  readonly because: string;
  /** Of a resource that would be replaced: objects that are left to a later stage and need it by record. */
  readonly neededBy?: readonly string[];
}

/** The instances of a resource or module call in one instance of a module, frozen. */
export interface PlannedExpansion {
  /** Of the resource or call, without a key: `module.a[0].aws_vpc.b`, `module.a[0].module.c`. */
  readonly address: string;
  readonly keys: RecordedKeys;
}

/** A provider that a plan was made with. */
export interface PlannedProvider extends ProviderReference {
  /** What the version was, where its number can come to mean something else; applying checks that it is the same. */
  readonly identity?: string;
}

/**
 * A plan: immutable, complete, and bound to one revision of one stack's state and to one configuration. Applying does
 * what stands here, or less, and never anything else.
 */
export interface Plan {
  readonly stack: string;
  /** The idle state that it was created from. */
  readonly revision: bigint;
  readonly createdAtMs: number;
  readonly mode: PlanMode;
  /** Only a part of the configuration was planned: targets or excludes were given. */
  readonly partial: boolean;
  readonly options: Required<Pick<PlanOptions, "targets" | "excludes" | "replace">>;
  /** Digest of the configuration files of all called modules; absent for a plan without one. */
  readonly configDigest?: string;
  /** What functions read for it; applying checks that it is the same. Absent in plans of release 0.1.0. */
  readonly files?: readonly FileRead[];
  readonly workspace: string;
  /** Values of the root variables, without ephemeral ones, which are given again. */
  readonly variables: ReadonlyMap<string, Value>;
  /** Ephemeral variables that had a value in place of their default: they need one again. Absent where that was not recorded. */
  readonly givenEphemeral?: readonly string[];
  /** Exact versions, by source. */
  readonly providers: readonly PlannedProvider[];
  readonly expansions: readonly PlannedExpansion[];
  /** Outputs of modules that are null, or that the plan is not about: `module.a["k"].output.b`. Absent: none. */
  readonly emptyOutputs?: readonly string[];
  /** What is left to a later stage. Absent: nothing. */
  readonly deferred?: readonly DeferredPart[];
  /** In the order of the walk: dependencies first. One for each (address, deposed key). */
  readonly changes: readonly ResourceChange[];
  /**
   * Records that get another address although the plan is not about their objects: of what is left out or unresolved. A
   * move that waited could be blocked for ever by what the plan makes at its new address. Absent: none.
   */
  readonly moves?: readonly RecordMove[];
  /** Values of instances that a partial plan is not about, by address, for those that it is about. */
  readonly known: ReadonlyMap<string, Value>;
  readonly outputs: readonly OutputChange[];
  readonly drift: readonly Drift[];
  readonly checks: readonly CheckResult[];
  /** Outputs of other stacks that it was made with; applying checks that they are the same. */
  readonly inputs: readonly StackInput[];
}

/** A record that gets another address. */
export interface RecordMove {
  readonly from: string;
  readonly to: string;
}

/** How many of what. */
export interface PlanSummary {
  readonly create: number;
  readonly update: number;
  readonly replace: number;
  readonly delete: number;
  readonly read: number;
  readonly import: number;
  readonly move: number;
  readonly forget: number;
}

export function summarizePlan({
  changes,
  moves = [],
}: Pick<Plan, "changes" | "moves">): PlanSummary {
  const count = (test: (change: ResourceChange) => boolean) => changes.filter(test).length;
  const byAction = (action: ResourceChange["action"]) =>
    count((change) => change.action === action);
  return {
    create: byAction("create"),
    update: byAction("update"),
    replace: byAction("replace"),
    delete: byAction("delete"),
    read: byAction("read"),
    import: count(({ importing }) => importing !== undefined),
    move: count(({ previousAddress }) => previousAddress !== undefined) + moves.length,
    forget: byAction("forget"),
  };
}

/** Whether applying the plan would do anything that is worth an approval. */
export function hasChanges(
  plan: Pick<Plan, "mode" | "changes" | "outputs" | "drift" | "moves">,
): boolean {
  if (plan.mode === "refresh-only") {
    return plan.drift.length > 0 || plan.outputs.some(({ action }) => action !== "no-op");
  }
  return (
    plan.changes.some(
      ({ action, previousAddress, importing }) =>
        action !== "no-op" || previousAddress !== undefined || importing !== undefined,
    ) ||
    plan.outputs.some(({ action }) => action !== "no-op") ||
    (plan.moves ?? []).length > 0
  );
}

/** A plan, or the reasons why there is none. Warnings come with either. */
export interface PlanResult {
  readonly plan: Plan | undefined;
  readonly diagnostics: readonly Diagnostic[];
}
