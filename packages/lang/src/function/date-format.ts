import { invalidArgument } from "./parameter.ts";
import { formatOffset, localParts, type Timestamp, twoDigits } from "./timestamp.ts";

const MONTHS =
  "January February March April May June July August September October November December".split(
    " ",
  );
const WEEKDAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** A quoted text, a run of one letter, or anything else. */
const TOKEN = /'(?:[^']|'')*'?|([A-Za-z])\1*|[^A-Za-z']+/gy;

type Parts = ReturnType<typeof localParts> & { readonly offset: number };

/** What the run lengths of a letter stand for. */
const LETTERS: Readonly<
  Record<string, Readonly<Record<number, (parts: Parts) => string>> | undefined>
> = {
  Y: {
    2: ({ year }) => twoDigits(year % 100),
    4: ({ year }) => String(year).padStart(4, "0"),
  },
  M: {
    1: ({ month }) => String(month),
    2: ({ month }) => twoDigits(month),
    3: ({ month }) => (MONTHS[month - 1] ?? "").slice(0, 3),
    4: ({ month }) => MONTHS[month - 1] ?? "",
  },
  D: { 1: ({ day }) => String(day), 2: ({ day }) => twoDigits(day) },
  E: {
    3: ({ weekday }) => (WEEKDAYS[weekday] ?? "").slice(0, 3),
    4: ({ weekday }) => WEEKDAYS[weekday] ?? "",
  },
  h: { 1: ({ hour }) => String(hour), 2: ({ hour }) => twoDigits(hour) },
  H: { 1: ({ hour }) => String(hour % 12 || 12), 2: ({ hour }) => twoDigits(hour % 12 || 12) },
  A: { 2: ({ hour }) => (hour < 12 ? "AM" : "PM") },
  a: { 2: ({ hour }) => (hour < 12 ? "am" : "pm") },
  m: { 1: ({ minute }) => String(minute), 2: ({ minute }) => twoDigits(minute) },
  s: { 1: ({ second }) => String(second), 2: ({ second }) => twoDigits(second) },
  Z: {
    1: ({ offset }) => (offset === 0 ? "Z" : formatOffset(offset, ":")),
    3: ({ offset }) => (offset === 0 ? "UTC" : formatOffset(offset, "")),
    4: ({ offset }) => formatOffset(offset, ""),
    5: ({ offset }) => formatOffset(offset, ":"),
  },
};

/** A time by a format of letter runs. Letters without meaning are refused: they may get one. */
export function formatDate(format: string, timestamp: Timestamp): string {
  const parts: Parts = { ...localParts(timestamp), offset: timestamp.offset };
  return format.replace(TOKEN, (token: string, letter?: string) => {
    if (token.startsWith("'")) return quoted(token);
    if (letter === undefined) return token;
    const lengths = LETTERS[letter];
    const write = lengths?.[token.length];
    if (write !== undefined) return write(parts);
    const hint =
      lengths === undefined
        ? "text must stand in single quotes"
        : `possible are ${Object.keys(lengths)
            .map((length) => letter.repeat(Number(length)))
            .join(", ")}`;
    return invalidArgument(`invalid date format verb "${token}": ${hint}`, 0);
  });
}

function quoted(token: string): string {
  if (token === "''") return "'";
  const body = token.slice(1, -1);
  if (token.length < 2 || !token.endsWith("'") || /(?:^|[^'])(?:'')*'$/.test(body)) {
    invalidArgument("unterminated literal '", 0);
  }
  return body.replaceAll("''", "'");
}
