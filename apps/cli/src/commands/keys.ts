import {
  createStoredKeys,
  listKeyOwners,
  type NamedStack,
  type StackReference,
  type StoredKey,
  type StoredKeys,
  stackTenancy,
} from "@stackwright/core";
import { EngineError, isEngineError } from "@stackwright/core/errors";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type CommandKey, type FormerKeyOptions, formerKey } from "../session/command-key.ts";
import { openExisting, openReader, type Session, type StoreOptions } from "../session/session.ts";
import { acquireStackLock } from "../session/stack-lock.ts";
import { stackName } from "../session/stack-name.ts";

export interface KeysListOptions extends StoreOptions {
  readonly json: boolean;
}

export interface KeysRewrapOptions extends StoreOptions, FormerKeyOptions {
  /** All stacks of the project instead of one. */
  readonly allStacks: boolean;
}

/** Lists the data keys of a stack, which key-encryption key each needs, and whether the current one is it. */
export async function keysList(
  options: KeysListOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const session = await openReader(context, options);
  try {
    const { session: opened, stack } = foundStack(session, options, context);
    const { key } = opened;
    const id = key.from === undefined ? undefined : key.key.id;
    const keys = await storedKeys(opened).list(stack.reference, { signal });
    if (options.json) {
      const report = {
        stack: stack.name,
        keyEncryptionKey: id ?? null,
        dataKeys: keys.map(({ number, createdAtMs, wrappedBy, isCurrent, isReadable }) => ({
          number,
          created: createdAtMs === undefined ? null : new Date(createdAtMs).toISOString(),
          keyEncryptionKey: wrappedBy,
          current: isCurrent,
          readable: isReadable,
        })),
      };
      terminal.write(`${JSON.stringify(report, undefined, 2)}\n`);
      return EXIT.ok;
    }
    terminal.write(
      id === undefined
        ? "No key-encryption key is available.\n"
        : `The current key-encryption key is ${id}, of ${key.from}.\n`,
    );
    for (const stored of keys) terminal.write(lineOf(stored));
    if (keys.length === 0) {
      terminal.write(`The stack "${stack.name}" has no data keys: it has no secrets yet.\n`);
    }
    return EXIT.ok;
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

/** Adds a data key, which encrypts what is written from now on. */
export async function keysRotate(
  options: StoreOptions,
  context: CommandContext,
): Promise<ExitCode> {
  await using resources = new AsyncDisposableStack();
  const opened = await openExisting(context, options);
  if (opened !== undefined) resources.use(opened);
  const { session, stack } = foundStack(opened, options, context);
  const number = await withGivenKeys([session.key], async () =>
    underLock(session, stack, options, context, async (keys) =>
      keys.rotate(stack.reference, { signal: context.signal }),
    ),
  );
  context.terminal.write(
    `The stack "${stack.name}" encrypts new secrets with data key ${number}.\nRecorded secrets keep their data keys until they are written again.\n`,
  );
  return EXIT.ok;
}

/**
 * Encrypts the data keys of one stack, or of all of the project and what it keeps secrets for beside them, with the current key-encryption key. All are
 * checked before the first is changed; each stack changes in one write, so that an interrupted command can be repeated.
 */
export async function keysRewrap(
  options: KeysRewrapOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  // Loaded first: an error in it should leave no new key file.
  const former = await formerKey(options, context);
  await using resources = new AsyncDisposableStack();
  const session = await openExisting(context, options, { replacesKey: former !== undefined });
  if (session !== undefined) resources.use(session);
  const stacks = options.allStacks
    ? ((await session?.stacks.list(session.project, { signal })) ?? [])
    : [foundStack(session, options, context).stack];
  const others =
    options.allStacks && session ? await ownersBesideStacks(session, stacks, signal) : [];
  if (session === undefined || (stacks.length === 0 && others.length === 0)) {
    terminal.write("The project has no stacks.\n");
    return EXIT.ok;
  }
  const given = former === undefined ? [session.key] : [session.key, former];
  const keys = storedKeys(session, former);
  await withGivenKeys(given, async () => {
    const owners = stacks.map(({ name, reference }) => ({ what: `stack "${name}"`, reference }));
    owners.push(...others);
    const problems: string[] = [];
    for (const { what, reference } of owners) {
      await keys.dataKeys(reference, { signal }).catch((error: unknown) => {
        if (!isEngineError(error, "ENGINE_KEY_UNAVAILABLE")) throw error;
        problems.push(`${what}: ${error.message}`);
      });
    }
    if (problems.length > 0) {
      throw new EngineError("ENGINE_KEY_UNAVAILABLE", problems.join("\n"));
    }
    for (const stack of stacks) {
      const changed = await underLock(
        session,
        stack,
        options,
        context,
        async (source) => source.rewrap(stack.reference, { signal }),
        former,
      );
      terminal.write(
        changed.length === 0
          ? `The stack "${stack.name}" has no data key of a former key-encryption key; nothing was changed.\n`
          : `The stack "${stack.name}": ${wrapsNow(session, changed)}\n`,
      );
    }
    // Nothing has to stand still for them: whatever reads their values reads the keys anew.
    for (const { what, reference } of others) {
      const changed = await keys.rewrap(reference, { signal });
      if (changed.length > 0) terminal.write(`The ${what}: ${wrapsNow(session, changed)}\n`);
    }
  });
  return EXIT.ok;
}

/** What of the project has data keys and is no stack: variable sets, and what a server keeps with the project. */
async function ownersBesideStacks(
  { store: { storage }, project }: Session,
  stacks: readonly NamedStack[],
  signal: AbortSignal,
): Promise<readonly { readonly what: string; readonly reference: StackReference }[]> {
  const own = new Set(stacks.map(({ reference }) => reference.stack));
  const tenancy = stackTenancy({ ...project, stack: "" });
  const owners = await listKeyOwners(storage, tenancy, { signal });
  return owners
    .filter(({ reference }) => !own.has(reference.stack))
    .map(({ reference }) => ({ what: NAMES[reference.stack] ?? reference.stack, reference }));
}

const NAMES: Readonly<Record<string, string>> = {
  "variable-sets": "variable sets",
  "vcs-connections": "connections to Git servers",
  notifications: "destinations of notifications",
  "drift-hooks": "drift hooks",
};

function wrapsNow({ key }: Session, changed: readonly number[]): string {
  return `the key-encryption key ${key.key.id} wraps data ${changed.length === 1 ? "key" : "keys"} ${changed.join(", ")} now.`;
}

function storedKeys({ store, key }: Session, former?: CommandKey): StoredKeys {
  const { storage } = store;
  return createStoredKeys({ storage, current: key.key, former: former ? [former.key] : [] });
}

async function underLock<T>(
  session: Session,
  stack: NamedStack,
  options: StoreOptions,
  context: CommandContext,
  work: (keys: StoredKeys) => Promise<T>,
  former?: CommandKey,
): Promise<T> {
  const taken = { store: session.store, stack, state: session.stateOf(stack) };
  await using _hold = await acquireStackLock(taken, options, context, { passesLock: true });
  return await work(storedKeys(session, former));
}

function foundStack(
  session: Session | undefined,
  options: StoreOptions,
  context: CommandContext,
): { readonly session: Session; readonly stack: NamedStack } {
  if (session?.stack !== undefined) return { session, stack: session.stack };
  throw new CommandError(`The stack "${stackName(context, options)}" does not exist.`, {
    advice: "stackwright stacks lists the stacks of the project.",
  });
}

/** Runs something; where a key is missing, the error names the keys that were given. */
async function withGivenKeys<T>(given: readonly CommandKey[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isEngineError(error, "ENGINE_KEY_UNAVAILABLE")) throw error;
    const names = given.map(({ key, from }) => `the key ${key.id} of ${from ?? "no source"}`);
    const advice = `Nothing was changed. These keys were used: ${names.join(", ")}.\n"stackwright keys rewrap" takes the key that is needed from --from-key-file, --from-key-variable or --from-key-command.`;
    throw new EngineError(error.code, error.message, { details: { advice }, cause: error });
  }
}

function lineOf({ number, createdAtMs, wrappedBy, isCurrent, isReadable }: StoredKey): string {
  const created =
    createdAtMs === undefined ? "creation time not recorded" : new Date(createdAtMs).toISOString();
  const readable = isReadable ? "readable" : "not readable with the current key-encryption key";
  return `${isCurrent ? "*" : " "} data key ${number}  ${created}  wrapped by ${wrappedBy}  ${readable}\n`;
}
