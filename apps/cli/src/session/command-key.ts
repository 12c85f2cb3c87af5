import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import {
  type CipherFactory,
  ensureKeyFile,
  type KeyEncryptionKey,
  type KeySource,
  loadKey,
} from "@stackwright/core";
import { EngineError, isEngineError } from "@stackwright/core/errors";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";

/** The key that a command encrypts secrets with, and where it comes from. */
export interface CommandKey {
  readonly key: KeyEncryptionKey;
  /** Text for users; undefined: there is no key, as its file does not exist. */
  readonly from: string | undefined;
  /** Path of the file that does not exist. */
  readonly absent?: string;
}

const KEY_FILE = "key";

/** Decrypts nothing: the key of a folder that nothing was written in yet, or whose key file was lost. */
function noKey(absent: string): CommandKey {
  return { key: { id: "none", bytes: new Uint8Array(32) }, from: undefined, absent };
}

/** What a command does with a key. */
interface KeyUse {
  readonly access: "read" | "write";
  /** Gets a key that decrypts nothing; rejects where a new one would be of no use, as what is there needs another. */
  readonly beforeNewKey: (none: CommandKey) => Promise<void>;
}

/**
 * The key that encrypts secrets: from `STACKWRIGHT_KEY`, `STACKWRIGHT_KEY_COMMAND` or `STACKWRIGHT_KEY_FILE`, else from
 * a file in the data folder, which is made for a first writer.
 */
export async function commandKey(
  { env, directory }: Pick<CommandContext, "env" | "directory">,
  folder: string,
  { access, beforeNewKey }: KeyUse,
): Promise<CommandKey> {
  const { STACKWRIGHT_KEY: text, STACKWRIGHT_KEY_COMMAND: command } = env;
  if (isNamed(text)) {
    return load("STACKWRIGHT_KEY", { kind: "environment", variable: "STACKWRIGHT_KEY", env });
  }
  if (isNamed(command)) return load("STACKWRIGHT_KEY_COMMAND", commandSource(command));
  const named = env.STACKWRIGHT_KEY_FILE;
  if (isNamed(named)) {
    const path = resolve(directory, named);
    return load(`STACKWRIGHT_KEY_FILE (${path})`, { kind: "file", path });
  }
  const path = join(folder, KEY_FILE);
  if (!(await exists(path))) {
    if (access === "read") return noKey(path);
    await beforeNewKey(noKey(path));
    await ensureKeyFile(path);
  }
  return load(`the file ${path}`, { kind: "file", path });
}

/** Options that name the former key-encryption key; at most one of them. */
export interface FormerKeyOptions {
  readonly fromKeyFile?: string;
  /** Name of an environment variable. */
  readonly fromKeyVariable?: string;
  readonly fromKeyCommand?: string;
}

/** The key-encryption key that was current before, in the forms that name the current one. */
export async function formerKey(
  options: FormerKeyOptions,
  { env, directory }: Pick<CommandContext, "env" | "directory">,
): Promise<CommandKey | undefined> {
  const { fromKeyFile: file, fromKeyVariable: variable, fromKeyCommand: command } = options;
  if ([file, variable, command].filter((one) => one !== undefined).length > 1) {
    throw new CommandError(
      "Use one of --from-key-file, --from-key-variable and --from-key-command, not several.",
    );
  }
  if (file !== undefined) {
    const path = resolve(directory, file);
    return load(`--from-key-file (${path})`, { kind: "file", path }, FORMER);
  }
  if (variable !== undefined) {
    const source: KeySource = { kind: "environment", variable, env };
    return load(`--from-key-variable (${variable})`, source, FORMER);
  }
  if (command === undefined) return undefined;
  return load("--from-key-command", commandSource(command), FORMER);
}

const FORMER = "The former key is 32 bytes in base64 or hexadecimal, like the current one.";

function commandSource(command: string): KeySource {
  const [file = "", ...args] = command.trim().split(/\s+/);
  return { kind: "command", file, args };
}

async function load(from: string, source: KeySource, hint?: string): Promise<CommandKey> {
  try {
    return { key: await loadKey(source), from };
  } catch (error) {
    throw withAdvice(error, `The key was to come from ${from}.\n${hint ?? SOURCES}`);
  }
}

const SOURCES =
  "A key comes from STACKWRIGHT_KEY, STACKWRIGHT_KEY_FILE or STACKWRIGHT_KEY_COMMAND, else from the file .stackwright/key, which the first command that writes makes. All who share a stack need the same key: it is not in the store.";

/** The same source of keys; its error for a missing key names the key that was used, and where keys come from. */
export function withKeyAdvice(
  source: CipherFactory,
  { key, from, absent }: CommandKey,
): CipherFactory {
  const used =
    from === undefined
      ? `No key was given, and the file ${absent} does not exist.`
      : `The key ${key.id} was used, of ${from}.`;
  const advise = (error: unknown): never => {
    throw withAdvice(error, `${used}\n${SOURCES}`);
  };
  return {
    load: async (...args) => source.load(...args).catch(advise),
    ensure: async (...args) => source.ensure(...args).catch(advise),
  };
}

function withAdvice(error: unknown, advice: string): unknown {
  if (!isEngineError(error, "ENGINE_KEY_UNAVAILABLE")) return error;
  const { code, message, details } = error;
  return new EngineError(code, message, { details: { ...details, advice }, cause: error });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function isNamed(text: string | undefined): text is string {
  return text !== undefined && text !== "";
}
