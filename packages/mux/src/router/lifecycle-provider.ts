import type { Path, Value } from "@stackwright/cty";
import type { ProviderDiagnostic } from "./diagnostic.ts";
import type { ProviderSchema } from "./schema.ts";

/**
 * A provider as the engine sees it: plan and apply on typed values. Every implementation of this interface
 * can be routed to, regardless of the protocol underneath.
 *
 * Terms. An *object* is a value of the object type that the block of a resource's schema implies: every
 * attribute present, null where unset. A *configuration* is an object with null where the template says
 * nothing and unknown where it cannot say yet. *Private bytes* belong to the provider: kept beside an
 * object and handed back unread.
 *
 * Rules for every method.
 * - Values carry no marks; the engine takes them off before and puts them on after a call.
 * - Replies have the exact types of the schema. `diagnostics` may hold warnings in any reply. A reply
 *   with an error diagnostic may leave out its result, except where a method says otherwise.
 * - A rejection means that no answer is available (process gone, deadline, protocol broken). A rejected `apply`
 *   may have happened, unless the error says otherwise by an `outcome` of `"not-applied"`.
 * - `context.signal` ends the wait of the caller. A provider that can stop its work does so; the result
 *   of an aborted `apply` is unknown unless the rejection says otherwise.
 * - Calls may overlap. Only `configure` comes before all calls but `schema`, `validate*`, `upgrade`,
 *   `move` and `callFunction`, and comes at most once.
 *
 * Model: Terraform's plugin protocol 5 and 6, without what is only its encoding.
 */
export interface LifecycleProvider extends AsyncDisposable {
  /** What the provider declares and can do. The same answer every time; callers may cache it. */
  schema(context: LifecycleContext): Promise<SchemaReply>;

  /** Checks the configuration of the provider itself; unknown values are allowed. */
  validateProvider(request: ValidateProviderRequest, context: LifecycleContext): Promise<Reply>;
  /** Checks the configuration of a resource; unknown values are allowed. */
  validateResource(request: ValidateResourceRequest, context: LifecycleContext): Promise<Reply>;
  /** Checks the configuration of a data source; unknown values are allowed. */
  validateDataSource(request: ValidateResourceRequest, context: LifecycleContext): Promise<Reply>;
  /** Checks the configuration of an ephemeral resource; unknown values are allowed. */
  validateEphemeral(request: ValidateResourceRequest, context: LifecycleContext): Promise<Reply>;

  /** Gives the provider its configuration, with which all later calls work. */
  configure(request: ConfigureRequest, context: LifecycleContext): Promise<Reply>;

  /** Brings an object as it was stored to the present schema. Called before any other use of it. */
  upgrade(request: UpgradeRequest, context: LifecycleContext): Promise<UpgradeReply>;
  /** Turns an object of another resource type, perhaps of another provider, into one of this type. */
  move(request: MoveRequest, context: LifecycleContext): Promise<MoveReply>;

  /** Reads the real object. A null `state` in the reply: it is gone. */
  read(request: ReadResourceRequest, context: LifecycleContext): Promise<ReadReply>;

  /**
   * Says what an apply would do, without doing anything. The result may hold unknowns, but only where
   * the provider will decide at apply. Asked again at apply with all values known, it must answer with a
   * refinement of its first answer.
   */
  plan(request: PlanResourceRequest, context: LifecycleContext): Promise<PlanReply>;

  /**
   * Creates (prior null), updates, or deletes (planned null). Even with error diagnostics the reply says
   * the current object: `state` is what exists (null: nothing), `privateBytes` go with it.
   */
  apply(request: ApplyResourceRequest, context: LifecycleContext): Promise<ApplyReply>;

  /** Finds real objects by an id that users know. May return several, of several types. */
  import(request: ImportResourceRequest, context: LifecycleContext): Promise<ImportReply>;

  readDataSource(request: ReadDataRequest, context: LifecycleContext): Promise<ReadDataReply>;

  /** Opens an ephemeral resource. The caller closes what it opened, also after an error elsewhere. */
  openEphemeral(request: OpenEphemeralRequest, context: LifecycleContext): Promise<OpenReply>;
  renewEphemeral(request: EphemeralHandleRequest, context: LifecycleContext): Promise<RenewReply>;
  closeEphemeral(request: EphemeralHandleRequest, context: LifecycleContext): Promise<Reply>;

  /** Calls a function. Pure: equal arguments give equal results, also in another process. */
  callFunction(request: CallFunctionRequest, context: LifecycleContext): Promise<CallFunctionReply>;

  /** Asks the provider to end running operations early, each with an honest reply. */
  stop(context: LifecycleContext): Promise<void>;

  /** Ends the provider and frees what it holds. Idempotent; calls under way are rejected. */
  close(): Promise<void>;
}

/** What goes with every call. */
export interface LifecycleContext {
  /** Ends the wait of the caller; its reason is the rejection. */
  readonly signal?: AbortSignal;
  /** One run of a template; a provider behind a function receives it. */
  readonly sessionId?: string;
  /** The address of the object in the configuration, for providers in this process; others do not receive it. */
  readonly address?: string;
  /**
   * Of an apply, for providers in this process: records bytes beside the object before the apply has an answer. Durable when it resolves.
   * Where the apply is interrupted, or its answer {@link ApplyReply.isOpen}, all that it recorded, one after the other, comes back as
   * the private bytes of the read that has {@link ReadResourceRequest.noted}. Only for types whose schema `hasNotes`.
   */
  readonly note?: (privateBytes: Uint8Array) => Promise<void>;
}

/** Identifies one operation on one state object, so that a repeated delivery can be recognised. */
export interface OperationIdentity {
  /** The id in the state object; the same for a repetition of the same operation. */
  readonly operationId: string;
  /** The fence epoch under which it runs; a receiver may refuse one lower than it has seen. */
  readonly epoch: bigint;
}

export interface Reply {
  readonly diagnostics: readonly ProviderDiagnostic[];
}

export interface SchemaReply extends Reply {
  readonly schema: ProviderSchema;
  readonly capabilities: LifecycleCapabilities;
}

/** What a provider can do beyond the minimum. */
export interface LifecycleCapabilities {
  /** {@link LifecycleProvider.plan} is to be asked about deletes as well. */
  readonly planDestroy: boolean;
  /** {@link LifecycleProvider.move} accepts objects of other types. */
  readonly moveState: boolean;
  /**
   * Whether a create that failed with an error diagnostic and a null `state` surely created nothing.
   * `false` for protocols that do not report it.
   */
  readonly failedCreateIsClean: boolean;
}

export interface ValidateProviderRequest {
  readonly config: Value;
}

export interface ValidateResourceRequest {
  readonly type: string;
  readonly config: Value;
  /** Whether the engine handles write-only attributes. */
  readonly writeOnlyAllowed: boolean;
}

export interface ConfigureRequest {
  /** Wholly known unless {@link deferralAllowed}. */
  readonly config: Value;
  /** Passed to the provider as the version of the calling engine. */
  readonly engineVersion: string;
  readonly deferralAllowed: boolean;
}

/** An object as it lies in the store, under the schema version that wrote it. */
export interface StoredResource {
  readonly schemaVersion: number;
  /** JSON text of its attributes, exactly as stored. */
  readonly json: string;
}

export interface UpgradeRequest extends StoredResource {
  readonly type: string;
  /** What names the object, as it was stored beside it under the version of the identity's own schema. */
  readonly identity?: StoredResource;
}

export interface UpgradeReply extends Reply {
  readonly state?: Value;
  /** In the present form; only where the request had one and the type has identities. */
  readonly identity?: Value;
}

export interface MoveRequest {
  readonly sourceProvider: string;
  readonly sourceType: string;
  readonly source: StoredResource;
  readonly sourcePrivate: Uint8Array;
  readonly targetType: string;
}

export interface MoveReply extends Reply {
  readonly state?: Value;
  readonly privateBytes?: Uint8Array;
  readonly identity?: Value;
}

export interface ReadResourceRequest {
  readonly type: string;
  readonly state: Value;
  readonly privateBytes: Uint8Array;
  readonly identity?: Value;
  readonly providerMeta?: Value;
  readonly deferralAllowed: boolean;
  /**
   * Present where an apply was interrupted, of a type whose schema `hasNotes`: the private bytes are all that it noted. After a
   * create `state` is null. What is not known to exist, and not decided here, is an error.
   */
  readonly noted?: NotedDecision;
}

/** What the user says of parts that an interrupted apply may have made. */
export type NotedDecision =
  | { readonly kind: "undecided" }
  /** They do not exist. */
  | { readonly kind: "absent" }
  /** It has this id; where there are several parts, a line `PART=ID` for each that exists. */
  | { readonly kind: "id"; readonly id: string };

/** What a reply says of the values in it, since values carry no marks. */
export interface ValueReply extends Reply {
  /**
   * Parts that are secret beyond what the schema says, for providers that know secrets by value. Paths in the
   * value of the reply.
   */
  readonly sensitive?: readonly Path[];
}

export interface ReadReply extends ValueReply {
  readonly state?: Value;
  readonly privateBytes?: Uint8Array;
  readonly identity?: Value;
  readonly deferred?: Deferral;
}

/** Why a provider cannot say anything yet. */
export interface Deferral {
  readonly reason:
    | "unknown"
    | "resource_config_unknown"
    | "provider_config_unknown"
    | "absent_prereq";
}

export interface PlanResourceRequest {
  readonly type: string;
  /** What was last seen; null for a create. */
  readonly prior: Value;
  /** What the template says; null for a delete. */
  readonly config: Value;
  /** Configuration laid over `prior` by the rules of the schema; null for a delete. */
  readonly proposed: Value;
  readonly priorPrivate: Uint8Array;
  readonly priorIdentity?: Value;
  readonly providerMeta?: Value;
  readonly deferralAllowed: boolean;
  readonly operation?: OperationIdentity;
}

export interface PlanReply extends ValueReply {
  readonly planned?: Value;
  /** Changes at these paths need a new object. */
  readonly requiresReplace: readonly Path[];
  readonly plannedPrivate: Uint8Array;
  readonly plannedIdentity?: Value;
  readonly deferred?: Deferral;
  /** The provider keeps looser rules on values (the old Terraform SDK); violations are only recorded. */
  readonly legacyTypeSystem: boolean;
}

export interface ApplyResourceRequest {
  readonly type: string;
  readonly prior: Value;
  readonly config: Value;
  readonly planned: Value;
  readonly plannedPrivate: Uint8Array;
  readonly plannedIdentity?: Value;
  readonly providerMeta?: Value;
  /** Absent only where nothing is recorded, as in a test harness. */
  readonly operation?: OperationIdentity;
}

export interface ApplyReply extends ValueReply {
  readonly state: Value;
  readonly privateBytes: Uint8Array;
  readonly identity?: Value;
  readonly legacyTypeSystem: boolean;
  /**
   * Of a type that notes what it has made: parts were called for whose answers were lost, so that the operation is recovered like an
   * interrupted one. Object and private bytes do not count; the diagnostics say what happened.
   *
   * @default false
   */
  readonly isOpen?: boolean;
}

export interface ImportResourceRequest {
  readonly type: string;
  /** By id, or by identity where the schema has one. */
  readonly id: string;
  readonly identity?: Value;
  readonly deferralAllowed: boolean;
}

export interface ImportedObject {
  readonly type: string;
  readonly state: Value;
  readonly privateBytes: Uint8Array;
  readonly identity?: Value;
}

export interface ImportReply extends Reply {
  readonly objects: readonly ImportedObject[];
  readonly deferred?: Deferral;
}

export interface ReadDataRequest {
  readonly type: string;
  readonly config: Value;
  readonly providerMeta?: Value;
  readonly deferralAllowed: boolean;
}

export interface ReadDataReply extends ValueReply {
  readonly state?: Value;
  /** In place of a state: what is known of it, with unknowns, before something else was applied. It is read again then. */
  readonly planned?: Value;
  readonly deferred?: Deferral;
}

export interface OpenEphemeralRequest {
  readonly type: string;
  readonly config: Value;
  readonly deferralAllowed: boolean;
}

export interface OpenReply extends Reply {
  readonly result?: Value;
  readonly privateBytes?: Uint8Array;
  /** When it has to be renewed, in milliseconds since the Unix epoch; absent: never. */
  readonly renewAtMs?: number;
  readonly deferred?: Deferral;
}

export interface EphemeralHandleRequest {
  readonly type: string;
  readonly privateBytes: Uint8Array;
}

export interface RenewReply extends Reply {
  readonly privateBytes?: Uint8Array;
  readonly renewAtMs?: number;
}

export interface CallFunctionRequest {
  readonly name: string;
  readonly arguments: readonly Value[];
}

/** A result, or an error that may name the argument at fault by its index. */
export type CallFunctionReply =
  | { readonly result: Value }
  | { readonly error: { readonly text: string; readonly argument?: number } };
