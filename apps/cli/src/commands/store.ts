import { basename, resolve } from "node:path";
import { KeptFreezes, RestoredStore, STORE_BLOB_KINDS, thawRestored } from "@stackwright/engine";
import { isStorageError } from "@stackwright/storage";
import {
  type BackupManifest,
  type LaterMoment,
  restoreBackup,
  verifyBackup,
  verifyStore,
  writeBackup,
} from "@stackwright/storage/backup";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { parseMoment } from "../session/moment.ts";
import {
  openEmptyStore,
  openWholeStore,
  type WholeStore,
  type WholeStoreOptions,
} from "../session/whole-store.ts";

export type { WholeStoreOptions } from "../session/whole-store.ts";

export interface BackupOptions extends WholeStoreOptions {
  /** A revision of the engine, of which it still has all. */
  readonly at?: string;
}

export interface RestoreOptions extends WholeStoreOptions {
  /** Restores the rest of a damaged backup. */
  readonly withoutDamaged: boolean;
  /** A revision, or a time, behind that of the backup. */
  readonly at?: string;
  /** Address of the store whose history reaches there. */
  readonly history?: string;
  /** Freezes the projects with runs of a server, and ends logins. */
  readonly freeze: boolean;
}

export interface ThawOptions extends WholeStoreOptions {
  /** @default all of them */
  readonly account?: string;
}

/** Copies a store with its blobs into a folder. Exit code 1 when the store has lost something. */
export async function storeBackup(
  folder: string,
  options: BackupOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  await using store = await openWholeStore(context, options);
  const { storage, blobs } = store;
  const directory = resolve(context.directory, folder);
  const past = options.at === undefined ? undefined : pastMoment(store, options.at);
  const manifest = await withAdvice(async () =>
    writeBackup({
      storage,
      blobs,
      directory,
      kinds: STORE_BLOB_KINDS,
      ...(past !== undefined && { past }),
      signal,
    }),
  );
  const as = past === undefined ? "" : `, as it was at revision ${past.revision} of its cluster,`;
  terminal.write(`The backup of ${store.name}${as} is ${directory}\n${summaryOf(manifest)}`);
  for (const name of manifest.lost) terminal.writeError(`Lost in the store: ${name}\n`);
  return manifest.lost.length === 0 ? EXIT.ok : EXIT.failed;
}

function pastMoment({ name, past }: WholeStore, at: string) {
  const point = parseMoment("--at", at);
  if (past === undefined) {
    throw new CommandError(`The store ${name} is backed up as it is now.`, {
      advice:
        "--at is for etcd, whose cluster answers at its revisions. Other stores go back by their history: `stackwright admin restore --at`.",
    });
  }
  if ("revision" in point) return { store: past, revision: point.revision };
  throw new CommandError(`--at ${at}: the revisions of etcd have no times.`, {
    advice:
      "Name a revision of the cluster: `etcdctl endpoint status --write-out fields` names the present one.",
  });
}

/** Fills an empty store with a backup. */
export async function storeRestore(
  folder: string,
  options: RestoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const directory = resolve(context.directory, folder);
  await using source = await openLaterMoment(context, options);
  await using store = await openEmptyStore(context, options);
  const { target, blobs } = store;
  const why = options.freeze
    ? `the store was restored from the backup ${basename(directory)}`
    : `the backup ${basename(directory)} has the project frozen by a restore before it`;
  const reason = `${why}: compare plans with what exists, then stackwright admin thaw`;
  const amend = options.freeze
    ? new RestoredStore({ reason, atMs: Date.now() })
    : new KeptFreezes({ reason });
  const restored = await withAdvice(async () =>
    restoreBackup({
      directory,
      target,
      blobs,
      withoutDamaged: options.withoutDamaged,
      onProblem: (problem) => terminal.writeError(`Damaged: ${problem}\n`),
      ...(source !== undefined && { later: source.later }),
      amend,
      signal,
    }),
  );
  const { resources, blobs: count, revision, lost } = restored;
  const as = source === undefined ? "" : `, as ${source.name} was at revision ${revision}`;
  terminal.write(
    `Restored ${directory} into ${store.name}${as}: ${resources} resources, ${count} blobs.\n`,
  );
  terminal.write(amend instanceof KeptFreezes ? keptText(amend) : securedText(amend));
  for (const name of lost) terminal.writeError(`Lost in the store of the history: ${name}\n`);
  return lost.length === 0 ? EXIT.ok : EXIT.failed;
}

/** Frozen projects that are named. */
const MAX_NAMED = 10;

function securedText({ projects, logins }: RestoredStore): string {
  const ended = logins === 0 ? "" : `Logins to the console that are ended: ${logins}.\n`;
  if (projects.length === 0) return ended;
  return (
    `${ended}Frozen projects, as what exists may be newer than the backup: ${namesOf(projects)}.\n` +
    "Servers plan in them, and apply nothing. Compare the plans, and end it then: stackwright admin thaw\n"
  );
}

function keptText({ projects }: KeptFreezes): string {
  if (projects.length === 0) return "";
  return `Still frozen, by a restore before the backup: ${namesOf(projects)}. Compare the plans, and end it then: stackwright admin thaw\n`;
}

function namesOf(projects: RestoredStore["projects"]): string {
  const names = projects.slice(0, MAX_NAMED).map(({ account, project }) => `${account}/${project}`);
  const more = projects.length - names.length;
  return more > 0 ? `${names.join(", ")} and ${more} more` : names.join(", ");
}

/** Ends what `admin restore` froze. Servers may run. */
export async function storeThaw(options: ThawOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal, signal } = context;
  await using store = await openWholeStore(context, options, "write");
  const { account } = options;
  const thawed = await thawRestored(store.storage, { account, signal });
  terminal.write(
    thawed.length === 0
      ? `${store.name}: no project is frozen by a restore.\n`
      : `${store.name}: not frozen any longer: ${namesOf(thawed)}.\n`,
  );
  return EXIT.ok;
}

/** The moment that `--at` names, and the store that `--history` names. Disposing closes that store. */
interface OpenLaterMoment extends AsyncDisposable {
  readonly name: string;
  readonly later: LaterMoment;
}

async function openLaterMoment(
  context: CommandContext,
  { at, history }: RestoreOptions,
): Promise<OpenLaterMoment | undefined> {
  if (at === undefined && history === undefined) return undefined;
  if (at === undefined || history === undefined) {
    throw new CommandError("--at and --history belong together.", {
      advice:
        "--at names a revision or a time, --history the address of the store of which the backup was made: its history is restored up to there.",
    });
  }
  const point = parseMoment("--at", at);
  if ("timeMs" in point && point.timeMs > Date.now()) {
    throw new CommandError(`--at ${at}: the time lies ahead.`, {
      advice: "`stackwright admin history --list` names the times of the history.",
    });
  }
  const store = await openWholeStore(context, { store: history });
  if (store.commits === undefined) {
    await store[Symbol.asyncDispose]();
    throw new CommandError(`The store ${store.name} does not give its history out.`, {
      advice: "SQLite and PostgreSQL do. A backup of another store is restored as it is.",
    });
  }
  return {
    name: store.name,
    later: { point, history: store.commits, blobs: store.blobs, kinds: STORE_BLOB_KINDS },
    [Symbol.asyncDispose]: async () => store[Symbol.asyncDispose](),
  };
}

/** Compares a backup, or a store, with its digests. Exit code 1 when something is damaged. */
export async function storeVerify(
  folder: string | undefined,
  options: WholeStoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const onProblem = (problem: string) => terminal.write(`Damaged: ${problem}\n`);
  if (folder !== undefined) {
    const directory = resolve(context.directory, folder);
    const { manifest, problems } = await withAdvice(async () =>
      verifyBackup(directory, { onProblem, signal }),
    );
    terminal.write(`${directory}: ${verdictOf(problems)}\n${summaryOf(manifest)}`);
    return problems === 0 ? EXIT.ok : EXIT.failed;
  }
  await using store = await openWholeStore(context, options);
  const { storage, blobs } = store;
  const found = await verifyStore({ storage, blobs, kinds: STORE_BLOB_KINDS, onProblem, signal });
  terminal.write(
    `${store.name}: ${verdictOf(found.problems)}\n${found.resources} resources, ${found.blobs} blobs of ${found.blobBytes} bytes were read.\n`,
  );
  return found.problems === 0 ? EXIT.ok : EXIT.failed;
}

function verdictOf(problems: number): string {
  if (problems === 0) return "intact";
  return problems === 1 ? "1 record is damaged" : `${problems} records are damaged`;
}

function summaryOf({ store, resources, blobs, createdAt }: BackupManifest): string {
  return `${resources.count} resources and ${blobs.count} blobs of ${blobs.blobBytes} bytes, of ${createdAt}, engine ${store.engine}, revision ${store.revision} of line ${store.line}\n`;
}

/** Runs a command, and says what to do about a refusal. */
async function withAdvice<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isStorageError(error, "STORAGE_CORRUPT")) {
      throw new CommandError(error.message, {
        cause: error,
        advice:
          "`stackwright admin verify` names all damaged records, `stackwright admin damaged` exports and drops them. A damaged backup is restored without them by --without-damaged.",
      });
    }
    if (isStorageError(error, "STORAGE_LOCKED")) {
      throw new CommandError("Another process makes a backup in this folder.", { cause: error });
    }
    throw error;
  }
}
