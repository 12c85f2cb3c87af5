import { randomUUID } from "node:crypto";
import { readFile, stat, writeFile } from "node:fs/promises";
import { hostname, userInfo } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "@stackwright/base/clock";
import type { StackReference, StackState } from "@stackwright/core";
import {
  createRuns,
  createStackStates,
  createStoredKeys,
  type NamedStack,
  type OpenStore,
  openStore,
  type ProjectReference,
  parseStoreAddress,
  type Run,
  type RunPhase,
  type Runs,
  StackDirectory,
  type StoreAddress,
  StoreAddressError,
  storeName,
  transitionRuns,
} from "@stackwright/core";
import { createUlidGenerator, isStorageError, makeDirectory } from "@stackwright/storage";
import { createThreadRenewer } from "@stackwright/storage/lease";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { type CommandKey, commandKey, withKeyAdvice } from "./command-key.ts";
import { checkedProject } from "./project-names.ts";
import { stackName } from "./stack-name.ts";
import { lockHolder, storeAccessError, storeLockedError } from "./store-errors.ts";

/** Options of all commands that use a store. */
export interface StoreOptions {
  /** Address of the store. @default `STACKWRIGHT_STORE`, else the embedded one */
  readonly store?: string;
  /** Name of the stack. @default `STACKWRIGHT_STACK`, `TF_WORKSPACE`, the selected workspace, else `default` */
  readonly stack?: string;
  /** Name of the project. @default `STACKWRIGHT_PROJECT`, else `default` */
  readonly project?: string;
  /** Address of a registry elsewhere that knows private providers. @default `STACKWRIGHT_REGISTRY`, else that of the store */
  readonly registry?: string;
  /** How long to wait for another writer, such as `30s`. @default no time */
  readonly lockTimeout?: string;
}

/** A store and a stack in it, open for one command. Disposing closes the store. */
export interface Session extends AsyncDisposable {
  readonly store: OpenStore;
  /** Address of the store, without credentials. */
  readonly storeName: string;
  readonly stacks: StackDirectory;
  /** Encrypts the data keys of stacks. */
  readonly key: CommandKey;
  readonly project: ProjectReference;
  /** The stack that is meant; undefined where nothing was ever written for it and the session only reads. */
  readonly stack: NamedStack | undefined;
  /** The state of any stack of the project. */
  stateOf(stack: NamedStack): StackState;
  /** Where the runs of a stack are written down. */
  runsOf(stack: StackReference): Runs;
  /** Brings runs of several stacks from one phase to another, all or none. */
  moveRuns(
    runs: readonly { readonly stack: StackReference; readonly id: string }[],
    change: { readonly from: RunPhase; readonly to: RunPhase },
  ): Promise<void>;
  /** A run of the user of the command. */
  newRun(): Pick<Run, "id" | "cause">;
}

/** A session with a stack that exists. */
export interface StackSession extends Session {
  readonly stack: NamedStack;
  readonly state: StackState;
}

/** The folder that belongs to the command: embedded store, keys, installed providers and modules. */
export function dataFolder({ env, directory }: CommandContext): string {
  const named = env.STACKWRIGHT_DIR;
  return named === undefined || named === ""
    ? join(directory, ".stackwright")
    : resolve(directory, named);
}

/** Where the embedded store lies in a data folder. */
function storeFolder(folder: string): string {
  return join(folder, "store");
}

/** How states are read. */
export interface ReadingOptions {
  /** Receives why secrets cannot be decrypted; they are omitted then. @default reading rejects */
  readonly onMissingKey?: (error: Error) => void;
}

/** Opens the store for reading, also while another process writes. Undefined where there is none yet. */
export async function openReader(
  context: CommandContext,
  options: StoreOptions,
  reading: ReadingOptions = {},
): Promise<Session | undefined> {
  const address = storeAddress(context, options);
  // An invalid value is an error, also where there is nothing to wait for.
  parseDuration(options.lockTimeout);
  if (address.kind === "sqlite" && !(await exists(address.directory))) return undefined;
  return openSession(context, options, address, "read", reading);
}

/** How stacks that exist are opened. */
interface ExistingOptions {
  /** A key file that does not exist is made, also where the stack needs a former key. @default false */
  readonly replacesKey?: boolean;
}

/** Opens the store to write to stacks that exist. Undefined where there is no store yet; no stack is created. */
export async function openExisting(
  context: CommandContext,
  options: StoreOptions,
  existing: ExistingOptions = {},
): Promise<Session | undefined> {
  const address = storeAddress(context, options);
  if (address.kind === "sqlite" && !(await exists(address.directory))) return undefined;
  return openSession(context, options, address, "write", existing);
}

/** Opens the store to write; makes the embedded one and the stack where they are missing. */
export async function openWriter(
  context: CommandContext,
  options: StoreOptions,
): Promise<StackSession> {
  const session = await openSession(context, options, storeAddress(context, options), "write");
  try {
    const stack =
      session.stack ?? (await session.stacks.ensure(session.project, stackName(context, options)));
    const opened = { ...session, stack, state: session.stateOf(stack) };
    return {
      ...opened,
      [Symbol.asyncDispose]: async () => {
        if (stack.adoption?.kind === "state" && stack.adoption.mirror.enabled) {
          const { mirrorState } = await import("./state-mirror.ts");
          await mirrorState(opened, context);
        }
        await session[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await session[Symbol.asyncDispose]();
    throw error;
  }
}

/** Where the store is that the options or the environment name; else the embedded one. */
export function storeAddress(
  context: CommandContext,
  options: Pick<StoreOptions, "store">,
): StoreAddress {
  const text = options.store ?? nonEmpty(context.env.STACKWRIGHT_STORE);
  if (text === undefined) return { kind: "sqlite", directory: storeFolder(dataFolder(context)) };
  try {
    return parseStoreAddress(text, context.directory);
  } catch (error) {
    if (error instanceof StoreAddressError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
}

/** What the certificate of a server is trusted by: a file that the environment names, or what was stored with the login. */
async function authorityOf(
  address: StoreAddress,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const named = nonEmpty(env.STACKWRIGHT_CA_FILE);
  if (named !== undefined) return readFile(named, "utf8");
  if (address.kind !== "remote" || !address.tls) return undefined;
  const { trustedFor } = await import("../connection/stored-authorities.ts");
  return trustedFor(address.host, env);
}

async function openSession(
  context: CommandContext,
  options: StoreOptions,
  address: StoreAddress,
  access: "read" | "write",
  { onMissingKey, replacesKey = false }: ReadingOptions & ExistingOptions = {},
): Promise<Session> {
  const { env, signal } = context;
  const project = checkedProject({
    account: nonEmpty(env.STACKWRIGHT_ACCOUNT) ?? "default",
    project: options.project ?? nonEmpty(env.STACKWRIGHT_PROJECT) ?? "default",
  });
  const folder = dataFolder(context);
  if (access === "write") await makeFolder(folder);
  const ca = await authorityOf(address, env);
  const store = await openWhenFree(context, address, {
    readOnly: access === "read",
    blobDirectory: join(folder, "blobs"),
    waitMs: parseDuration(options.lockTimeout),
    ...(nonEmpty(env.STACKWRIGHT_TOKEN) !== undefined && { token: env.STACKWRIGHT_TOKEN ?? "" }),
    ...(ca !== undefined && { ca }),
  });
  await using resources = new AsyncDisposableStack();
  resources.use(store);
  const { storage, blobs, renewal } = store;
  const renewer =
    access === "write" && renewal !== undefined
      ? resources.use(createThreadRenewer({ source: renewal }))
      : undefined;
  const scheduler = systemClock;
  const token = createUlidGenerator({ wallMs: () => scheduler.wallMs() });
  const stacks = new StackDirectory({ storage });
  const stack = await stacks.find(project, stackName(context, options), { signal });
  const key = await commandKey(context, folder, {
    access,
    beforeNewKey: async (none) => {
      // Folders come and go beside a store that is elsewhere, as Terragrunt's do, and stacks without secrets need no key.
      const isBeside = address.kind === "sqlite" && address.directory === storeFolder(folder);
      if (!isBeside || stack === undefined || replacesKey) return;
      // Rejects where the stack has data keys, which a new key does not decrypt.
      const keys = createStoredKeys({ storage, current: none.key });
      await withKeyAdvice(keys, none).load(stack.reference, { signal });
    },
  });
  const states = createStackStates({
    storage,
    blobs,
    ciphers: withKeyAdvice(createStoredKeys({ storage, current: key.key }), key),
    ...(renewer !== undefined && { renewer }),
    ...(onMissingKey !== undefined && { onMissingKey }),
    owner: `${userName()}@${hostname()} (process ${process.pid}, ${randomUUID().slice(0, 8)})`,
  });
  const owned = resources.move();
  return {
    store,
    storeName: storeName(address),
    stacks,
    key,
    project,
    stack,
    stateOf: ({ reference }) => states.stack(reference),
    runsOf: (reference) => createRuns(reference, { storage, scheduler, token }),
    moveRuns: async (runs, change) => transitionRuns(runs, change, { storage, scheduler, token }),
    newRun: () => ({ id: token(), cause: `user:${userName()}` }),
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}

interface OpenWhenFree {
  readonly readOnly: boolean;
  readonly blobDirectory: string;
  readonly waitMs: number;
  readonly token?: string;
  readonly ca?: string;
}

const POLL_MS = 200;

/** Opens a store; waits for another process that writes to an embedded one, and names that process. */
async function openWhenFree(
  { terminal, signal }: CommandContext,
  address: StoreAddress,
  { waitMs, ...options }: OpenWhenFree,
): Promise<OpenStore> {
  const deadline = performance.now() + waitMs;
  let announced = false;
  for (;;) {
    try {
      return await openStore(address, { ...options, inline: true });
    } catch (error) {
      if (!isStorageError(error, "STORAGE_LOCKED")) throw storeAccessError(address, error);
      if (performance.now() >= deadline) {
        throw storeLockedError(
          error,
          "Wait until it has ended, or let this command wait with --lock-timeout 5m. Commands that only read work at any time.",
        );
      }
      if (!announced)
        terminal.writeError(`Waiting for the store: ${lockHolder(error)} writes to it.\n`);
      announced = true;
      await delay(POLL_MS, undefined, { signal });
    }
  }
}

const IGNORE = "# Made by stackwright: state and keys of this folder.\n*\n";

/** Makes the data folder for its owner alone, out of sight of version control. */
async function makeFolder(folder: string): Promise<void> {
  makeDirectory(folder);
  const path = join(folder, ".gitignore");
  // An empty one is left of a disk that was full: what it is to hide would be seen.
  if (((await stat(path).catch(() => undefined))?.size ?? 0) > 0) return;
  await writeFile(path, IGNORE).catch((error: unknown) => {
    // What the system says of a write does not name the file.
    throw new Error(`${path} cannot be written: ${(error as Error).message}`, { cause: error });
  });
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user without an entry, as in containers.
    return String(process.getuid?.() ?? "unknown");
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** `90s`, `5m`, `1h30m`, or a number of seconds, in milliseconds. */
export function parseDuration(text: string | undefined): number {
  if (text === undefined || text === "") return 0;
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) {
    throw new CommandError(
      `"${text}" is not a valid duration. Use a value such as 30s, 5m or 1h30m.`,
    );
  }
  let total = 0;
  for (const [, amount = "0", unit = "s"] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)) {
    total += Number(amount) * (UNITS[unit] ?? 0);
  }
  return total;
}
