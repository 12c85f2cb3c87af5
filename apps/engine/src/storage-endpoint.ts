import { type Clock, systemClock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { type RpcServer, startServer } from "@stackwright/proto/grpc";
import { type CredentialStore, hasRole, type Principal, WHOLE_STORE } from "@stackwright/registry";
import { type StorageBackend, StorageError, tenancyOf } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import { createBlobsService } from "@stackwright/storage/blob/remote";
import { FENCE_TYPE, HEARTBEAT_TYPE } from "@stackwright/storage/lease";
import { type CallBounds, createStorageService, type Grant } from "@stackwright/storage/remote";
import { WORKER_LEASE } from "./domain/run-places.ts";
import { workerPrefix } from "./domain/worker-prefix.ts";
import { isRunToken } from "./queue/run-token.ts";
import { AUDIT_KINDS, grantOfScopes, hasNoKinds, SERVER_RUNS } from "./storage-grant.ts";
import { ClaimGrants } from "./worker/claim-grants.ts";
import { LEASE_TOKEN } from "./worker/remote-protocol.ts";

/** Where the storage service is offered, and of what. */
interface StorageEndpointOptions {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  readonly credentials: CredentialStore;
  /** @default the clock of the process */
  readonly clock?: Clock | undefined;
  readonly host: string;
  readonly port: number;
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  readonly logger?: Logger | undefined;
}

/** Calls that one connection has open at a time: more than commands and workers ever need. */
const CALLS_PER_CONNECTION = 128;
/** Calls that are open at a time over all connections, of the store and of its blobs each. */
const MAX_CALLS: CallBounds = Object.freeze({ all: 4_096, perAccount: 1_024, perToken: 512 });
/** A client that is gone without a word is noticed by this, so that its calls are not counted for long. */
const KEEPALIVE = { "grpc.keepalive_time_ms": 30_000, "grpc.keepalive_timeout_ms": 10_000 };

/**
 * Offers the store and its blobs over gRPC to workers that have none of their own. A token sees the scopes
 * that were written into it; the token of an operator who is a worker too sees all stacks and private
 * providers. Credentials, secrets and the audit trail are seen by no token.
 */
export async function startStorageEndpoint(options: StorageEndpointOptions): Promise<RpcServer> {
  const { storage, blobs, host, port, tls } = options;
  const access = { authorize: authorizeTokens(options), maxCalls: MAX_CALLS };
  return startServer({
    address: { host, port },
    services: [
      createStorageService({ storage, ...access, appendOnly: AUDIT_KINDS, protect: SERVER_RUNS }),
      createBlobsService({ blobs, ...access }),
    ],
    maxConcurrentCalls: CALLS_PER_CONNECTION,
    options: KEEPALIVE,
    ...(tls === undefined
      ? {}
      : { tls: { identity: { certificate: tls.cert, privateKey: tls.key } } }),
  });
}

/** What the tokens of a credential store allow in the store. */
function authorizeTokens({
  storage,
  credentials,
  clock = systemClock,
  logger,
}: Pick<StorageEndpointOptions, "storage" | "credentials" | "clock" | "logger">) {
  const logged = new Set<string>();
  const claims = new ClaimGrants({ storage, clock });
  return async (token: string | undefined): Promise<Grant | undefined> => {
    if (token !== undefined && isRunToken(token)) return claims.authorize(token);
    if (token?.startsWith(LEASE_TOKEN) === true) {
      const holder = await credentials.tokenOwner(token.slice(LEASE_TOKEN.length));
      if (holder === undefined) return undefined;
      requireWorker(holder.principal);
      return leaseGrant(holder.principal);
    }
    const owner = token === undefined ? undefined : await credentials.tokenOwner(token);
    if (owner === undefined) return undefined;
    const { principal, scopes } = owner;
    requireWorker(principal);
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

function requireWorker(principal: Principal): void {
  if (hasRole(principal, "worker")) return;
  throw refused("the token has not the role worker, which the store needs");
}

/** The leases of the workers of one credential: with that of another, a worker could take its runs. */
function leaseGrant(credential: Principal): Grant {
  const kinds = [FENCE_TYPE, HEARTBEAT_TYPE];
  const namePrefix = `${WORKER_LEASE}${workerPrefix(credential)}`;
  const tenancy = tenancyOf({ kind: "site" });
  return { scopes: [{ tenancy, namePrefix, kinds, access: "write" }], blobs: "none" };
}

function refused(why: string): StorageError {
  return new StorageError("STORAGE_PERMISSION_DENIED", why);
}
