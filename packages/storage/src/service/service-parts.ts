import { type Clock, systemClock } from "@stackwright/base/clock";
import type { RetryPolicy } from "@stackwright/base/retry";
import type { StorageBackend } from "../types.ts";
import { createUlidGenerator } from "../ulid.ts";
import { type RetryParts, resolveRetryPolicy } from "./retry.ts";
import { TOMBSTONE_TYPE, TOMBSTONE_URL } from "./tombstone.ts";
import { type TypeRegistration, TypeRegistry } from "./type-registry.ts";

/** What the operations of the service work with. */
export interface ServiceParts {
  readonly storage: StorageBackend;
  readonly types: TypeRegistry;
  readonly clock: Clock;
  readonly ulid: () => string;
  readonly retry: RetryParts;
}

/** What {@link createServiceParts} fills defaults into. */
interface ServicePartsOptions {
  readonly storage: StorageBackend;
  readonly types?: readonly TypeRegistration[];
  readonly retry?: Partial<RetryPolicy>;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly ulid?: () => string;
}

/** Fills in the defaults and registers the types of the service itself. */
export function createServiceParts(options: ServicePartsOptions): ServiceParts {
  const clock = options.clock ?? systemClock;
  const tombstones: TypeRegistration = { type: TOMBSTONE_TYPE, typeUrl: TOMBSTONE_URL };
  return {
    storage: options.storage,
    types: new TypeRegistry([tombstones, ...(options.types ?? [])]),
    clock,
    ulid: options.ulid ?? createUlidGenerator({ wallMs: () => clock.wallMs() }),
    retry: {
      policy: resolveRetryPolicy(options.retry),
      clock,
      random: options.random ?? Math.random,
    },
  };
}
