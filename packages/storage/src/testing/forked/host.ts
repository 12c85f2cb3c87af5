import { StorageError } from "../../errors.ts";
import type { StorageBackend, Watch } from "../../types.ts";
import type { HostRequest, HostResponse } from "./protocol.ts";

// Entry of a process that holds a store and is there to be killed. It does what it is asked for and
// answers; nothing is answered before the store has answered.

const watches = new Map<number, Watch>();
let storage: StorageBackend | undefined;

process.on("message", (request: HostRequest) => void answer(request));

async function answer(request: HostRequest): Promise<void> {
  let response: HostResponse;
  try {
    response = { id: request.id, ok: true, result: await perform(request) };
  } catch (error) {
    const { code, message, details } = StorageError.from(error);
    response = { id: request.id, ok: false, code, message, details };
  }
  process.send?.(response);
}

async function perform(request: HostRequest): Promise<unknown> {
  if (request.kind === "open") {
    const { module, factory, options } = request.target;
    const factories = (await import(module)) as Record<
      string,
      (options: unknown) => Promise<StorageBackend> | StorageBackend
    >;
    storage = await factories[factory]?.(options);
    return storage?.capabilities;
  }
  if (storage === undefined) throw new StorageError("STORAGE_INCONSISTENT", "not open");
  switch (request.kind) {
    case "call": {
      const method = storage[request.method] as (...args: readonly unknown[]) => Promise<unknown>;
      return method.apply(storage, [...request.args]);
    }
    case "watch": {
      const args = request.args as Parameters<StorageBackend["watchList"]>;
      watches.set(request.watch, await storage.watchList(...args));
      return undefined;
    }
    case "next":
      return watches.get(request.watch)?.next();
    case "unwatch":
      watches.get(request.watch)?.close();
      watches.delete(request.watch);
      return undefined;
    default:
      return request satisfies never;
  }
}
