import { type RpcServer, startServer } from "@stackwright/proto/grpc";
import { createRemoteStorage, createStorageService } from "../../engine/remote.ts";
import type { StorageBackend } from "../../types.ts";
import type { CreateHarness } from "../harness.ts";

/** The harness of the remote engine over a harness of another one: one server per store. */
export function overRemote(create: CreateHarness): CreateHarness {
  return async () => {
    const inner = await create();
    let served: { readonly storage: StorageBackend; readonly server: RpcServer } | undefined;
    return {
      open: async (options = {}) => {
        if (served === undefined) {
          const storage = await inner.open(options);
          const authorize = () => ({ scopes: "all" }) as const;
          const server = await startServer({
            services: [createStorageService({ storage, authorize })],
          });
          served = { storage, server };
        }
        const { watchBuffer } = options;
        return createRemoteStorage({
          address: served.server.address,
          ...(watchBuffer === undefined ? {} : { watchBuffer }),
        });
      },
      compact: async () => {
        if (served !== undefined) await inner.compact?.(served.storage);
      },
      [Symbol.asyncDispose]: async () => {
        await served?.server.close();
        await served?.storage.close();
        await inner[Symbol.asyncDispose]();
      },
    };
  };
}
