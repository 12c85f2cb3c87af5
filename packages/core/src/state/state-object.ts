import type { Path } from "@stackwright/cty";
import type { ProviderReference } from "@stackwright/mux/router";
import type { JsonPath } from "../secrets/json-parts.ts";

/**
 * Where an object is in its life.
 *
 * - `creating`: a create was announced. With `operation.started` the call may have been made; without it nothing
 *   exists, and the object is the placeholder of one that was deleted to be created again, as others still depend on
 *   it.
 * - `ready`: exists, as recorded.
 * - `updating`, `deleting`: exists as recorded, and a call that changes or removes it may have been made.
 * - `tainted`: exists, but has to be replaced.
 * - `unresolved`: a call was made, and its result is unknown after recovery. Only an operator resolves it.
 */
export type ObjectPhase = "creating" | "ready" | "updating" | "deleting" | "tainted" | "unresolved";

/** What a state object is of: something that the stack owns, or something that it only read. */
export type ObjectMode = "managed" | "data";

/**
 * An object as it is recorded: the JSON text of its attributes under a version of its schema, exactly as encoded
 * (numbers are never rounded), and which parts of it are secret. Made by `recordValue`, the only serialiser of
 * values that may be marked.
 */
export interface RecordedValue {
  readonly schemaVersion: number;
  readonly json: string;
  /** Secret parts; their bytes are encrypted at rest. In the order of their texts; one may be below another. */
  readonly sensitive: readonly Path[];
  /** Secret parts that were read without their key: `null` in the text. Such a value is for display, and is never stored. */
  readonly omitted?: readonly JsonPath[];
  /**
   * Digest of the provider's package whose own answer this is. The same program would answer it unchanged when it is asked to upgrade it.
   * @default not known: it comes from elsewhere, or its program is being developed
   */
  readonly writer?: string;
}

/** The identity that a provider gave an object; never secret. */
export interface RecordedIdentity {
  readonly schemaVersion: number;
  readonly json: string;
}

/** Why one object needs another. */
type DependencyKind = "reference" | "explicit" | "provider" | "parent" | "deletedWith";

/**
 * A direct dependency. `instance` names one object, which has to exist as long as the dependent does; `resource`
 * names all instances of a resource, however many there are, and costs one entry for all of them.
 */
export interface Dependency {
  readonly address: string;
  readonly scope: "instance" | "resource";
  readonly kind: DependencyKind;
}

/** How the result of a lost call can be found. */
export interface Probe {
  /** Import id that the object will have, where it follows from the configuration. */
  readonly importId?: string;
  /** The same by identity. */
  readonly identity?: RecordedIdentity;
  /** Text for the operator: what to search for, and where. */
  readonly hint: string;
}

/** One announced call on one object. */
export interface ObjectOperation {
  /** ULID; passed to the provider, so that it can recognize a repeated delivery. */
  readonly id: string;
  readonly kind: "create" | "update" | "delete";
  /** Whether the call may have been made. */
  readonly started: boolean;
  /** Run that announced it. */
  readonly run: string;
  /** Fence epoch under which it was announced. */
  readonly epoch: bigint;
  /** Whether others may still depend on the object when it goes. */
  readonly replace: boolean;
  /** Whether the object is tainted if it exists: it was so before, or its provisioners have not run. */
  readonly tainted?: boolean;
  /** Of a create: the deposed key of the object that made place for it in the same step. */
  readonly deposed?: string;
  readonly probe?: Probe;
  /** Where the call is given secrets, beside what the schema and the recorded object say. */
  readonly sensitive?: readonly Path[];
  /** Of an `unresolved` object: why its state is unknown, as text for the operator. */
  readonly problem?: string;
}

/**
 * What is recorded about one real object; one key in the store.
 *
 * Identity: stack, address and deposed key. At most one object per address has no deposed key: the current one.
 * Source: the design of this project, section "State object".
 */
export interface StateObject {
  /** Full address of the instance, `module.net["a"].aws_subnet.b[0]`. */
  readonly address: string;
  /** Empty for the current object, else 8 hexadecimal digits. */
  readonly deposed: string;
  readonly mode: ObjectMode;
  readonly type: string;
  readonly provider: ProviderReference;
  readonly phase: ObjectPhase;
  /** Present in `creating`, `updating`, `deleting` and `unresolved`, and only there. */
  readonly operation?: ObjectOperation;
  /** What exists; absent while nothing does (`creating`, and `unresolved` after a create). */
  readonly value?: RecordedValue;
  readonly identity?: RecordedIdentity;
  /** The provider's own bytes. Encrypted at rest, as a provider may put anything there. */
  readonly privateBytes: Uint8Array;
  /** What the provider noted during the announced call, in pieces; encrypted at rest. Absent where it noted nothing. */
  readonly notes?: readonly Uint8Array[];
  readonly dependencies: readonly Dependency[];
  /** Whether a replacement is created before the old object is deleted; kept for when there is no configuration. */
  readonly createBeforeDestroy: boolean;
  /** Wall clock of the last call that read the real object, in milliseconds since 1970; for read policies. */
  readonly observedAtMs: number;
  /** Fence epoch of the last write. */
  readonly epoch: bigint;
  /** Head revision during the last write. */
  readonly revision: bigint;
  /** Former addresses by which dependents may still name the object, until they are written again. */
  readonly aliases: readonly string[];
}

/** Names an object within its stack. */
export interface ObjectKey {
  readonly address: string;
  readonly deposed: string;
}

/** Key of an object in maps: unequal keys give unequal texts. */
export function objectKey({ address, deposed }: ObjectKey): string {
  return deposed === "" ? address : `${address}\0${deposed}`;
}

/** A phase in which a call may be in progress. */
export function isPending({ phase, operation }: StateObject): boolean {
  return (
    phase === "updating" || phase === "deleting" || (phase === "creating" && started(operation))
  );
}

/** Whether nothing real stands behind the object: it is kept for its place in the order only. */
export function isPlaceholder({ phase, operation }: StateObject): boolean {
  return phase === "creating" && !started(operation);
}

/** Whether an operation under way, or one whose result is not known, noted what it has made so far. */
export function isNoted({ operation, value, privateBytes, notes = [] }: StateObject): boolean {
  if (notes.length > 0) return true;
  // Of an earlier release: nothing else gives an object private bytes before it has a value.
  return operation?.kind === "create" && value === undefined && privateBytes.length > 0;
}

/** The private bytes that a read gets of an object whose operation is recovered: what was noted, or else what it had. */
export function recoveredBytes({ privateBytes, notes = [] }: StateObject): Uint8Array {
  return notes.length === 0 ? privateBytes : joined(notes);
}

/** Pieces of notes are this large, in bytes, but for the last one and for longer notes. */
export const NOTE_PIECE_BYTES = 32 * 1024;

/**
 * Notes with another one at the end. Complete pieces stay the same arrays, so that they are encrypted and stored once however many
 * follow: what is written for each note is one piece at most, and not all that was noted.
 */
export function addNote(
  notes: readonly Uint8Array[] = [],
  note: Uint8Array,
): readonly Uint8Array[] {
  const last = notes.at(-1);
  if (last === undefined || last.length + note.length > NOTE_PIECE_BYTES) return [...notes, note];
  return [...notes.slice(0, -1), joined([last, note])];
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}

function started(operation: ObjectOperation | undefined): boolean {
  return operation?.started === true;
}
