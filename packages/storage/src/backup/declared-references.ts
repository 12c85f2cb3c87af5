import type { BlobReferenceKind } from "../blob/collect-unreferenced.ts";
import { StorageError } from "../errors.ts";
import type { Resource } from "../resource.ts";
import { shownResource } from "./resource-line.ts";

/** The blobs that resources of declared kinds refer to. Those of other kinds are not known. */
export class DeclaredReferences {
  readonly #kinds: ReadonlyMap<string, BlobReferenceKind>;

  constructor(kinds: readonly BlobReferenceKind[]) {
    this.#kinds = new Map(kinds.map((kind) => [`${kind.type.group}\0${kind.type.kind}`, kind]));
  }

  /** Digests; `STORAGE_CORRUPT` when the kind cannot read the resource. */
  of(resource: Resource): readonly string[] {
    const { group, kind } = resource.id.type;
    try {
      return [...(this.#kinds.get(`${group}\0${kind}`)?.blobs?.(resource) ?? [])];
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new StorageError("STORAGE_CORRUPT", `${shownResource(resource)}: ${reason}`, {
        cause: error,
      });
    }
  }
}
