import type { Logger } from "@stackwright/base/logger";
import type { Resource } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import type { Place } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { StackSetReference } from "./stack-set-places.ts";

/** The stack sets with operations that have not ended, as the records of all sets say that are given to it. */
export class OpenStackSets {
  readonly #sets = new Map<string, StackSetReference>();
  readonly #logger: Logger;
  readonly #onOpen: (set: StackSetReference) => void;

  constructor(logger: Logger, onOpen: (set: StackSetReference) => void) {
    this.#logger = logger;
    this.#onOpen = onOpen;
  }

  set(resource: Resource): void {
    const set = stackSetAt(resource.id);
    this.#sets.delete(stackSetKey(set));
    if (!this.#isOpen(resource)) return;
    this.#sets.set(stackSetKey(set), set);
    this.#onOpen(set);
  }

  delete(resource: Resource): void {
    this.#sets.delete(stackSetKey(stackSetAt(resource.id)));
  }

  all(): readonly StackSetReference[] {
    return [...this.#sets.values()];
  }

  #isOpen(resource: Resource): boolean {
    try {
      return decodeRecord(SERVER_KINDS.rfsStackSet, resource).openOperations.length > 0;
    } catch (error) {
      this.#logger.error({ set: resource.id.name, err: error }, "a stack set cannot be read");
      return false;
    }
  }
}

/** The set whose record is in a place. */
function stackSetAt({ tenancy, name }: Place): StackSetReference {
  return { account: tenancy.partition, name };
}

/** The same text for the same set. */
export function stackSetKey({ account, name }: StackSetReference): string {
  return `${account}\0${name}`;
}
