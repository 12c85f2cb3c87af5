import { Cron } from "croner";
import { ServerError } from "../domain/server-error.ts";

/** When a schedule is due: repeatedly, by the clock of a time zone. */
interface ScheduleTimes {
  /** Minute, hour, day of month, month, day of week. */
  readonly cron: string;
  /** IANA name of a time zone. */
  readonly zone: string;
}

/** The least time between two runs of one schedule. */
const MIN_INTERVAL_MS = 5 * 60_000;

/** Times that are compared with the interval: what is irregular within an hour or a day shows in these. */
const COMPARED_TIMES = 64;

/**
 * The first time after a moment, in milliseconds since 1970; undefined if there is none. Where clocks are put forward, a time
 * that they skip is due behind the gap; where they are put back, a time that comes twice is due once.
 */
export function nextTime({ cron, zone }: ScheduleTimes, afterMs: number): number | undefined {
  return open({ cron, zone }).nextRun(new Date(afterMs))?.getTime();
}

/** `invalid_request` unless the fields and the zone are valid, due at all, and at least five minutes apart. */
export function checkTimes(times: ScheduleTimes, nowMs: number): void {
  const due = open(times).nextRuns(COMPARED_TIMES, new Date(nowMs));
  if (due.length === 0) {
    throw invalid("cron", `"${times.cron}" is never due: no month has such a day`);
  }
  for (const [index, time] of due.slice(1).entries()) {
    const gap = time.getTime() - (due[index]?.getTime() ?? 0);
    if (gap >= MIN_INTERVAL_MS) continue;
    throw invalid(
      "cron",
      `"${times.cron}" is due at ${due[index]?.toISOString()} and again at ${time.toISOString()}; at least 5 minutes have to lie between`,
    );
  }
}

function open({ cron, zone }: ScheduleTimes): Cron {
  if (!isZone(zone)) {
    throw invalid(
      "zone",
      `"${zone}" is not a valid time zone; names are those of IANA, such as Europe/Berlin`,
    );
  }
  try {
    return new Cron(cron, { timezone: zone, paused: true, mode: "5-part" });
  } catch {
    throw invalid(
      "cron",
      `"${cron}" does not consist of five fields of cron: minute, hour, day of month, month, day of week; for example "0 3 * * 1-5"`,
    );
  }
}

function isZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat("en", { timeZone: name }) !== undefined;
  } catch {
    return false;
  }
}

function invalid(field: "cron" | "zone", detail: string): ServerError {
  return new ServerError("invalid_request", detail, { errors: [{ pointer: `/${field}`, detail }] });
}
