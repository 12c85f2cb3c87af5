import type { Path } from "@stackwright/cty";
import type { ProviderReference } from "@stackwright/mux/router";
import type {
  Dependency,
  ObjectKey,
  ObjectMode,
  ObjectOperation,
  Probe,
  RecordedIdentity,
  RecordedValue,
} from "./state-object.ts";

/** What is known of an object before it exists. */
export interface ObjectPlan {
  readonly mode: ObjectMode;
  readonly type: string;
  readonly provider: ProviderReference;
  readonly dependencies: readonly Dependency[];
  readonly createBeforeDestroy: boolean;
}

/** What a call or a read left behind. */
export interface ObjectContent {
  readonly value: RecordedValue;
  readonly identity?: RecordedIdentity;
  readonly privateBytes: Uint8Array;
}

/** Facts about an announced call; run and epoch are those of the writer. */
export interface OperationPlan {
  /** ULID, new for every operation; the same when an operation is delivered again. */
  readonly id: string;
  /**
   * Of a delete: whether others may still depend on the object when it goes, because it is replaced, or because they
   * are updated only afterwards. A placeholder keeps its place in the order for as long as they do.
   *
   * @default false
   */
  readonly replace?: boolean;
  readonly probe?: Probe;
  /** Where the call is given secrets, as storable paths: what is read in place of a lost answer has them as well. */
  readonly sensitive?: readonly Path[];
  /**
   * Of a create: whether the object is tainted until more than the call is done, as its provisioners have not run.
   *
   * @default false
   */
  readonly tainted?: boolean;
}

/** Members of an object that may change without a call to its provider. */
export interface ObjectPatch {
  readonly content?: ObjectContent;
  readonly provider?: ProviderReference;
  readonly type?: string;
  readonly dependencies?: readonly Dependency[];
  readonly createBeforeDestroy?: boolean;
  /** `tainted` marks a ready object for replacement, `ready` takes the mark away. */
  readonly phase?: "ready" | "tainted";
  /** Whether the content was read from the real object now. */
  readonly observed?: boolean;
}

/** How a call ended. */
export type OperationResult =
  /** The object exists like this. */
  | {
      readonly kind: "exists";
      readonly content: ObjectContent;
      readonly tainted: boolean;
      readonly patch?: Omit<ObjectPatch, "content" | "phase">;
    }
  /**
   * Nothing exists. Where others still depend on the address, the object stays as a placeholder until a replacement is
   * created, or a run finishes after which it has no dependents.
   */
  | { readonly kind: "absent" }
  /** Nothing was done; the object is as it was before the operation was announced. */
  | { readonly kind: "untouched" }
  /** The result is unknown and cannot be recovered. The object keeps its recorded content. */
  | { readonly kind: "unresolved"; readonly problem: string };

/**
 * One step of a stack's state. Each is one atomic write, of one key or (depose, restore, move) of two.
 *
 * | change           | from                                   | to                                          |
 * | ---------------- | -------------------------------------- | ------------------------------------------- |
 * | `create`         | nothing, placeholder                   | creating (started)                          |
 * | `update`         | ready                                  | updating                                    |
 * | `delete`         | ready, tainted                         | deleting                                    |
 * | `depose`         | ready, tainted; no such deposed object | the same under the deposed key, and nothing or creating under the address |
 * | `restore`        | deposed; nothing current or a placeholder | the same as current                      |
 * | `note`           | creating (started), updating           | the same                                    |
 * | `settle`         | creating, updating, deleting, unresolved | ready, tainted, nothing, placeholder, unresolved |
 * | `record`         | ready, tainted                         | ready, tainted                              |
 * | `adopt`          | nothing, placeholder                   | ready, tainted                              |
 * | `move`           | any but pending; nothing at the target | the same at the target                      |
 * | `forget`         | any but pending                        | nothing                                     |
 */
export type StateChange =
  /** Intent: a create call follows. */
  | {
      readonly kind: "create";
      readonly key: ObjectKey;
      readonly object: ObjectPlan;
      readonly operation: OperationPlan;
    }
  /**
   * Intent: an update call follows. Until it is known how that ended, the object depends on what it needed before and
   * on what it will need; a failed update leaves it so.
   */
  | {
      readonly kind: "update";
      readonly key: ObjectKey;
      readonly operation: OperationPlan;
      /** What it will need. @default what it needs now */
      readonly dependencies?: readonly Dependency[];
    }
  /** Intent: a delete call follows. */
  | { readonly kind: "delete"; readonly key: ObjectKey; readonly operation: OperationPlan }
  /**
   * The current object is deposed for its replacement. With `create` the intent of that create is part of the same
   * write.
   */
  | {
      readonly kind: "depose";
      readonly address: string;
      /** 8 hexadecimal digits that no deposed object of the address has. */
      readonly deposed: string;
      readonly create?: { readonly object: ObjectPlan; readonly operation: OperationPlan };
    }
  /** A deposed object becomes the current one again, as its replacement could not be created. */
  | { readonly kind: "restore"; readonly address: string; readonly deposed: string }
  /** What the provider notes while the operation with this id is under way, after all that it noted before. */
  | {
      readonly kind: "note";
      readonly key: ObjectKey;
      readonly operation: ObjectOperation["id"];
      readonly note: Uint8Array;
    }
  /** Outcome of the operation with this id. */
  | {
      readonly kind: "settle";
      readonly key: ObjectKey;
      readonly operation: ObjectOperation["id"];
      readonly outcome: OperationResult;
    }
  /** A change without a call: refresh, upgrade, dependencies, taint. */
  | { readonly kind: "record"; readonly key: ObjectKey; readonly patch: ObjectPatch }
  /** An existing object comes in: import, data source. */
  | {
      readonly kind: "adopt";
      readonly key: ObjectKey;
      readonly object: ObjectPlan;
      readonly content: ObjectContent;
      readonly tainted?: boolean;
    }
  /** An object gets another address, with the changes that follow from it. Dependents are updated by `record`. */
  | {
      readonly kind: "move";
      readonly from: ObjectKey;
      readonly to: ObjectKey;
      readonly patch?: ObjectPatch;
    }
  /** An object is given up without a call. */
  | { readonly kind: "forget"; readonly key: ObjectKey };
