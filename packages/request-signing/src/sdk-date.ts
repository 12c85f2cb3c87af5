const FORM = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/;

/** Milliseconds since the Unix epoch as `YYYYMMDDTHHMMSSZ`, the form of `X-Sdk-Date`. */
export function formatSdkDate(timeMs: number): string {
  return new Date(timeMs).toISOString().replace(/[-:]|\.\d{3}/g, "");
}

/** The inverse; `undefined` for any other text, also for days that do not exist. */
export function parseSdkDate(text: string): number | undefined {
  const [, year, month, day, hour, minute, second] = FORM.exec(text) ?? [];
  if (year === undefined) return undefined;
  const timeMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(timeMs) || formatSdkDate(timeMs) !== text ? undefined : timeMs;
}
