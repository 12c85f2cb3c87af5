import type { Path, Value } from "@stackwright/cty";
import type { InstanceKey } from "@stackwright/lang";
import type { ProviderReference } from "@stackwright/mux/router";
import type { PlannedProvisioner } from "../provisioners/planned-provisioner.ts";
import type { Dependency, ObjectMode } from "../state/state-object.ts";

/** What happens to an object. */
export type Action = "no-op" | "create" | "read" | "update" | "replace" | "delete" | "forget";

/** Whether a replacement is there before the old object goes, or after. */
export type ReplaceOrder = "create-first" | "delete-first";

/** Why it happens, where the action alone does not say. */
export type ActionReason =
  | "replace-because-tainted"
  | "replace-by-request"
  | "replace-by-triggers"
  | "replace-because-cannot-update"
  | "delete-because-no-resource-config"
  | "delete-because-wrong-repetition"
  | "delete-because-count-index"
  | "delete-because-each-key"
  | "delete-because-no-module"
  | "delete-because-no-move-target"
  | "read-because-config-unknown"
  | "read-because-dependency-pending"
  | "read-because-check-nested";

/** Why an attribute changes. */
export interface AttributeCause {
  readonly path: Path;
  /** Whether the change of this attribute needs a new object. */
  readonly replaces: boolean;
  /**
   * What the new value depends on that changes itself, the nearest first: addresses of changes in the same plan. Empty
   * where the configuration, or the real object, changed.
   */
  readonly because: readonly string[];
}

/** Data that a provider returned in a plan and receives again. */
interface ProviderPrivateData {
  readonly priorPrivate: Uint8Array;
  readonly plannedPrivate: Uint8Array;
  readonly priorIdentity?: Value;
  readonly plannedIdentity?: Value;
}

/**
 * One planned change of one object. Values carry marks. `before` is the object as it was last seen, of the present schema;
 * `after` what it will be, with unknowns where that is decided during apply. Either is absent where there is nothing.
 */
export interface ResourceChange {
  readonly address: string;
  /** Empty for the current object. */
  readonly deposed: string;
  readonly mode: ObjectMode;
  readonly type: string;
  readonly name: string;
  /** Address of the module instance; empty for the root. */
  readonly module: string;
  readonly key: InstanceKey | undefined;
  readonly provider: ProviderReference;
  readonly action: Action;
  /** Of a replacement. */
  readonly order?: ReplaceOrder;
  readonly reason?: ActionReason;
  readonly previousAddress?: string;
  readonly importing?: { readonly id: string; readonly identity?: Value };
  readonly before?: Value;
  readonly after?: Value;
  /**
   * Places of `after` that the configuration writes as literals and does not call sensitive, though they equal or hold a secret: they are
   * shown. Absent: none.
   */
  readonly open?: readonly Path[];
  /** Paths whose change needs a new object. */
  readonly replacePaths: readonly Path[];
  readonly causes: readonly AttributeCause[];
  readonly words: ProviderPrivateData;
  readonly schemaVersion: number;
  /** What the object will depend on; what it depends on now is recorded in the state. */
  readonly dependencies: readonly Dependency[];
  readonly createBeforeDestroy: boolean;
  /** Address of the resource that needs this one to be created before it is destroyed. */
  readonly createBeforeDestroyFor?: string;
  /** What the configuration of its provider reads, for objects that have no configuration themselves. */
  readonly providerNeeds?: readonly Dependency[];
  /** What runs after the object is created, and before the old one is destroyed, in that order each. */
  readonly provisioners?: readonly PlannedProvisioner[];
  /** Whether something about the object changed that is recorded without a call: a refresh, a move, an upgrade. */
  readonly record: boolean;
  /** The provider keeps looser rules on values; violations are warnings. */
  readonly legacyTypeSystem: boolean;
}

/** A change of a root output. */
export interface OutputChange {
  readonly name: string;
  readonly action: "no-op" | "create" | "update" | "delete";
  readonly before?: Value;
  readonly after?: Value;
  readonly sensitive: boolean;
  /** As of a change of an object. */
  readonly open?: readonly Path[];
}

/** What reading an object found to be other than recorded. */
export interface Drift {
  readonly address: string;
  readonly deposed: string;
  readonly type: string;
  readonly provider: ProviderReference;
  readonly before: Value;
  /** Absent: the object is gone. */
  readonly after?: Value;
  /** Whether a planned change has to do with it. */
  readonly relevant: boolean;
  /** The drifted attributes that a planned change has to do with; absent where the object is gone. */
  readonly attributes?: readonly string[];
}

/** Whether anything is done for a change, be it only to the record. */
export function isChange({ action, record, previousAddress, importing }: ResourceChange): boolean {
  return action !== "no-op" || record || previousAddress !== undefined || importing !== undefined;
}

/** Whether what others see of an object is another than before. */
export function hasEffect({ action }: ResourceChange): boolean {
  return action !== "no-op";
}
