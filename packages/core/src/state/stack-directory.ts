import { Stack } from "@stackwright/proto/stackwright";
import {
  type BatchOperation,
  type CallOptions,
  createUlidGenerator,
  type Guard,
  isStorageError,
  listBehind,
  type ReadManyOptions,
  type Resource,
  type ResourceId,
  type ResourceType,
  readStored,
  type StorageBackend,
  tenancyOf,
  WILDCARD,
} from "@stackwright/storage";
import { EngineError } from "../errors.ts";
import { decodeKind, typeUrl } from "./kinds.ts";
import type { FormerState } from "./stack-inputs.ts";
import { lineageId, lineageStack, placeId, recordLineage } from "./stack-lineage.ts";
import { decodeOrigin, encodeOrigin, type StackOrigin } from "./stack-origin.ts";
import type { StackReference } from "./stack-state.ts";

/** Type of the resource that gives a stack its name. */
export const STACK_KIND: ResourceType = Object.freeze({
  group: "stackwright",
  groupVersion: "v1",
  kind: "Stack",
});

/** A place in which stacks have names. */
export interface ProjectReference {
  readonly account: string;
  readonly project: string;
}

/** A stack by the names that users give it. */
export interface NamedStack {
  readonly name: string;
  readonly reference: StackReference;
  readonly description: string;
  /** Milliseconds since 1970. */
  readonly createdAtMs: number;
  /** What was decided about a Terraform state that the configuration had before. */
  readonly adoption: StackOrigin | undefined;
}

/** How often a name and a lineage are read again when others write them at the same time. */
const BIND_ATTEMPTS = 4;
const CONFLICTS = ["STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID", "STORAGE_GUARD_FAILED"] as const;

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Names of stacks: letters, digits, `.`, `_` and `-`, at most 128 characters. */
export function isStackName(name: string): boolean {
  return NAME.test(name);
}

/** The stacks of a store by their names. */
export class StackDirectory {
  readonly #storage: StorageBackend;
  readonly #nextId: () => string;
  readonly #wallMs: () => number;

  constructor(options: {
    readonly storage: StorageBackend;
    /** @default a generator over the clock */
    readonly nextId?: () => string;
    /** Milliseconds since 1970. @default the clock of the process */
    readonly wallMs?: () => number;
  }) {
    this.#storage = options.storage;
    this.#wallMs = options.wallMs ?? Date.now;
    this.#nextId = options.nextId ?? createUlidGenerator({ wallMs: this.#wallMs });
  }

  /** Undefined where there is no stack of the name. */
  async find(
    project: ProjectReference,
    name: string,
    options?: CallOptions,
  ): Promise<NamedStack | undefined> {
    const resource = await readStored(this.#storage, "strong", stackId(project, name), options);
    return resource === undefined ? undefined : namedStack(resource);
  }

  /** The stack of the name; makes it where there is none. Two callers at once get the same one. */
  async ensure(
    project: ProjectReference,
    name: string,
    options?: CallOptions,
  ): Promise<NamedStack> {
    requireName(name);
    const found = await this.find(project, name, options);
    if (found !== undefined) return found;
    const message = Stack.fromPartial({ id: this.#nextId(), createTimeMs: BigInt(this.#wallMs()) });
    try {
      const written = await this.#storage.writeCAS(
        {
          id: { ...stackId(project, name), uid: this.#nextId() },
          version: "",
          generation: "",
          metadata: {},
          status: {},
          data: { typeUrl: typeUrl(STACK_KIND), value: Stack.encode(message).finish() },
        },
        options,
      );
      return namedStack(written);
    } catch (error) {
      if (!isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) throw error;
      const other = await this.find(project, name, options);
      if (other === undefined) throw error;
      return other;
    }
  }

  /** Records where the objects of a stack come from; makes the stack where there is none. */
  async recordOrigin(
    project: ProjectReference,
    name: string,
    origin: StackOrigin,
    options?: CallOptions,
  ): Promise<NamedStack> {
    for (;;) {
      await this.ensure(project, name, options);
      const resource = await readStored(this.#storage, "strong", stackId(project, name), options);
      // Removed by another process just now.
      if (resource === undefined) continue;
      const message = { ...decodeKind(resource, Stack), adoption: encodeOrigin(origin) };
      try {
        const written = await this.#storage.writeCAS(
          {
            ...resource,
            data: { typeUrl: typeUrl(STACK_KIND), value: Stack.encode(message).finish() },
          },
          options,
        );
        return namedStack(written);
      } catch (error) {
        if (!isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) throw error;
      }
    }
  }

  /**
   * Gives a name to a stack that was written before it had one, and records the lineage of its adopted state, in one atomic
   * step. `ENGINE_STATE_NOT_EMPTY` where the name belongs to another stack than `replaces` by now; `ENGINE_STATE_ADOPTED`
   * where another stack of the project has the lineage.
   */
  async bind(
    project: ProjectReference,
    name: string,
    bound: {
      readonly stack: string;
      readonly replaces: NamedStack | undefined;
      readonly origin: StackOrigin;
    },
    options?: CallOptions,
  ): Promise<NamedStack> {
    requireName(name);
    const { stack, replaces, origin } = bound;
    for (let attempt = 0; attempt < BIND_ATTEMPTS; attempt += 1) {
      const found = await readStored(this.#storage, "strong", stackId(project, name), options);
      const earlier = found && decodeKind(found, Stack);
      if (earlier?.id !== replaces?.reference.stack) throw boundMeanwhile(name);
      const message = Stack.fromPartial({
        ...earlier,
        id: stack,
        createTimeMs: earlier?.createTimeMs ?? BigInt(this.#wallMs()),
        adoption: encodeOrigin(origin),
      });
      const base = found ?? {
        id: { ...stackId(project, name), uid: this.#nextId() },
        version: "",
        generation: "",
        metadata: {},
        status: {},
      };
      const data = { typeUrl: typeUrl(STACK_KIND), value: Stack.encode(message).finish() };
      const claim = await this.#lineageClaim(project, name, origin, options);
      try {
        const [written] = await this.#storage.batch(
          [{ kind: "write", resource: { ...base, data } }, ...claim.operations],
          { ...options, guards: claim.guards },
        );
        if (written === undefined) throw boundMeanwhile(name);
        return namedStack(written);
      } catch (error) {
        // Read again: the name, the lineage or the stack that had the lineage was written meanwhile.
        if (!isStorageError(error, ...CONFLICTS)) throw error;
      }
    }
    throw boundMeanwhile(name);
  }

  /** The stack of a project that has adopted a state; undefined where none has, or it was handed back. */
  async findAdopter(
    project: ProjectReference,
    state: FormerState,
    options?: CallOptions,
  ): Promise<NamedStack | undefined> {
    const id =
      "lineage" in state ? lineageId(project, state.lineage) : placeId(project, state.placeDigest);
    const record = await readStored(this.#storage, "strong", id, options);
    if (record === undefined) return undefined;
    const stack = await this.find(project, lineageStack(record), options);
    return stack !== undefined && isAdopterOf(stack, state) ? stack : undefined;
  }

  /** The write that records a lineage for a stack, with what must not change meanwhile. */
  async #lineageClaim(
    project: ProjectReference,
    name: string,
    origin: StackOrigin,
    options?: CallOptions,
  ): Promise<{ readonly operations: BatchOperation[]; readonly guards: Guard[] }> {
    if (origin.kind !== "state" || origin.lineage === "") return { operations: [], guards: [] };
    const { lineage } = origin;
    const id = lineageId(project, lineage);
    const found = await readStored(this.#storage, "strong", id, options);
    const operations = [
      recordLineage(id, found, { stackName: name, uid: this.#nextId() }),
      ...(await this.#placeClaim(project, name, origin, options)),
    ];
    const other = found === undefined ? name : lineageStack(found);
    if (other === name) return { operations, guards: [] };
    // A record outlives a hand-back and the removal of its stack.
    const otherId = stackId(project, other);
    const holder = await readStored(this.#storage, "strong", otherId, options);
    if (holder !== undefined && hasLineage(namedStack(holder), lineage)) {
      throw lineageAdopted(other, lineage);
    }
    return { operations, guards: [{ id: otherId, version: holder?.version ?? "" }] };
  }

  /** The write that records the place of a state: the stack that adopted from it last is found by it. */
  async #placeClaim(
    project: ProjectReference,
    stackName: string,
    { placeDigest }: Extract<StackOrigin, { kind: "state" }>,
    options?: CallOptions,
  ): Promise<readonly BatchOperation[]> {
    if (placeDigest === "") return [];
    const id = placeId(project, placeDigest);
    const found = await readStored(this.#storage, "strong", id, options);
    return [recordLineage(id, found, { stackName, uid: this.#nextId() })];
  }

  /** All stacks of a project, by name. */
  async list(project: ProjectReference, options?: CallOptions): Promise<readonly NamedStack[]> {
    const resources = await this.#storage.list(
      "strong",
      { group: STACK_KIND.group, kind: STACK_KIND.kind },
      tenancyOf({ kind: "project", ...project }),
      "",
      options,
    );
    return resources
      .map(namedStack)
      .toSorted((left, right) => (left.name < right.name ? -1 : Number(left.name > right.name)));
  }

  /** All stacks of an account, in no order. */
  async listAccount(account: string, options?: ReadManyOptions): Promise<readonly NamedStack[]> {
    const type = { group: STACK_KIND.group, kind: STACK_KIND.kind };
    const everywhere = { partition: account, peerName: WILDCARD, namespace: WILDCARD };
    return (await this.#storage.list("strong", type, everywhere, "", options)).map(namedStack);
  }

  /** At most `limit` stacks of a project, by name, those behind the name `after`; `next` is the `after` of more. */
  async page(
    project: ProjectReference,
    given: CallOptions & { readonly limit: number; readonly after: string },
  ): Promise<{ readonly stacks: readonly NamedStack[]; readonly next?: string }> {
    const type = { group: STACK_KIND.group, kind: STACK_KIND.kind };
    const tenancy = tenancyOf({ kind: "project", ...project });
    const { resources, hasMore } = await listBehind(this.#storage, type, tenancy, "", given);
    const stacks = resources.map(namedStack);
    const last = stacks.at(-1);
    return hasMore && last !== undefined ? { stacks, next: last.name } : { stacks };
  }

  /** Takes the name away, unless another stack has it by now. What the stack consists of is removed by its owner before. */
  async remove(
    { name, reference }: Pick<NamedStack, "name" | "reference">,
    options?: CallOptions,
  ): Promise<void> {
    const resource = await readStored(this.#storage, "strong", stackId(reference, name), options);
    if (resource === undefined || decodeKind(resource, Stack).id !== reference.stack) return;
    await this.#storage.deleteCAS(resource.id, resource.version, options);
  }
}

function isAdopterOf(stack: NamedStack, state: FormerState): boolean {
  if ("lineage" in state) return hasLineage(stack, state.lineage);
  const { adoption } = stack;
  return (
    adoption?.kind === "state" && !adoption.handedBack && adoption.placeDigest === state.placeDigest
  );
}

/** Whether a stack continues the state with a lineage. */
export function hasLineage({ adoption }: NamedStack, lineage: string): boolean {
  return adoption?.kind === "state" && !adoption.handedBack && adoption.lineage === lineage;
}

export function lineageAdopted(stack: string, lineage: string): EngineError {
  return new EngineError(
    "ENGINE_STATE_ADOPTED",
    `the stack "${stack}" has adopted the state with lineage ${lineage}`,
  );
}

function requireName(name: string): void {
  if (isStackName(name)) return;
  throw new EngineError(
    "ENGINE_CONFIG_INVALID",
    `"${name}" is not a valid stack name: use letters, digits, ".", "_" and "-", at most 128`,
  );
}

function boundMeanwhile(name: string): EngineError {
  return new EngineError(
    "ENGINE_STATE_NOT_EMPTY",
    `another process wrote the stack "${name}" at the same time`,
  );
}

function stackId(project: ProjectReference, name: string): ResourceId {
  return { uid: "", name, type: STACK_KIND, tenancy: tenancyOf({ kind: "project", ...project }) };
}

function namedStack(resource: Resource): NamedStack {
  const { id, description, createTimeMs, adoption } = decodeKind(resource, Stack);
  const { partition, namespace } = resource.id.tenancy;
  return {
    name: resource.id.name,
    reference: { account: partition, project: namespace, stack: id },
    description,
    createdAtMs: Number(createTimeMs),
    adoption: adoption && decodeOrigin(adoption),
  };
}
