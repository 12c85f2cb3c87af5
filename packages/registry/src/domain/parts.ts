import { randomUUID } from "node:crypto";
import {
  type Logger,
  type Scheduler,
  type StorageBackend,
  systemScheduler,
} from "@stackwright/storage";
import { AuditLog } from "./audit-log.ts";
import { type RegistryPolicy, type ResolvedPolicy, resolvePolicy } from "./policy.ts";
import { RecordStore } from "./record-store.ts";
import { Turns } from "./turns.ts";

/** What every part of the registry's domain works with. */
export interface RegistryParts {
  readonly records: RecordStore;
  readonly audit: AuditLog;
  readonly policy: ResolvedPolicy;
  readonly scheduler: Scheduler;
  readonly turns: Turns;
  readonly logger: Logger | undefined;
  readonly newId: () => string;
}

/** Options of {@link createParts}. */
export interface PartsOptions {
  readonly storage: StorageBackend;
  readonly policy?: RegistryPolicy | undefined;
  /** @default the process's */
  readonly scheduler?: Scheduler | undefined;
  readonly logger?: Logger | undefined;
  /** Makes ids of providers and versions. @default random UUIDs */
  readonly newId?: (() => string) | undefined;
}

export function createParts(options: PartsOptions): RegistryParts {
  const { storage, logger, scheduler = systemScheduler(), newId = randomUUID } = options;
  const records = new RecordStore(storage);
  return {
    records,
    audit: new AuditLog(records, scheduler, logger),
    policy: resolvePolicy(options.policy),
    scheduler,
    turns: new Turns(),
    logger,
    newId,
  };
}
