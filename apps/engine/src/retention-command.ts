import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { silentLogger } from "@stackwright/base/logger";
import { openStore, parseStoreAddress } from "@stackwright/core";
import { createKeyRing, createRegistry } from "@stackwright/registry";
import { planRetentionOf, runRetentionOf } from "./plan-expiry.ts";
import { requireStore } from "./require-store.ts";
import { collectRemains, doEach, finishProjects, sweepRecords } from "./retention/clean-store.ts";
import { resolveRunRetention } from "./retention/expire-runs.ts";
import { parseServeArguments } from "./serve-arguments.ts";
import { resolveServerOptions, type ServerOptions } from "./server-options.ts";
import { storeHistoryOf } from "./store-history.ts";

const DAY_MS = 24 * 3_600_000;

/** What a bound is for, what it is, and the options of a server that set it. */
interface RetentionRow {
  readonly what: string;
  readonly kept: string;
  readonly options: string;
}

/** How long a server with some options keeps what has bounds of its own. */
export function retentionRows(options: ServerOptions): readonly RetentionRow[] {
  const runs = resolveRunRetention(runRetentionOf(options));
  const plans = planRetentionOf(options);
  const { history, auditDays = 90 } = options;
  const bounds = [
    ...(history?.commits === undefined ? [] : [counted(history.commits, "commit")]),
    ...(history?.mib === undefined ? [] : [`${history.mib} MiB`]),
    ...(history?.hours === undefined ? [] : [counted(history.hours, "hour")]),
  ];
  return [
    {
      what: "ended runs",
      kept: `${runs.perStack} of a stack, ${days(runs.maxAgeMs)}`,
      options: "--runs-per-stack, --run-days",
    },
    {
      what: "events and logs of ended runs",
      kept: days(runs.logAgeMs),
      options: "--run-log-days",
    },
    {
      what: "saved plans of commands",
      kept: `${plans.perStack} of a stack, ${days(plans.maxAgeMs)}`,
      options: "--plans-per-stack, --plan-days",
    },
    { what: "audit trail", kept: counted(auditDays, "day"), options: "--audit-days" },
    {
      what: "history of the store",
      kept: bounds.length === 0 ? "as the store is set" : bounds.join(", "),
      options: "--history-commits, --history-mib, --history-hours",
    },
  ];
}

/** What a cleaning removed, by what it was. */
type RemovedRecords = ReadonlyMap<string, number>;

/**
 * Removes at once what servers with these options would remove within their next hour, and gives the store the bounds of its history that are named.
 * Servers may use the store meanwhile; an embedded store must not be in use by one (`STORAGE_LOCKED`).
 */
export async function enforceRetention(
  options: ServerOptions,
  parts: { readonly directory?: string; readonly signal?: AbortSignal } = {},
): Promise<RemovedRecords> {
  const resolved = resolveServerOptions(options);
  const { directory = process.cwd(), signal = new AbortController().signal } = parts;
  const address = parseStoreAddress(resolved.store, directory);
  await requireStore(address);
  await using store = await openStore(address, {
    blobDirectory: resolve(directory, resolved.blobDirectory ?? "blobs"),
    // The bounds that a store keeps are those of the last that named any.
    ...(resolved.history !== undefined && { history: storeHistoryOf(resolved) }),
  });
  const clock = systemClock;
  const registry = createRegistry({
    storage: store.storage,
    blobs: store.blobs,
    // Nothing is encrypted or decrypted here, so the key of the server is not asked for.
    keys: createKeyRing([randomBytes(32)]),
    clock,
    policy: resolved.auditDays === undefined ? {} : { auditDays: resolved.auditDays },
  });
  const removed = new Map<string, number>();
  const cleaning = {
    registry,
    store,
    clock,
    logger: silentLogger,
    planRetention: planRetentionOf(resolved),
    runRetention: runRetentionOf(resolved),
    onRemoved: (what: string, count: number) => void removed.set(what, count),
  };
  await doEach(signal, [
    async () => sweepRecords(cleaning, signal),
    async () => finishProjects(cleaning, signal),
    async () => collectRemains(cleaning, signal),
  ]);
  return removed;
}

/** The command `retention show`: a line for each bound, or JSON. */
export async function runRetentionShow(
  given: readonly string[],
  env: NodeJS.ProcessEnv,
  directory: string,
): Promise<string> {
  const words = given.filter((word) => word !== "--json");
  const options = resolveServerOptions(await parseServeArguments(words, env, directory));
  const rows = retentionRows(options);
  if (words.length < given.length) return `${JSON.stringify({ kept: rows }, undefined, 2)}\n`;
  const width = Math.max(...rows.map(({ what }) => what.length));
  return rows
    .map(({ what, kept, options: flags }) => `${what.padEnd(width)}  ${kept} (${flags})\n`)
    .join("");
}

/** The command `retention enforce`: what was removed, as text or JSON. */
export async function runRetentionEnforce(
  given: readonly string[],
  env: NodeJS.ProcessEnv,
  directory: string,
  signal?: AbortSignal,
): Promise<string> {
  const words = given.filter((word) => word !== "--json");
  const options = await parseServeArguments(words, env, directory);
  const removed = await enforceRetention(options, { directory, ...(signal && { signal }) });
  if (words.length < given.length) {
    return `${JSON.stringify({ removed: Object.fromEntries(removed) }, undefined, 2)}\n`;
  }
  const lines = [...removed].filter(([, count]) => count > 0);
  if (lines.length === 0) return "Nothing is past its time.\n";
  return `Removed:\n${lines.map(([what, count]) => `  ${what}: ${count}\n`).join("")}`;
}

function days(ms: number): string {
  return counted(ms / DAY_MS, "day");
}

function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`;
}
