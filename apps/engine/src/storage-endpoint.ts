import type { Logger } from "@stackwright/base/logger";
import { type RpcServer, startServer } from "@stackwright/proto/grpc";
import { type CredentialStore, hasRole, WHOLE_STORE } from "@stackwright/registry";
import { type StorageBackend, StorageError } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import { createBlobsService } from "@stackwright/storage/blob/remote";
import { createStorageService, type Grant } from "@stackwright/storage/remote";
import { AUDIT_KINDS, grantOfScopes, hasNoKinds, SERVER_RUNS } from "./storage-grant.ts";

/** Where the storage service is offered, and of what. */
interface StorageEndpointOptions {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  readonly credentials: CredentialStore;
  readonly host: string;
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly logger?: Logger | undefined;
}

/** Calls that one connection has open at a time: more than commands and workers ever need. */
const CALLS_PER_CONNECTION = 128;

/**
 * Offers the store and its blobs over gRPC to workers that have none of their own. A token sees the scopes
 * that were written into it; the token of an operator who is a worker too sees all stacks and private
 * providers. Credentials, secrets and the audit trail are seen by no token.
 */
export async function startStorageEndpoint(options: StorageEndpointOptions): Promise<RpcServer> {
  const { storage, blobs, host, port, tls } = options;
  const authorize = authorizeTokens(options);
  return startServer({
    address: { host, port },
    services: [
      createStorageService({ storage, authorize, appendOnly: AUDIT_KINDS, protect: SERVER_RUNS }),
      createBlobsService({ blobs, authorize }),
    ],
    maxConcurrentCalls: CALLS_PER_CONNECTION,
    ...(tls === undefined
      ? {}
      : { tls: { identity: { certificate: tls.cert, privateKey: tls.key } } }),
  });
}

/** What the tokens of a credential store allow in the store. */
function authorizeTokens({
  credentials,
  logger,
}: Pick<StorageEndpointOptions, "credentials" | "logger">) {
  const logged = new Set<string>();
  return async (token: string | undefined): Promise<Grant | undefined> => {
    const owner = token === undefined ? undefined : await credentials.tokenOwner(token);
    if (owner === undefined) return undefined;
    const { principal, scopes } = owner;
    if (!hasRole(principal, "worker")) {
      throw refused("the token has not the role worker, which the store needs");
    }
    if (scopes.length === 0) {
      if (hasRole(principal, "operator")) return grantOfScopes([WHOLE_STORE]);
      throw refused(
        "the token has no part of the store; with the role site-admin it has all stacks of it",
      );
    }
    if (scopes.some(hasNoKinds) && !logged.has(principal.actor)) {
      if (logged.size < 10_000) logged.add(principal.actor);
      logger?.warn(
        { actor: principal.actor },
        "a token has a scope without kinds, which the next release refuses; make a new one",
      );
    }
    return grantOfScopes(scopes);
  };
}

function refused(why: string): StorageError {
  return new StorageError("STORAGE_PERMISSION_DENIED", why);
}
