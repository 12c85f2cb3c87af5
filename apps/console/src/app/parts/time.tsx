import { useSyncExternalStore } from "react";

const RELATIVE = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const UNITS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** A time as how long ago it was, with the exact one on demand. */
export function Time({ at }: { readonly at: string | number }) {
  const nowMs = useNow();
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {relativeText(date.getTime() - nowMs)}
    </time>
  );
}

/** A day of UTC, where it matters more than how long ago it was. */
export function Day({ at }: { readonly at: string }) {
  const date = new Date(at);
  return (
    <time dateTime={date.toISOString()} title={date.toLocaleString()}>
      {date.toISOString().slice(0, 10)}
    </time>
  );
}

function relativeText(differenceMs: number): string {
  for (const [unit, unitMs] of UNITS) {
    if (Math.abs(differenceMs) >= unitMs) {
      return RELATIVE.format(Math.round(differenceMs / unitMs), unit);
    }
  }
  return differenceMs > 30_000 ? "in a moment" : "just now";
}

/** The time in milliseconds since 1970, which changes twice a minute. */
export function useNow(): number {
  return useSyncExternalStore(
    (changed) => {
      const timer = setInterval(changed, 30_000);
      return () => clearInterval(timer);
    },
    () => Math.floor(Date.now() / 30_000) * 30_000,
  );
}

/** `1 m 40 s` */
export function durationText(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${Math.round(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} m`;
}
