import { Stack, StackAdoption } from "@stackwright/proto/stackwright";
import {
  type CallOptions,
  createUlidGenerator,
  isStorageError,
  type Resource,
  type ResourceId,
  type ResourceType,
  readStored,
  type StorageBackend,
  tenancyOf,
} from "@stackwright/storage";
import { EngineError } from "../errors.ts";
import { decodeKind, typeUrl } from "./kinds.ts";
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

/** A stack as people know it. */
export interface NamedStack {
  readonly name: string;
  readonly reference: StackReference;
  readonly description: string;
  /** Milliseconds since 1970. */
  readonly createdAtMs: number;
  /** What was decided about a Terraform state that the configuration had before. */
  readonly adoption: StackOrigin | undefined;
}

/** Where the objects of a stack come from, if its configuration was used with another command before. */
export type StackOrigin = {
  /** Milliseconds since 1970. */
  readonly timeMs: number;
  readonly actor: string;
} & (
  | { readonly kind: "fresh"; readonly evidence: readonly string[]; readonly forced: boolean }
  | { readonly kind: "state"; readonly lineage: string; readonly serial: bigint }
);

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
    if (!isStackName(name)) {
      throw new EngineError(
        "ENGINE_CONFIG_INVALID",
        `"${name}" is no name for a stack: letters, digits, ".", "_" and "-", at most 128`,
      );
    }
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
      const message = { ...decodeKind(resource, Stack), adoption: adoptionOf(origin) };
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

  /** Takes the name away. What the stack consists of is removed by its owner before. */
  async remove(project: ProjectReference, name: string, options?: CallOptions): Promise<void> {
    const resource = await readStored(this.#storage, "strong", stackId(project, name), options);
    if (resource !== undefined) {
      await this.#storage.deleteCAS(resource.id, resource.version, options);
    }
  }
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
    adoption: adoption && originOf(adoption),
  };
}

function originOf({ timeMs, actor, origin }: StackAdoption): StackOrigin | undefined {
  const base = { timeMs: Number(timeMs), actor };
  switch (origin?.$case) {
    case "fresh":
      return {
        ...base,
        kind: "fresh",
        evidence: origin.value.evidence,
        forced: origin.value.forced,
      };
    case "state":
      return {
        ...base,
        kind: "state",
        lineage: origin.value.lineage,
        serial: origin.value.serial,
      };
    case undefined:
      return undefined;
    default:
      return origin satisfies never;
  }
}

function adoptionOf(origin: StackOrigin): StackAdoption {
  const { timeMs, actor } = origin;
  return StackAdoption.fromPartial({
    timeMs: BigInt(timeMs),
    actor,
    origin:
      origin.kind === "fresh"
        ? { $case: "fresh", value: { evidence: [...origin.evidence], forced: origin.forced } }
        : { $case: "state", value: { lineage: origin.lineage, serial: origin.serial } },
  });
}
