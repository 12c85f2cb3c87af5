import type { Dirent } from "node:fs";
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { ModuleError } from "@stackwright/lang";

/** How often the size of a growing folder is checked, in milliseconds. */
const CHECK_MS = 500;

/**
 * Runs a task that fills a folder. Rejects with a `ModuleError`, and aborts the signal of the task, as soon as the files in the
 * folder have more bytes than the limit: at the latest when the task has ended.
 */
export async function withFolderLimit<T>(
  folder: string,
  { maxBytes, signal }: { readonly maxBytes: number; readonly signal: AbortSignal | undefined },
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const excess = new AbortController();
  const check = async (): Promise<void> => {
    if ((await folderBytes(folder, maxBytes)) <= maxBytes) return;
    const detail = `The repository is too large: git has written more than ${maxBytes} bytes.`;
    excess.abort(new ModuleError("Failed to download module", detail));
  };
  let checking: Promise<void> | undefined;
  const timer = setInterval(() => {
    checking ??= check().finally(() => {
      checking = undefined;
    });
  }, CHECK_MS);
  try {
    const until = signal === undefined ? excess.signal : AbortSignal.any([signal, excess.signal]);
    const result = await task(until);
    await checking;
    await check();
    excess.signal.throwIfAborted();
    return result;
  } finally {
    clearInterval(timer);
    await checking;
  }
}

/** Bytes of all files in a folder; stops to count beyond the limit. Files that vanish meanwhile are left out. */
export async function folderBytes(folder: string, limit: number): Promise<number> {
  let bytes = 0;
  const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => []);
  for (const entry of entries) {
    if (bytes > limit) break;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) bytes += await folderBytes(path, limit - bytes);
    else bytes += (await lstat(path).catch(() => undefined))?.size ?? 0;
  }
  return bytes;
}
