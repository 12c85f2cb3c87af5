import { Path } from "@stackwright/cty";
import {
  type Content,
  Dependency_Kind,
  Dependency_Scope,
  Operation_Kind,
  type PathStep,
  StateObject_Mode,
  StateObject_Phase,
  type ValuePath,
  type Dependency as WireDependency,
  StateObject as WireObject,
  type Operation as WireOperation,
  type RecordedValue as WireValue,
} from "@stackwright/proto/stackwright";
import type { BlobStore } from "@stackwright/storage/blob";
import { EngineError } from "../errors.ts";
import { equalParts } from "../secrets/equal-parts.ts";
import { extractJsonParts, insertJsonParts, type JsonPath } from "../secrets/json-parts.ts";
import type { StackCipher } from "../secrets/stack-cipher.ts";
import { inlineContent, loadContent, spillContents, textContent } from "./content.ts";
import { jsonPathOf } from "./record-value.ts";
import type { StackReference } from "./stack-state.ts";
import {
  type Dependency,
  NOTE_PIECE_BYTES,
  type ObjectOperation,
  type Probe,
  type RecordedIdentity,
  type RecordedValue,
  type StateObject,
} from "./state-object.ts";

/** What turning objects into messages needs. */
interface CodecParts {
  readonly reference: StackReference;
  readonly blobs: BlobStore;
  /** Asked only where there is something secret. */
  readonly cipher: () => Promise<StackCipher>;
  /** Pieces of notes that are stored already. */
  readonly pieces: StoredPieces;
}

/** Complete pieces of notes as they are stored: each is encrypted and written once, however many notes follow. */
export type StoredPieces = WeakMap<
  Uint8Array,
  { readonly context: string; readonly content: Content }
>;

/** What turning messages into objects needs. */
export interface OpenParts {
  readonly reference: StackReference;
  readonly blobs: BlobStore;
  /** Asked only where there is something secret. Undefined: secrets are omitted. */
  readonly cipher: () => Promise<StackCipher | undefined>;
}

const MODES = { managed: StateObject_Mode.MODE_MANAGED, data: StateObject_Mode.MODE_DATA } as const;
const PHASES = {
  creating: StateObject_Phase.PHASE_CREATING,
  ready: StateObject_Phase.PHASE_READY,
  updating: StateObject_Phase.PHASE_UPDATING,
  deleting: StateObject_Phase.PHASE_DELETING,
  tainted: StateObject_Phase.PHASE_TAINTED,
  unresolved: StateObject_Phase.PHASE_UNRESOLVED,
} as const;
const OPERATIONS = {
  create: Operation_Kind.KIND_CREATE,
  update: Operation_Kind.KIND_UPDATE,
  delete: Operation_Kind.KIND_DELETE,
} as const;
const SCOPES = {
  instance: Dependency_Scope.SCOPE_INSTANCE,
  resource: Dependency_Scope.SCOPE_RESOURCE,
} as const;
const DEPENDENCIES = {
  reference: Dependency_Kind.KIND_REFERENCE,
  explicit: Dependency_Kind.KIND_EXPLICIT,
  provider: Dependency_Kind.KIND_PROVIDER,
  parent: Dependency_Kind.KIND_PARENT,
  deletedWith: Dependency_Kind.KIND_DELETED_WITH,
} as const;

/**
 * An object as it is stored: secret parts and private bytes encrypted, large values in the blob store, where they are
 * durable when this resolves.
 */
export async function encodeObject(object: StateObject, parts: CodecParts): Promise<WireObject> {
  const contents: Content[] = [];
  const keep = (content: Content): Content => {
    contents.push(content);
    return content;
  };
  const content = (bytes: Uint8Array): Content => keep(inlineContent(bytes));
  const message = WireObject.create({
    address: object.address,
    deposed: object.deposed,
    mode: MODES[object.mode],
    type: object.type,
    provider: { ...object.provider },
    phase: PHASES[object.phase],
    operation: object.operation === undefined ? undefined : wireOperation(object.operation),
    identity: object.identity === undefined ? undefined : wireIdentity(object.identity),
    dependencies: object.dependencies.map((dependency) => ({
      address: dependency.address,
      scope: SCOPES[dependency.scope],
      kind: DEPENDENCIES[dependency.kind],
    })),
    createBeforeDestroy: object.createBeforeDestroy,
    observedAtMs: BigInt(object.observedAtMs),
    epoch: object.epoch,
    revision: object.revision,
    aliases: [...object.aliases],
  });
  if (object.value !== undefined) {
    message.value = await encodeValue(object, object.value, parts, keep);
  }
  if (object.privateBytes.length > 0) {
    const cipher = await parts.cipher();
    const context = sealContext(parts.reference, object, "private");
    message.private = content(cipher.seal(object.privateBytes, context));
  }
  for (const [position, piece] of (object.notes ?? []).entries()) {
    // Nothing is added to a piece that is full, also where it is the last one.
    const isComplete =
      position < (object.notes?.length ?? 0) - 1 || piece.length >= NOTE_PIECE_BYTES;
    message.notes.push(await encodeNote(object, { piece, position, isComplete }, parts));
  }
  if (contents.length > 0) {
    await spillContents(contents, () => WireObject.encode(message).finish().length, parts.blobs);
  }
  return message;
}

/** What {@link encodeObject} made, as the object. `ENGINE_STATE_CORRUPT`, `ENGINE_KEY_UNAVAILABLE`. */
export async function decodeObject(message: WireObject, parts: OpenParts): Promise<StateObject> {
  const { provider, identity, operation } = message;
  if (provider === undefined) throw corrupt(message, "has no provider");
  let privateBytes: Uint8Array = new Uint8Array();
  if (message.private !== undefined) {
    const cipher = await parts.cipher();
    if (cipher !== undefined) {
      const sealed = await loadContent(message.private, parts.blobs);
      privateBytes = cipher.open(sealed, sealContext(parts.reference, message, "private"));
    }
  }
  const notes = await decodeNotes(message, parts);
  return {
    address: message.address,
    deposed: message.deposed,
    mode: nameOf(MODES, message.mode, message),
    type: message.type,
    provider: { source: provider.source, version: provider.version, alias: provider.alias },
    phase: nameOf(PHASES, message.phase, message),
    ...(operation === undefined ? {} : { operation: plainOperation(operation, message) }),
    ...(message.value === undefined
      ? {}
      : { value: await decodeValue(message, message.value, parts) }),
    ...(identity === undefined ? {} : { identity: plainIdentity(identity) }),
    privateBytes,
    ...(notes.length > 0 && { notes }),
    dependencies: message.dependencies.map((dependency) => plainDependency(dependency, message)),
    createBeforeDestroy: message.createBeforeDestroy,
    observedAtMs: Number(message.observedAtMs),
    epoch: message.epoch,
    revision: message.revision,
    aliases: message.aliases,
  };
}

/** All contents of a message, those in blobs included. */
export function contentsOf(message: WireObject): Content[] {
  return [
    message.value?.json,
    ...(message.value?.sealed ?? []).map(({ sealed }) => sealed),
    message.private,
    ...message.notes,
  ].filter((content) => content !== undefined);
}

/** A piece of what was noted. */
interface NotePiece {
  readonly piece: Uint8Array;
  readonly position: number;
  /** Nothing is added to it any more. */
  readonly isComplete: boolean;
}

async function encodeNote(
  object: StateObject,
  { piece, position, isComplete }: NotePiece,
  { reference, blobs, cipher, pieces }: CodecParts,
): Promise<Content> {
  const context = noteContext(reference, object, position);
  const stored = isComplete ? pieces.get(piece) : undefined;
  // An object that has moved is another place.
  if (stored?.context === context) return stored.content;
  const sealed = (await cipher()).seal(piece, context);
  if (!isComplete) return inlineContent(sealed);
  const { sha256, size } = await blobs.write(sealed);
  const content: Content = { place: { $case: "blob", value: { sha256, size: BigInt(size) } } };
  pieces.set(piece, { context, content });
  return content;
}

async function decodeNotes(message: WireObject, parts: OpenParts): Promise<readonly Uint8Array[]> {
  const cipher = message.notes.length === 0 ? undefined : await parts.cipher();
  if (cipher === undefined) return [];
  const pieces: Uint8Array[] = [];
  for (const [position, content] of message.notes.entries()) {
    const sealed = await loadContent(content, parts.blobs);
    pieces.push(cipher.open(sealed, noteContext(parts.reference, message, position)));
  }
  return pieces;
}

function noteContext(reference: StackReference, object: Named, position: number): string {
  return sealContext(reference, object, `note${position}`);
}

async function encodeValue(
  object: StateObject,
  value: RecordedValue,
  parts: CodecParts,
  keep: (content: Content) => Content,
): Promise<WireValue> {
  if (value.omitted !== undefined) throw corrupt(object, "was read without its secrets");
  const sensitive = value.sensitive.map(jsonPathOf);
  const marked = extractJsonParts(value.json, sensitive);
  const equal = equalParts(marked.json, marked.parts);
  const cut = equal.length === 0 ? marked : extractJsonParts(value.json, [...sensitive, ...equal]);
  const cipher = cut.parts.length === 0 ? undefined : await parts.cipher();
  return {
    schemaVersion: BigInt(value.schemaVersion),
    json: keep(await textContent(cut.json, parts.blobs)),
    sensitive: value.sensitive.map(wirePath),
    writer: value.writer ?? "",
    sealed: cut.parts.map(({ at, text }) => ({
      at: { steps: at.map(jsonStep) },
      sealed:
        cipher &&
        keep(
          inlineContent(
            cipher.seal(Buffer.from(text, "utf8"), valueContext(parts.reference, object, at)),
          ),
        ),
    })),
  };
}

async function decodeValue(
  message: WireObject,
  value: WireValue,
  parts: OpenParts,
): Promise<RecordedValue> {
  let json = textOf(await loadContent(value.json, parts.blobs));
  if (value.sealed.length > 0) {
    const cipher = await parts.cipher();
    if (cipher === undefined) {
      return {
        schemaVersion: Number(value.schemaVersion),
        json,
        sensitive: value.sensitive.map(plainPath),
        ...(value.writer !== "" && { writer: value.writer }),
        omitted: value.sealed.map(({ at }) => (at?.steps ?? []).map(plainJsonStep)),
      };
    }
    const opened = [];
    for (const part of value.sealed) {
      const at = (part.at?.steps ?? []).map(plainJsonStep);
      const sealed = await loadContent(part.sealed, parts.blobs);
      const plain = cipher.open(sealed, valueContext(parts.reference, message, at));
      opened.push({ at, text: textOf(plain) });
    }
    try {
      json = insertJsonParts(json, opened);
    } catch (error) {
      throw corrupt(message, "has secrets without a place", error);
    }
  }
  return {
    schemaVersion: Number(value.schemaVersion),
    json,
    sensitive: value.sensitive.map(plainPath),
    ...(value.writer !== "" && { writer: value.writer }),
  };
}

interface Named {
  readonly address: string;
  readonly deposed: string;
}

/** Ties a secret to its place in the store. */
function sealContext(
  { account, project, stack }: StackReference,
  { address, deposed }: Named,
  member: string,
): string {
  return ["object", account, project, stack, address, deposed, member].join("\0");
}

function valueContext(reference: StackReference, object: Named, at: JsonPath): string {
  return sealContext(reference, object, `value${JSON.stringify(at)}`);
}

function wirePath(path: Path): ValuePath {
  const steps = path.steps.map((step): PathStep => {
    if (step.kind === "attribute") return { step: { $case: "attribute", value: step.name } };
    const [key] = jsonPathOf(Path.from([step]));
    return jsonStep(key ?? "");
  });
  return { steps };
}

function jsonStep(key: string | number): PathStep {
  return typeof key === "string"
    ? { step: { $case: "key", value: key } }
    : { step: { $case: "position", value: BigInt(key) } };
}

function plainPath({ steps }: ValuePath): Path {
  return steps.reduce<Path>((path, { step }) => {
    if (step?.$case === "attribute") return path.attribute(step.value);
    return path.index(step?.$case === "position" ? Number(step.value) : (step?.value ?? ""));
  }, Path.root);
}

function plainJsonStep({ step }: PathStep): string | number {
  return step?.$case === "position" ? Number(step.value) : (step?.value ?? "");
}

function wireOperation(operation: ObjectOperation): WireOperation {
  const { probe } = operation;
  return {
    id: operation.id,
    kind: OPERATIONS[operation.kind],
    started: operation.started,
    run: operation.run,
    epoch: operation.epoch,
    replace: operation.replace,
    tainted: operation.tainted ?? false,
    deposed: operation.deposed ?? "",
    problem: operation.problem ?? "",
    probe: probe && {
      importId: probe.importId ?? "",
      identity: probe.identity && wireIdentity(probe.identity),
      hint: probe.hint,
    },
    sensitive: (operation.sensitive ?? []).map(wirePath),
  };
}

function plainOperation(operation: WireOperation, owner: Named): ObjectOperation {
  const { probe } = operation;
  return {
    id: operation.id,
    kind: nameOf(OPERATIONS, operation.kind, owner),
    started: operation.started,
    run: operation.run,
    epoch: operation.epoch,
    replace: operation.replace,
    ...(operation.tainted ? { tainted: true } : {}),
    ...(operation.deposed === "" ? {} : { deposed: operation.deposed }),
    ...(operation.problem === "" ? {} : { problem: operation.problem }),
    ...(probe === undefined ? {} : { probe: plainProbe(probe) }),
    ...(operation.sensitive.length > 0 && { sensitive: operation.sensitive.map(plainPath) }),
  };
}

function plainProbe({ importId, identity, hint }: NonNullable<WireOperation["probe"]>): Probe {
  return {
    ...(importId === "" ? {} : { importId }),
    ...(identity === undefined ? {} : { identity: plainIdentity(identity) }),
    hint,
  };
}

function wireIdentity({ schemaVersion, json }: RecordedIdentity): WireIdentity {
  return { schemaVersion: BigInt(schemaVersion), json };
}

type WireIdentity = NonNullable<WireObject["identity"]>;

function plainIdentity({ schemaVersion, json }: WireIdentity): RecordedIdentity {
  return { schemaVersion: Number(schemaVersion), json };
}

function plainDependency({ address, scope, kind }: WireDependency, owner: Named): Dependency {
  return { address, scope: nameOf(SCOPES, scope, owner), kind: nameOf(DEPENDENCIES, kind, owner) };
}

function nameOf<N extends string>(
  numbers: Readonly<Record<N, number>>,
  wanted: number,
  owner: Named,
): N {
  for (const name in numbers) if (numbers[name] === wanted) return name;
  throw corrupt(owner, "was written by a newer release");
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

function corrupt({ address }: Named, what: string, cause?: unknown): EngineError {
  const options = { details: { addresses: [address] } };
  return new EngineError(
    "ENGINE_STATE_CORRUPT",
    `the stored object ${address} ${what}`,
    cause === undefined ? options : { ...options, cause },
  );
}
