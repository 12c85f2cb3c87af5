import type { RestorePoint } from "@stackwright/storage/backup";
import { CommandError } from "../command-error.ts";

/** The revision or the time that an option names. */
export function parseMoment(option: string, text: string): RestorePoint {
  if (/^\d{1,15}$/.test(text)) return { revision: Number(text) };
  const hasZone = /^\d{4}-\d\d-\d\dT\d\d:\d\d.*(?:Z|[+-]\d\d:\d\d)$/.test(text);
  const timeMs = hasZone ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(timeMs)) return { timeMs };
  throw new CommandError(`${option} ${text}: invalid revision or time.`, {
    advice: "A time is like 2026-03-01T14:30:00Z or 2026-03-01T15:30:00+01:00.",
  });
}
