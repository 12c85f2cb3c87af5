import { randomUUID } from "node:crypto";
import { type Clock, systemClock } from "@stackwright/base/clock";
import { KeyedMutex } from "@stackwright/base/keyed-mutex";
import type { Logger } from "@stackwright/base/logger";
import { type StorageBackend } from "@stackwright/storage";
import { AuditLog } from "./audit-log.ts";
import { type RegistryPolicy, type ResolvedPolicy, resolvePolicy } from "./policy.ts";
import { RecordStore } from "./record-store.ts";

/** What every part of the registry's domain works with. */
export interface RegistryParts {
  readonly records: RecordStore;
  readonly audit: AuditLog;
  readonly policy: ResolvedPolicy;
  readonly clock: Clock;
  readonly mutex: KeyedMutex;
  readonly logger: Logger | undefined;
  readonly newId: () => string;
}

/** Options of {@link createParts}. */
interface PartsOptions {
  readonly storage: StorageBackend;
  readonly policy?: RegistryPolicy | undefined;
  /** @default the process's */
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
  /** Makes ids of providers and versions. @default random UUIDs */
  readonly newId?: (() => string) | undefined;
}

export function createParts(options: PartsOptions): RegistryParts {
  const { storage, logger, clock = systemClock, newId = randomUUID } = options;
  const records = new RecordStore(storage);
  return {
    records,
    audit: new AuditLog(records, clock, logger),
    policy: resolvePolicy(options.policy),
    clock,
    mutex: new KeyedMutex(),
    logger,
    newId,
  };
}
