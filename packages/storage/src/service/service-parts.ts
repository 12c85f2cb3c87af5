import { type Scheduler, systemScheduler } from "../scheduler.ts";
import type { StorageBackend } from "../types.ts";
import { createUlidGenerator } from "../ulid.ts";
import { type RetryParts, type RetryPolicy, resolveRetryPolicy } from "./retry.ts";
import { TOMBSTONE_TYPE, TOMBSTONE_URL } from "./tombstone.ts";
import { type TypeRegistration, TypeRegistry } from "./type-registry.ts";

/** What the operations of the service work with. */
export interface ServiceParts {
  readonly storage: StorageBackend;
  readonly types: TypeRegistry;
  readonly scheduler: Scheduler;
  readonly ulid: () => string;
  readonly retry: RetryParts;
}

/** What {@link createServiceParts} fills defaults into. */
export interface ServicePartsOptions {
  readonly storage: StorageBackend;
  readonly types?: readonly TypeRegistration[];
  readonly retry?: RetryPolicy;
  readonly scheduler?: Scheduler;
  readonly random?: () => number;
  readonly ulid?: () => string;
}

/** Fills in the defaults and registers the types of the service itself. */
export function createServiceParts(options: ServicePartsOptions): ServiceParts {
  const scheduler = options.scheduler ?? systemScheduler();
  const tombstones: TypeRegistration = { type: TOMBSTONE_TYPE, typeUrl: TOMBSTONE_URL };
  return {
    storage: options.storage,
    types: new TypeRegistry([tombstones, ...(options.types ?? [])]),
    scheduler,
    ulid: options.ulid ?? createUlidGenerator({ wallMs: () => scheduler.wallMs() }),
    retry: {
      policy: resolveRetryPolicy(options.retry),
      scheduler,
      random: options.random ?? Math.random,
    },
  };
}
