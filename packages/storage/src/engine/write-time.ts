/** Bytes that give a write as much time again as it has anyway. */
const BYTES_PER_TIMEOUT = 8 * 1024 * 1024;

/**
 * How long a write may take, in milliseconds: the time that any call has, and as much again for every 8 MiB of content, in
 * proportion. The largest batch of 32 MiB has five times that of a small one.
 */
export function writeTimeMs(timeoutMs: number, bytes: number): number {
  return Math.ceil(timeoutMs * (1 + bytes / BYTES_PER_TIMEOUT));
}
