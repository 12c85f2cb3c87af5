import { StorageError } from "../errors.ts";
import type { Resource, ResourceData, ResourceType, UnversionedType } from "../resource.ts";

/** Which parts of a tenancy a type's resources have. */
export type ResourceScope = "cluster" | "partition" | "namespace";

/** Turns the payload of one group version into that of another. */
export interface GroupVersionConverter {
  readonly from: string;
  readonly to: string;
  readonly convert: (data: ResourceData) => ResourceData;
}

/** A type that the service takes, and its rules. */
export interface TypeRegistration {
  readonly type: ResourceType;
  /** @default "namespace" */
  readonly scope?: ResourceScope;
  /** The type URL that payloads have to carry; any if absent. */
  readonly typeUrl?: string;
  /**
   * Fills in defaults and generated fields before validation. Gives the resource to be stored; id,
   * owner, version and status stay as they are.
   */
  readonly mutate?: (resource: Resource) => Resource;
  /** Gives what is wrong with a resource, or nothing. */
  readonly validate?: (resource: Resource) => string | undefined;
  /** Conversions between group versions of the kind; steps are chained. */
  readonly converters?: readonly GroupVersionConverter[];
}

const GROUP = /^[a-z][a-z\d_]+$/;
const GROUP_VERSION = /^v([a-z\d]+)?\d$/;
const KIND = /^[A-Z][A-Za-z\d]+$/;

/** The types that a service takes. */
export class TypeRegistry {
  readonly #types = new Map<string, TypeRegistration>();
  readonly #converters = new Map<string, GroupVersionConverter[]>();

  constructor(registrations: readonly TypeRegistration[]) {
    for (const registration of registrations) this.#add(registration);
  }

  /** The registration of an exact type; `STORAGE_INVALID_ARGUMENT` when there is none. */
  resolve(type: ResourceType): TypeRegistration {
    const registration = this.#types.get(nameOf(type));
    if (registration === undefined) {
      throw new StorageError(
        "STORAGE_INVALID_ARGUMENT",
        `resource type ${nameOf(type)} is not registered`,
        { details: { field: "type" } },
      );
    }
    return registration;
  }

  /**
   * A stored resource in the given group version: as it is, converted, or `undefined` when there is
   * no way from one to the other.
   */
  convert(stored: Resource, groupVersion: string): Resource | undefined {
    const { type } = stored.id;
    if (type.groupVersion === groupVersion) return stored;
    const path = this.#path(type, groupVersion);
    if (path === undefined) return undefined;
    let { data } = stored;
    for (const step of path) data = data === undefined ? undefined : step.convert(data);
    return Object.freeze({
      ...stored,
      id: Object.freeze({ ...stored.id, type: Object.freeze({ ...type, groupVersion }) }),
      ...(data === undefined ? {} : { data: Object.freeze({ ...data }) }),
    });
  }

  #add(registration: TypeRegistration): void {
    const { type, converters = [] } = registration;
    const wellNamed =
      GROUP.test(type.group) && GROUP_VERSION.test(type.groupVersion) && KIND.test(type.kind);
    if (!wellNamed) {
      throw new StorageError(
        "STORAGE_INVALID_ARGUMENT",
        `${nameOf(type)} is not a valid type name`,
      );
    }
    if (this.#types.has(nameOf(type))) {
      throw new StorageError("STORAGE_INVALID_ARGUMENT", `${nameOf(type)} is registered twice`);
    }
    this.#types.set(nameOf(type), registration);
    const kind = kindOf(type);
    this.#converters.set(kind, [...(this.#converters.get(kind) ?? []), ...converters]);
  }

  /** The shortest chain of converters, found breadth first. */
  #path(type: ResourceType, groupVersion: string): readonly GroupVersionConverter[] | undefined {
    const converters = this.#converters.get(kindOf(type)) ?? [];
    let ends: { readonly at: string; readonly path: readonly GroupVersionConverter[] }[] = [
      { at: type.groupVersion, path: [] },
    ];
    const reached = new Set([type.groupVersion]);
    while (ends.length > 0) {
      const next: typeof ends = [];
      for (const { at, path } of ends) {
        for (const converter of converters) {
          if (converter.from !== at || reached.has(converter.to)) continue;
          const longer = [...path, converter];
          if (converter.to === groupVersion) return longer;
          reached.add(converter.to);
          next.push({ at: converter.to, path: longer });
        }
      }
      ends = next;
    }
    return undefined;
  }
}

function nameOf(type: ResourceType): string {
  return `${type.group}.${type.groupVersion}.${type.kind}`;
}

function kindOf(type: UnversionedType): string {
  return `${type.group}.${type.kind}`;
}
