import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import type { StorageCapabilities } from "../../capabilities.ts";
import { StorageError } from "../../errors.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "../../list/types.ts";
import type { Resource, ResourceId, Tenancy, UnversionedType } from "../../resource.ts";
import type {
  BatchOperation,
  ReadConsistency,
  Restore,
  Snapshot,
  StorageBackend,
  Watch,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "../../types.ts";
import type { HostMethod, HostRequest, HostResponse, HostTarget } from "./protocol.ts";

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: StorageError) => void;
}

type Unsent<R> = R extends HostRequest ? Omit<R, "id"> : never;

/**
 * A store in a process of its own, which can be killed and started again. Calls whose answer a kill
 * has cut off fail with `STORAGE_INCONSISTENT` and an unknown outcome, watches with
 * `STORAGE_WATCH_CLOSED`; calls while there is no process fail without effect.
 */
export class ForkedStorage implements StorageBackend {
  readonly #target: HostTarget;
  readonly #execArgv: readonly string[];
  readonly #pending = new Map<number, Pending>();
  #child: ChildProcess | undefined;
  #capabilities: StorageCapabilities | undefined;
  #ids = 0;
  #watches = 0;

  /** `execArgv` are options of Node.js for the process. */
  constructor(target: HostTarget, execArgv: readonly string[] = []) {
    this.#target = target;
    this.#execArgv = execArgv;
  }

  get capabilities(): StorageCapabilities {
    if (this.#capabilities === undefined) throw new StorageError("STORAGE_INCONSISTENT");
    return this.#capabilities;
  }

  /** Starts the process and opens the store. */
  async start(): Promise<void> {
    const entry = fileURLToPath(new URL(`./host${extname(import.meta.url)}`, import.meta.url));
    const child = fork(entry, [], { serialization: "advanced", execArgv: [...this.#execArgv] });
    this.#child = child;
    child.on("message", (response: HostResponse) => this.#settle(response));
    child.once("exit", () => this.#lose(child));
    this.#capabilities = (await this.#ask({
      kind: "open",
      target: this.#target,
    })) as StorageCapabilities;
  }

  /** Kills the process with SIGKILL, and resolves when it is gone. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
  }

  async read(consistency: ReadConsistency, id: ResourceId): Promise<Resource> {
    return (await this.#call("read", consistency, id)) as Resource;
  }

  async writeCAS(resource: Resource, options: WriteOptions = {}): Promise<Resource> {
    return (await this.#call("writeCAS", resource, guardsOf(options))) as Resource;
  }

  async deleteCAS(id: ResourceId, version: string, options: WriteOptions = {}): Promise<void> {
    await this.#call("deleteCAS", id, version, guardsOf(options));
  }

  async list(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
  ): Promise<readonly Resource[]> {
    const found = await this.#call("list", consistency, type, tenancy, namePrefix);
    return found as readonly Resource[];
  }

  async listPage(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ListPageOptions = {},
  ): Promise<ListPage> {
    const args = [consistency, type, tenancy, namePrefix, boundsOf(options)];
    return (await this.#call("listPage", ...args)) as ListPage;
  }

  async listHeads(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ListPageOptions = {},
  ): Promise<ListPage<ResourceHead>> {
    const args = [consistency, type, tenancy, namePrefix, boundsOf(options)];
    return (await this.#call("listHeads", ...args)) as ListPage<ResourceHead>;
  }

  async listByOwner(id: ResourceId): Promise<readonly Resource[]> {
    return (await this.#call("listByOwner", id)) as readonly Resource[];
  }

  async batch(
    operations: readonly BatchOperation[],
    options: WriteOptions = {},
  ): Promise<readonly (Resource | undefined)[]> {
    const results = await this.#call("batch", operations, guardsOf(options));
    return results as readonly (Resource | undefined)[];
  }

  async watchList(
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    { endOfSnapshot, resumeAfter }: WatchOptions = {},
  ): Promise<Watch> {
    this.#watches += 1;
    const watch = this.#watches;
    const options = { endOfSnapshot, resumeAfter };
    await this.#ask({ kind: "watch", watch, args: [type, tenancy, namePrefix, options] });
    const next = async (): Promise<WatchEvent> => {
      const event = await this.#ask({ kind: "next", watch }).catch((error: unknown) => {
        const lost = error instanceof StorageError && error.code === "STORAGE_INCONSISTENT";
        throw lost ? new StorageError("STORAGE_WATCH_CLOSED", error.message) : error;
      });
      return event as WatchEvent;
    };
    const close = (): void => void this.#ask({ kind: "unwatch", watch }).catch(() => undefined);
    return {
      next,
      close,
      [Symbol.dispose]: close,
      [Symbol.asyncIterator]: () => ({ next: async () => ({ value: await next(), done: false }) }),
    };
  }

  snapshot(): Promise<Snapshot> {
    return Promise.reject(new StorageError("STORAGE_UNSUPPORTED"));
  }

  restore(): Promise<Restore> {
    return Promise.reject(new StorageError("STORAGE_UNSUPPORTED"));
  }

  async close(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    const gone = once(child, "exit");
    await this.#call("close");
    child.disconnect();
    await gone;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #call(method: HostMethod, ...args: readonly unknown[]): Promise<unknown> {
    return this.#ask({ kind: "call", method, args });
  }

  #ask(request: Unsent<HostRequest>): Promise<unknown> {
    const child = this.#child;
    if (child === undefined || !child.connected) return Promise.reject(lost("not-applied"));
    this.#ids += 1;
    const id = this.#ids;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      child.send({ ...request, id }, (error) => {
        if (error !== null && this.#pending.delete(id)) reject(lost("unknown"));
      });
    });
  }

  #settle(response: HostResponse): void {
    const pending = this.#pending.get(response.id);
    this.#pending.delete(response.id);
    if (response.ok) pending?.resolve(response.result);
    else {
      const { code, message, details } = response;
      pending?.reject(new StorageError(code, message, { details }));
    }
  }

  #lose(child: ChildProcess): void {
    if (this.#child === child) this.#child = undefined;
    for (const pending of this.#pending.values()) pending.reject(lost("unknown"));
    this.#pending.clear();
  }
}

function guardsOf({ guards }: WriteOptions): WriteOptions {
  return { guards };
}

/** The options that can be sent. */
function boundsOf({ limit, maxBytes, continueAfter }: ListPageOptions): ListPageOptions {
  return { limit, maxBytes, continueAfter };
}

function lost(outcome: "not-applied" | "unknown"): StorageError {
  return new StorageError("STORAGE_INCONSISTENT", "the storage process is gone", {
    details: { outcome },
  });
}
