import {
  StackHead as HeadMessage,
  StateObject as ObjectMessage,
  type StackOutput as OutputMessage,
  StackOutputs as OutputsMessage,
  type StackOutputs_RecordedCheck as RecordedCheck,
  type StackInput as StackInputMessage,
} from "@stackwright/proto/stackwright";
import {
  type CallOptions,
  type Resource,
  type ResourceId,
  readStored,
  type StorageBackend,
} from "@stackwright/storage";
import { type BlobStore, ownedBlobs } from "@stackwright/storage/blob";
import { EngineError, isEngineError } from "../errors.ts";
import type { StackCipher } from "../secrets/stack-cipher.ts";
import type { CheckResult } from "./check-result.ts";
import { inlineContent, loadContent, spillContents } from "./content.ts";
import {
  type Codec,
  type Converters,
  decodeKind,
  memberId,
  memberPrefix,
  objectMember,
  STATE_KINDS,
  stackResourceId,
  stackTenancy,
  typeUrl,
} from "./kinds.ts";
import { decodeObject, encodeObject, type OpenParts, type StoredPieces } from "./object-codec.ts";
import type { CipherFactory } from "./stack-keys.ts";
import type { StackHead, StackInput, StackOutput, StackReference } from "./stack-state.ts";
import type { ObjectKey, StateObject } from "./state-object.ts";

/** A stored message with what it takes to replace it. */
export interface StoredStateRecord<M> {
  readonly message: M;
  readonly resource: Resource;
}

/** An object with the resource that it was read from. */
export interface StoredStateObject {
  readonly object: StateObject;
  readonly resource: Resource;
}

interface RecordParts {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  readonly ciphers: CipherFactory;
  readonly converters?: Converters | undefined;
  /** Receives why secrets cannot be decrypted; they are omitted then. @default reading rejects */
  readonly onMissingKey?: ((error: EngineError) => void) | undefined;
}

/** What a run published in addition to the objects. */
export interface PublishedOutputs {
  /** The head revision with which the outputs became what they are. */
  readonly revision: bigint;
  readonly outputs: ReadonlyMap<string, StackOutput>;
  /** The head revision with which each output became what it is; without those of which it was not recorded. */
  readonly changes: ReadonlyMap<string, bigint>;
  readonly checks: readonly CheckResult[];
  readonly inputs: readonly StackInput[];
}

function checkOf({ message, ...check }: RecordedCheck): CheckResult {
  return { ...(check as CheckResult), ...(message !== "" && { message }) };
}

function inputOf({
  account,
  project,
  stack,
  name,
  revision,
  outputs,
}: StackInputMessage): StackInput {
  return { stack: { account, project, stack }, name, revision, outputs };
}

/** The resources of one stack: their names, and their messages in both directions. */
export class StackRecords {
  readonly reference: StackReference;
  readonly #parts: RecordParts;
  readonly #pieces: StoredPieces = new WeakMap();
  #cipher: Promise<StackCipher> | undefined;

  constructor(reference: StackReference, parts: RecordParts) {
    this.reference = reference;
    this.#parts = { ...parts, blobs: ownedBlobs(parts.blobs, reference.account) };
  }

  get blobs(): BlobStore {
    return this.#parts.blobs;
  }

  async head(options?: CallOptions): Promise<StoredStateRecord<StackHead> | undefined> {
    const stored = await this.one(STATE_KINDS.head, HeadMessage, options);
    if (stored === undefined) return undefined;
    const { revision, run } = stored.message;
    return { message: { revision, run }, resource: stored.resource };
  }

  async objects(options?: CallOptions): Promise<readonly StoredStateObject[]> {
    const resources = await this.#parts.storage.list(
      "strong",
      STATE_KINDS.object,
      stackTenancy(this.reference),
      memberPrefix(this.reference),
      options,
    );
    const codec = this.#opening(options);
    return Promise.all(resources.map((resource) => this.#object(resource, codec)));
  }

  /** One object, without the others. */
  async object(key: ObjectKey, options?: CallOptions): Promise<StateObject | undefined> {
    const resource = await readStored(this.#parts.storage, "strong", this.objectId(key), options);
    return resource && (await this.#object(resource, this.#opening(options))).object;
  }

  async #object(resource: Resource, codec: OpenParts): Promise<StoredStateObject> {
    const message = decodeKind(resource, ObjectMessage, this.#parts.converters);
    return { object: await decodeObject(message, codec), resource };
  }

  async outputs(options?: CallOptions): Promise<StoredStateRecord<PublishedOutputs> | undefined> {
    const stored = await this.one(STATE_KINDS.outputs, OutputsMessage, options);
    if (stored === undefined) return undefined;
    const outputs = new Map<string, StackOutput>();
    for (const output of stored.message.outputs) {
      outputs.set(output.name, await this.#plainOutput(output, options));
    }
    const { revision } = stored.message;
    const checks = stored.message.checks.map(checkOf);
    const inputs = stored.message.inputs.map(inputOf);
    const changes = new Map(
      stored.message.outputs.flatMap(({ name, changed }) =>
        changed === 0n ? [] : [[name, changed]],
      ),
    );
    return { message: { revision, outputs, changes, checks, inputs }, resource: stored.resource };
  }

  /** One resource that the stack has one of; `undefined` when nothing is stored. */
  async one<M>(
    kind: ResourceId["type"],
    codec: Codec<M>,
    options?: CallOptions,
    member?: string,
  ): Promise<StoredStateRecord<M> | undefined> {
    const id =
      member === undefined
        ? stackResourceId(this.reference, kind)
        : memberId(this.reference, kind, member);
    const resource = await readStored(this.#parts.storage, "strong", id, options);
    if (resource === undefined) return undefined;
    return { message: decodeKind(resource, codec, this.#parts.converters), resource };
  }

  objectId(key: ObjectKey): ResourceId {
    return memberId(this.reference, STATE_KINDS.object, objectMember(key));
  }

  async encodeObject(object: StateObject, options?: CallOptions): Promise<Uint8Array> {
    const message = await encodeObject(object, {
      reference: this.reference,
      blobs: this.blobs,
      cipher: () => this.ensureCipher(options),
      pieces: this.#pieces,
    });
    return ObjectMessage.encode(message).finish();
  }

  encodeHead(head: StackHead): Uint8Array {
    return HeadMessage.encode(head).finish();
  }

  async encodeOutputs(
    { revision, outputs, changes, checks, inputs }: PublishedOutputs,
    options?: CallOptions,
  ): Promise<Uint8Array> {
    const message = OutputsMessage.create({
      revision,
      checks: checks.map((check) => ({ ...check, message: check.message ?? "" })),
      inputs: inputs.map(({ stack, name, revision: read, outputs: names }) => ({
        ...stack,
        name,
        revision: read,
        outputs: [...names],
      })),
    });
    for (const [name, output] of [...outputs].sort(([a], [b]) => (a < b ? -1 : 1))) {
      let json: Uint8Array = Buffer.from(output.json, "utf8");
      if (output.sensitive) {
        const cipher = await this.ensureCipher(options);
        json = cipher.seal(json, outputContext(this.reference, name));
      }
      const { type, sensitive } = output;
      const changed = changes.get(name) ?? 0n;
      message.outputs.push({ name, type, sensitive, changed, json: inlineContent(json) });
    }
    const contents = message.outputs.flatMap(({ json }) => json ?? []);
    await spillContents(contents, () => OutputsMessage.encode(message).finish().length, this.blobs);
    return OutputsMessage.encode(message).finish();
  }

  async #plainOutput(output: OutputMessage, options?: CallOptions): Promise<StackOutput> {
    let json = await loadContent(output.json, this.blobs);
    if (output.sensitive) {
      const cipher = await this.#cipherOrNone(options);
      if (cipher === undefined) {
        return { type: output.type, json: "null", sensitive: true, isOmitted: true };
      }
      json = cipher.open(json, outputContext(this.reference, output.name));
    }
    return {
      type: output.type,
      json: Buffer.from(json).toString("utf8"),
      sensitive: output.sensitive,
    };
  }

  /** Decrypts with the data keys as they are at its first use: they may have been rotated since the last. */
  #opening(options?: CallOptions): OpenParts {
    let cipher: Promise<StackCipher | undefined> | undefined;
    return {
      reference: this.reference,
      blobs: this.blobs,
      cipher: () => {
        cipher ??= this.#cipherOrNone(options);
        return cipher;
      },
    };
  }

  /** Objects within another message, such as a piece of history. */
  async decodeObjects(
    messages: readonly (ObjectMessage | undefined)[],
    options?: CallOptions,
  ): Promise<readonly (StateObject | undefined)[]> {
    const codec = this.#opening(options);
    return Promise.all(
      messages.map(async (message) => message && (await decodeObject(message, codec))),
    );
  }

  /** The cipher to encrypt with; made where there is none. */
  ensureCipher(options?: CallOptions): Promise<StackCipher> {
    this.#cipher ??= this.#parts.ciphers.ensure(this.reference, options).catch((error: unknown) => {
      this.#cipher = undefined;
      throw error;
    });
    return this.#cipher;
  }

  /** The cipher to read with; undefined where its key is missing and secrets are omitted. */
  async #cipherOrNone(options?: CallOptions): Promise<StackCipher | undefined> {
    const { onMissingKey } = this.#parts;
    if (onMissingKey === undefined) return this.loadCipher(options);
    return this.loadCipher(options).catch((error: unknown) => {
      if (!isEngineError(error, "ENGINE_KEY_UNAVAILABLE")) throw error;
      onMissingKey(error);
      return undefined;
    });
  }

  /** The cipher to decrypt with, as of now. */
  async loadCipher(options?: CallOptions): Promise<StackCipher> {
    const cipher = await this.#parts.ciphers.load(this.reference, options);
    if (cipher !== undefined) return cipher;
    throw new EngineError("ENGINE_KEY_UNAVAILABLE", "the stack has secrets, but no data keys");
  }

  /** A resource to write over what is stored, or to create. */
  resource(
    id: ResourceId,
    stored: Resource | undefined,
    value: Uint8Array,
    generation: string,
  ): Resource {
    return {
      id: { ...id, uid: stored?.id.uid ?? generation },
      version: stored?.version ?? "",
      generation,
      metadata: {},
      status: {},
      data: { typeUrl: typeUrl(id.type), value },
    };
  }
}

function outputContext({ account, project, stack }: StackReference, name: string): string {
  return ["output", account, project, stack, name].join("\0");
}
