import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { EngineError } from "../errors.ts";

/** A key that encrypts the data keys of stacks. It never leaves the process that was given it. */
export interface KeyEncryptionKey {
  /** Distinguishes keys without revealing anything about them: part of a digest. */
  readonly id: string;
  /** 32 bytes. */
  readonly bytes: Uint8Array;
}

/** Where a key-encryption key comes from. The key is 32 bytes in base64 or hexadecimal. */
export type KeySource =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "environment"; readonly variable: string; readonly env?: NodeJS.ProcessEnv }
  /** The key is what the command prints, as with a tool of a key management service. Run without a shell. */
  | {
      readonly kind: "command";
      readonly file: string;
      readonly args?: readonly string[];
      /** @default 30,000 */
      readonly timeoutMs?: number;
    };

/** A key from its bytes. `ENGINE_KEY_UNAVAILABLE` unless there are 32. */
export function keyEncryptionKey(bytes: Uint8Array): KeyEncryptionKey {
  if (bytes.length !== 32) {
    throw new EngineError(
      "ENGINE_KEY_UNAVAILABLE",
      `a key-encryption key has 32 bytes, found ${bytes.length}`,
    );
  }
  const id = createHash("sha256").update("stackwright key id\0").update(bytes).digest("hex");
  return { id: id.slice(0, 16), bytes: Uint8Array.from(bytes) };
}

/** Loads a key. `ENGINE_KEY_UNAVAILABLE`, without any of the key in its text. */
export async function loadKey(source: KeySource): Promise<KeyEncryptionKey> {
  return keyEncryptionKey(decodeKey(await keyText(source)));
}

async function keyText(source: KeySource): Promise<string> {
  switch (source.kind) {
    case "file":
      return readFile(source.path, "utf8").catch((error: unknown) => {
        throw unavailable(`the key file "${source.path}" cannot be read`, error);
      });
    case "environment": {
      const text = (source.env ?? process.env)[source.variable];
      if (text === undefined || text === "") {
        throw unavailable(`the environment variable ${source.variable} is not set`);
      }
      return text;
    }
    case "command":
      return readKeyFromCommand(source);
    default:
      return source satisfies never;
  }
}

async function readKeyFromCommand(
  source: Extract<KeySource, { kind: "command" }>,
): Promise<string> {
  const { file, args = [], timeoutMs = 30_000 } = source;
  return new Promise((resolve, reject) => {
    execFile(file, [...args], { timeout: timeoutMs, encoding: "utf8" }, (error, stdout) => {
      // What a command says when it fails may hold anything, so only the failure itself is passed on.
      if (error === null) resolve(stdout);
      else reject(unavailable(`the key command "${file}" failed (${error.code ?? error.signal})`));
    });
  });
}

function decodeKey(text: string): Uint8Array {
  const trimmed = text.trim();
  if (/^[0-9a-fA-F]{64}$/.test(trimmed)) return Buffer.from(trimmed, "hex");
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(trimmed)) return Buffer.from(trimmed, "base64");
  throw unavailable("a key-encryption key is 32 bytes in base64 or hexadecimal");
}

function unavailable(message: string, cause?: unknown): EngineError {
  return new EngineError("ENGINE_KEY_UNAVAILABLE", message, cause === undefined ? {} : { cause });
}
