import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { silentLogger } from "@stackwright/base/logger";
import { openStore, parseStoreAddress } from "@stackwright/core";
import { createKeyRing, createRegistry } from "@stackwright/registry";
import type { ResourceId } from "@stackwright/storage";
import { refuseOldTables } from "./doctor/examine-store.ts";
import { planRetentionOf, runRetentionOf } from "./plan-expiry.ts";
import { requireStore } from "./require-store.ts";
import { collectRemains, doEach, finishProjects, sweepRecords } from "./retention/clean-store.ts";
import { resolveRunRetention } from "./retention/expire-runs.ts";
import { previewStorage, type RemovedId } from "./retention/preview-storage.ts";
import { parseServeArguments } from "./serve-arguments.ts";
import { resolveServerOptions, type ServerOptions } from "./server-options.ts";
import { storeHistoryOf } from "./store-history.ts";

const DAY_MS = 24 * 3_600_000;
/** Records of a kind that the text names. */
const MAX_SHOWN = 20;
/** Damaged records that are named. */
const MAX_NAMED = 1_000;

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

/** What a cleaning removed, or would remove. */
interface RetentionReport {
  /** How many, by what it was. */
  readonly removed: ReadonlyMap<string, number>;
  /** The records of a dry run; undefined of a cleaning. */
  readonly records: readonly RemovedId[] | undefined;
  /** Damaged records that were met: they stay, and kept no other. */
  readonly damaged: readonly { readonly id: ResourceId; readonly reason: string }[];
}

/**
 * Removes at once what servers with these options would remove within their next hour, and gives the store the bounds of its history that are named.
 * Servers may use the store meanwhile; an embedded store must not be in use by one (`STORAGE_LOCKED`). A dry run changes nothing, and works beside a
 * server on an embedded store too; tables of an older release are refused for it (`ENGINE_CONFIG_INVALID`).
 */
export async function enforceRetention(
  options: ServerOptions,
  parts: {
    readonly directory?: string;
    readonly signal?: AbortSignal;
    /** Says what would be removed. @default false */
    readonly dryRun?: boolean;
  } = {},
): Promise<RetentionReport> {
  const resolved = resolveServerOptions(options);
  const { directory = process.cwd(), signal = new AbortController().signal } = parts;
  const { dryRun = false } = parts;
  const address = parseStoreAddress(resolved.store, directory);
  await requireStore(address);
  if (dryRun) await refuseOldTables(address);
  await using opened = await openStore(address, {
    blobDirectory: resolve(directory, resolved.blobDirectory ?? "blobs"),
    ...(dryRun && { readOnly: true }),
    // The bounds that a store keeps are those of the last that named any.
    ...(!dryRun && resolved.history !== undefined && { history: storeHistoryOf(resolved) }),
  });
  const preview = dryRun ? previewStorage(opened.storage) : undefined;
  const { blobs } = opened;
  const { storage } = preview ?? opened;
  const clock = systemClock;
  const registry = createRegistry({
    storage,
    blobs,
    // Nothing is encrypted or decrypted here, so the key of the server is not asked for.
    keys: createKeyRing([randomBytes(32)]),
    clock,
    policy: resolved.auditDays === undefined ? {} : { auditDays: resolved.auditDays },
  });
  const removed = new Map<string, number>();
  const damaged = new Map<string, { readonly id: ResourceId; readonly reason: string }>();
  const cleaning = {
    registry,
    store: { storage, blobs },
    dryRun,
    clock,
    logger: silentLogger,
    planRetention: planRetentionOf(resolved),
    runRetention: runRetentionOf(resolved),
    onRemoved: (what: string, count: number) => void removed.set(what, count),
    onDamaged: (id: ResourceId, reason: string) => {
      // Several steps meet the same one.
      if (damaged.size < MAX_NAMED) damaged.set(recordName(id), { id, reason });
    },
  };
  await doEach(signal, [
    async () => sweepRecords(cleaning, signal),
    async () => finishProjects(cleaning, signal),
    async () => collectRemains(cleaning, signal),
  ]);
  return { removed, records: preview?.removed(), damaged: [...damaged.values()] };
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

/** What the command `retention enforce` writes, and whether it met damaged records. */
interface RetentionOutcome {
  readonly text: string;
  readonly isDamaged: boolean;
}

/** The command `retention enforce`: what was removed, or would be, as text or JSON. */
export async function runRetentionEnforce(
  given: readonly string[],
  env: NodeJS.ProcessEnv,
  directory: string,
  signal?: AbortSignal,
): Promise<RetentionOutcome> {
  const words = given.filter((word) => word !== "--json" && word !== "--dry-run");
  const options = await parseServeArguments(words, env, directory);
  const dryRun = given.includes("--dry-run");
  const report = await enforceRetention(options, { directory, dryRun, ...(signal && { signal }) });
  const text = given.includes("--json") ? reportJson(report) : reportText(report);
  return { text, isDamaged: report.damaged.length > 0 };
}

function reportJson({ removed, records, damaged }: RetentionReport): string {
  const counts = Object.fromEntries(removed);
  const report = {
    ...(records === undefined
      ? { removed: counts }
      : { would_remove: counts, records: records.map(recordView) }),
    damaged: damaged.map(({ id, reason }) => ({ ...recordView(id), reason })),
  };
  return `${JSON.stringify(report, undefined, 2)}\n`;
}

function recordView({ type: { kind }, tenancy: { partition, namespace }, name }: RemovedId) {
  return { kind, account: partition, place: namespace, name };
}

function reportText({ removed, records, damaged }: RetentionReport): string {
  const lines = [...removed].filter(([, count]) => count > 0);
  const isDry = records !== undefined;
  const heading = isDry ? "Would be removed; nothing was:" : "Removed:";
  const counts = lines.map(([what, count]) => `  ${what}: ${count}\n`).join("");
  const names = isDry && records.length > 0 ? `Records:\n${namesByKind(records)}` : "";
  const bad = damaged.map(({ id, reason }) => `Damaged: ${recordName(id)}: ${reason}\n`).join("");
  const advice =
    damaged.length === 0
      ? ""
      : `${counted(damaged.length, "record")} damaged: no blobs are removed until they are dropped or written again: stackwright admin damaged list\n`;
  const body = lines.length === 0 ? "Nothing is past its time.\n" : `${heading}\n${counts}${names}`;
  return body + bad + advice;
}

/** The records of each kind, by name; of many the first. */
function namesByKind(records: readonly RemovedId[]): string {
  const kinds = Map.groupBy(records, ({ type }) => type.kind);
  return Array.from(kinds, ([kind, ids]) => {
    const shown = ids.slice(0, MAX_SHOWN).map((id) => `    ${placeName(id)}\n`);
    const more = ids.length - shown.length;
    const rest = more > 0 ? `    and ${more} more; --json names all\n` : "";
    return `  ${kind}: ${ids.length}\n${shown.join("")}${rest}`;
  }).join("");
}

function recordName(id: RemovedId): string {
  return `${id.type.kind} ${placeName(id)}`;
}

function placeName({ tenancy: { partition, namespace }, name }: RemovedId): string {
  return `${partition}/${namespace} ${name}`;
}

function days(ms: number): string {
  return counted(ms / DAY_MS, "day");
}

function counted(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`;
}
