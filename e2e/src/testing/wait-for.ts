import { setTimeout as delay } from "node:timers/promises";

const POLL_MS = 25;

/**
 * Waits until `look` finds something, at most `limitMs`; then it rejects and says what was waited for, and what
 * `seen` has to say about it.
 */
export async function waitFor<Found>(
  what: string,
  look: () => Found | undefined | false | Promise<Found | undefined | false>,
  {
    limitMs = 60_000,
    pollMs = POLL_MS,
    seen,
  }: { readonly limitMs?: number; readonly pollMs?: number; readonly seen?: () => string } = {},
): Promise<Found> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) {
      const context = seen === undefined ? "" : `\n${seen()}`;
      throw new Error(`waited ${limitMs / 1000} s for ${what}${context}`);
    }
    await delay(pollMs);
  }
}
