import type { Diff } from "./diff.ts";

/** Version of the form; members may be added to a version, none change their meaning. */
export const PLAN_VIEW_FORMAT = "stackwright.plan-view/1";

/**
 * A plan as a document for the users and programs that decide about it. JSON; without sensitive values, so it may be stored
 * unencrypted and sent. What is executed is the stored plan and not this; `planDigest` names it.
 */
export interface PlanView {
  readonly format: typeof PLAN_VIEW_FORMAT;
  /** Digest of the stored plan; empty for a plan that is not stored. */
  readonly planDigest: string;
  /** Id of the stack. */
  readonly stack: string;
  /** Revision of the state that the plan was made from, in decimal. */
  readonly revision: string;
  readonly mode: "normal" | "refresh-only" | "destroy";
  /** Only a part of the configuration was planned. */
  readonly partial: boolean;
  /** What is left to a later stage, as it cannot be planned before this one was applied. Absent: nothing. */
  readonly deferred?: readonly DeferredView[];
  readonly createdAtMs: number;
  readonly summary: PlanCounts;
  /** Changes that cause others, most first. */
  readonly rootCauses: readonly RootCause[];
  /** Positions in `changes`, by risk and then by module and type. */
  readonly groups: readonly ChangeGroup[];
  /** In the order of the plan: dependencies first. */
  readonly changes: readonly ChangeView[];
  /** Records that get another address although no change is about their objects. Absent: none. */
  readonly moves?: readonly MoveView[];
  readonly outputs: readonly OutputView[];
  readonly drift: readonly DriftView[];
  /** Conditions that failed, or that are decided during apply. */
  readonly checks: readonly CheckView[];
}

/** How many objects of what. */
export interface PlanCounts {
  readonly create: number;
  readonly update: number;
  readonly replace: number;
  readonly delete: number;
  readonly forget: number;
  readonly import: number;
  readonly move: number;
  readonly read: number;
}

export type ViewAction = "no-op" | "create" | "read" | "update" | "replace" | "delete" | "forget";

export interface ChangeView {
  readonly address: string;
  /** Key of a deposed object. */
  readonly deposed?: string;
  readonly previousAddress?: string;
  readonly mode: "managed" | "data";
  readonly type: string;
  readonly name: string;
  /** Address of the module instance; empty for the root. */
  readonly module: string;
  readonly action: ViewAction;
  /** Of a replacement. */
  readonly order?: "create-first" | "delete-first";
  readonly importing?: { readonly id: string };
  /** Why it happens: a sentence without its full stop; absent where the configuration of the object changed. */
  readonly reason?: string;
  readonly causes: readonly CauseView[];
  /** Provisioners that run with the change, in their order. */
  readonly provisioners?: readonly ProvisionerView[];
  /** Paths whose change needs a new object, as texts. */
  readonly replacePaths: readonly string[];
  readonly body: Diff;
  readonly risk: Risk;
  /** Equal for changes that differ in nothing but their instance keys and in what follows from these. */
  readonly likeness: string;
}

/** A provisioner that runs with a change. */
export interface ProvisionerView {
  readonly when: "create" | "destroy";
  readonly type: string;
  readonly onFailure: "fail" | "continue";
  readonly summary?: string;
}

/** Why an attribute changes. */
export interface CauseView {
  readonly path: string;
  /** Whether the change of this attribute needs a new object. */
  readonly replaces: boolean;
  /** Changes of the same plan that it follows from, up to the one that begins the chain. */
  readonly chain: readonly string[];
}

export interface RootCause {
  readonly address: string;
  /** Number of changes that follow from it. */
  readonly explains: number;
}

/** How much there is to lose. For order and attention; it is no policy. */
export interface Risk {
  /** 0 to 100. */
  readonly score: number;
  readonly reasons: readonly string[];
}

/** Changes that are shown together. */
export interface ChangeGroup {
  readonly risk: RiskClass;
  readonly entries: readonly GroupEntry[];
}

export type RiskClass = "data-loss" | "high" | "destructive" | "notable" | "ordinary";

/** One change, or several that are alike. */
export interface GroupEntry {
  /** Positions in `changes`, at least one. The first one stands for all. */
  readonly changes: readonly number[];
  /** Attributes in which folded changes differ, as paths. */
  readonly varies: readonly string[];
}

/** A resource or a call of a module that is left to a later stage. */
export interface DeferredView {
  /** Without instance keys. */
  readonly address: string;
  /** Why: a sentence without its full stop. */
  readonly because: string;
}

/** A record that gets another address. */
export interface MoveView {
  readonly from: string;
  readonly to: string;
}

export interface OutputView {
  readonly name: string;
  readonly body: Diff;
}

export interface DriftView {
  readonly address: string;
  readonly deposed?: string;
  readonly type: string;
  /** Whether a planned change has to do with it. */
  readonly relevant: boolean;
  /** Of an object that is gone: `remove`. */
  readonly body: Diff;
}

export interface CheckView {
  readonly address: string;
  readonly kind: string;
  readonly status: "fail" | "unknown" | "error";
  readonly message?: string;
}
