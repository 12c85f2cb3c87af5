import { randomBytes } from "node:crypto";
import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { silentLogger } from "@stackwright/base/logger";
import {
  type KeyEncryptionKey,
  openStore,
  parseStoreAddress,
  readStoreLayout,
  type StoreAddress,
} from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import {
  CredentialStore,
  createKeyRing,
  createRegistry,
  isRegistryError,
} from "@stackwright/registry";
import {
  isStorageError,
  listResourceHeads,
  type ResourceId,
  type StorageBackend,
  WILDCARD,
} from "@stackwright/storage";
import { StoreClock } from "../clock/store-clock.ts";
import { STACK_KIND } from "../domain/run-places.ts";
import { keyFileOf, serverKeys } from "../server-key.ts";
import { listServerKeyUses } from "../server-key-uses.ts";
import {
  keySourceOf,
  type ResolvedServerOptions,
  resolveServerOptions,
  type ServerOptions,
} from "../server-options.ts";
import { stuckBoundsOf } from "../step-bounds.ts";
import { examine } from "./examine.ts";
import type { Finding } from "./finding.ts";
import type { ServerFacts } from "./server-facts.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };

/** What is stuck in an account of a store. */
interface ExaminedAccount {
  readonly account: string;
  readonly findings: readonly Finding[];
}

/** What a store says without a server. */
interface ExaminedStore {
  /** The accounts with something in them, or the one that was asked for. */
  readonly accounts: readonly ExaminedAccount[];
  /** Why the keys were not examined; undefined where they were. */
  readonly withoutKeys: string | undefined;
}

interface ExamineStoreParts {
  readonly env?: NodeJS.ProcessEnv;
  readonly directory?: string;
  /** @default all accounts */
  readonly account?: string | undefined;
  readonly signal?: AbortSignal;
}

/**
 * What is stuck in a store and why, as a server says it, without one: for all accounts, with keys, clock and disks. It works beside servers
 * that run, and changes nothing. `ENGINE_CONFIG_INVALID` for tables of an older release, which an open would change.
 */
export async function examineStore(
  options: ServerOptions,
  parts: ExamineStoreParts = {},
): Promise<ExaminedStore> {
  const resolved = resolveServerOptions(options);
  const { env = process.env, directory = process.cwd() } = parts;
  const { signal = new AbortController().signal } = parts;
  const address = parseStoreAddress(resolved.store, directory);
  await refuseOldTables(address);
  const blobDirectory = resolve(directory, resolved.blobDirectory ?? "blobs");
  await using store = await openStore(address, { readOnly: true, blobDirectory });
  const { storage, blobs } = store;
  const clock = systemClock;
  const keys = await presentKeys(resolved, address, env);
  // Nothing is decrypted by it.
  const ring = createKeyRing([randomBytes(32)]);
  const registry = createRegistry({ storage, blobs, keys: ring, clock });
  const credentials = new CredentialStore({ records: registry.parts.records, keys: ring, clock });
  const storeClock = new StoreClock({ clock, logger: silentLogger, storeMs: store.serverMs });
  const own = address.kind === "sqlite" ? [address.directory] : [];
  const runDirectory =
    resolved.runDirectory === undefined ? [] : [resolve(directory, resolved.runDirectory)];
  const server: ServerFacts = {
    secretKeys: async (during) => {
      if (keys.list === undefined) return [];
      const uses = await listServerKeyUses(storage, keys.list, { signal: during });
      // Users whose commands share the store have their own keys for their stacks.
      return uses.filter(({ isAvailable, secrets }) => isAvailable || secrets > 0);
    },
    // A server makes them when it needs them; those that are there are among its secrets.
    identityKeys: async () => undefined,
    clockStanding: async () => storeClock.standing(),
    directories: [...own, ...runDirectory, blobDirectory],
  };
  const names =
    parts.account === undefined ? await accountsOf(storage, credentials, signal) : [parts.account];
  const accounts: ExaminedAccount[] = [];
  for (const account of names) {
    const findings = await examine({
      storage,
      clock,
      credentials,
      account,
      stuck: stuckBoundsOf(resolved.runLimits),
      // Once is enough.
      server: accounts.length === 0 ? server : undefined,
      signal,
    });
    accounts.push({ account, findings });
  }
  return { accounts, withoutKeys: keys.missing };
}

/** Tables of a server's database are brought to the layout of this release by an open, which is not for a doctor to do. */
export async function refuseOldTables(address: StoreAddress): Promise<void> {
  if (address.kind === "sqlite") return;
  const layout = await readStoreLayout(address);
  if (layout === undefined || layout.stored >= layout.newest) return;
  const why = `the tables of the store have layout ${layout.stored} of an older release, and this one needs ${layout.newest}`;
  const advice =
    "Examine it with the release of its servers, or bring it to this one: stackwright admin upgrade.";
  throw new EngineError("ENGINE_CONFIG_INVALID", why, { details: { advice } });
}

/** The keys of the server; none where it has none that is known here. Makes none. */
async function presentKeys(
  options: ResolvedServerOptions,
  address: StoreAddress,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly list?: readonly KeyEncryptionKey[]; readonly missing: string | undefined }> {
  const file = keyFileOf(options, address, env);
  if (file !== undefined) {
    try {
      await access(file);
    } catch {
      return { missing: `there is no key file ${file}` };
    }
  }
  if (keySourceOf(options, env) === undefined && address.kind !== "sqlite") {
    return { missing: "--key-file, --key-variable or --key-command names the key of the server" };
  }
  return { list: await serverKeys(options, address, env), missing: undefined };
}

/** All accounts with a stack or with credentials, and `default` where there is none. */
async function accountsOf(
  storage: StorageBackend,
  credentials: CredentialStore,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = await credentials.list().catch((error: unknown) => {
    // Named with the findings.
    if (isStorageError(error, "STORAGE_CORRUPT") || isRegistryError(error, "REGISTRY_CORRUPT")) {
      return [];
    }
    throw error;
  });
  const names = new Set(found.map(({ account }) => account));
  const note = ({ id }: { readonly id: ResourceId }) => void names.add(id.tenancy.partition);
  const { type } = STACK_KIND;
  const options = { signal, onDamaged: note };
  for await (const head of listResourceHeads(storage, "strong", type, ANYWHERE, "", options)) {
    note(head);
  }
  return names.size === 0 ? ["default"] : [...names].toSorted();
}
