import { type RpcServer, startServer } from "@stackwright/proto/grpc";
import { type CredentialStore, hasRole, WHOLE_STORE } from "@stackwright/registry";
import { type StorageBackend, StorageError } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import { createBlobsService } from "@stackwright/storage/blob/remote";
import { createStorageService, type Grant } from "@stackwright/storage/remote";

/** Where the storage service is offered, and of what. */
export interface StorageEndpointOptions {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  readonly credentials: CredentialStore;
  readonly host: string;
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
}

/**
 * Offers the store and its blobs over gRPC to workers that have none of their own. A token sees the
 * scopes that were written into it; the token of an operator who is a worker too sees everything.
 */
export async function startStorageEndpoint(options: StorageEndpointOptions): Promise<RpcServer> {
  const { storage, blobs, credentials, host, port, tls } = options;
  const authorize = async (token: string | undefined): Promise<Grant | undefined> => {
    const owner = token === undefined ? undefined : await credentials.tokenOwner(token);
    if (owner === undefined) return undefined;
    if (!hasRole(owner.principal, "worker")) {
      throw refused("the token has not the role worker, which the store needs");
    }
    if (hasRole(owner.principal, "operator")) return { scopes: "all" };
    const scopes = owner.scopes.map(({ partition, peerName, namespace, namePrefix }) => ({
      tenancy: { partition, peerName, namespace },
      namePrefix,
    }));
    if (scopes.length === 0) {
      throw refused("the token has no part of the store; with the role operator it has all of it");
    }
    const whole = owner.scopes.some((scope) => {
      const { partition, peerName, namespace, namePrefix } = WHOLE_STORE;
      return (
        scope.partition === partition &&
        scope.peerName === peerName &&
        scope.namespace === namespace &&
        scope.namePrefix === namePrefix
      );
    });
    return whole ? { scopes: "all" } : { scopes, blobs: "write" };
  };
  return startServer({
    address: { host, port },
    services: [
      createStorageService({ storage, authorize }),
      createBlobsService({ blobs, authorize }),
    ],
    ...(tls === undefined
      ? {}
      : { tls: { identity: { certificate: tls.cert, privateKey: tls.key } } }),
  });
}

function refused(why: string): StorageError {
  return new StorageError("STORAGE_PERMISSION_DENIED", why);
}
