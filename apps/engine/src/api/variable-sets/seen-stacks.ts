import { forEachLimited } from "@stackwright/base/limiter";
import { listResourceHeads, type StorageBackend } from "@stackwright/storage";
import { projectTenancy, STACK_KIND } from "../../domain/run-places.ts";

/** Projects that are listed at once. */
const LISTINGS = 8;

/** The names of the stacks of projects, each project listed once: for one request. */
export class SeenStacks {
  readonly #storage: StorageBackend;
  readonly #account: string;
  readonly #names = new Map<string, Promise<readonly string[]>>();

  constructor(storage: StorageBackend, account: string) {
    this.#storage = storage;
    this.#account = account;
  }

  async of(projects: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
    const found = new Map<string, readonly string[]>();
    await forEachLimited(projects, LISTINGS, async (project) => {
      const names = this.#names.get(project) ?? this.#list(project);
      this.#names.set(project, names);
      found.set(project, await names);
    });
    return found;
  }

  async #list(project: string): Promise<readonly string[]> {
    const tenancy = projectTenancy({ account: this.#account, project });
    const { type } = STACK_KIND;
    const names: string[] = [];
    for await (const { id } of listResourceHeads(this.#storage, "strong", type, tenancy, "")) {
      names.push(id.name);
    }
    return names;
  }
}
