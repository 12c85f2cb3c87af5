import { Type, Value } from "@stackwright/cty";
import type { LangFunction } from "../eval/function.ts";
import { formatDate } from "./date-format.ts";
import { invalidArgument, text, textParam } from "./parameter.ts";
import { formatTimestamp, parseDuration, parseTimestamp, type Timestamp } from "./timestamp.ts";

function timestampOf(args: readonly Value[], position: number): Timestamp {
  return (
    parseTimestamp(text(args, position)) ??
    invalidArgument("not a valid RFC 3339 timestamp, such as 2024-02-29T12:00:00Z", position)
  );
}

const timestamp = textParam("timestamp", "the time in RFC 3339 format");

export const DATE_FUNCTIONS: readonly LangFunction[] = [
  {
    name: "formatdate",
    category: "date",
    description: "A time in a format of letters such as YYYY-MM-DD and texts in single quotes.",
    parameters: [
      textParam("format", "the format"),
      textParam("time", "the time in RFC 3339 format"),
    ],
    returns: Type.string,
    call: (args) => Value.string(formatDate(text(args, 0), timestampOf(args, 1))),
  },
  {
    name: "timeadd",
    category: "date",
    description: "A time some duration later, such as 1h30m; or earlier with a minus sign.",
    parameters: [timestamp, textParam("duration", "the duration, in units from ns to h")],
    returns: Type.string,
    call: (args) => {
      const start = timestampOf(args, 0);
      const duration = parseDuration(text(args, 1));
      if (duration === undefined) return invalidArgument("not a valid duration, such as 1h30m", 1);
      const nanoseconds = start.nanoseconds + duration;
      return Value.string(formatTimestamp({ ...start, nanoseconds }));
    },
  },
  {
    name: "timecmp",
    category: "date",
    description: "-1, 0 or 1 for a time before, at or after another.",
    parameters: [
      textParam("timestamp_a", "the time in RFC 3339 format"),
      textParam("timestamp_b", "the time to compare with"),
    ],
    returns: Type.number,
    call: (args) => {
      const a = timestampOf(args, 0).nanoseconds;
      const b = timestampOf(args, 1).nanoseconds;
      if (a === b) return Value.zero;
      return Value.number(a < b ? -1 : 1);
    },
  },
  {
    name: "timestamp",
    category: "date",
    description: "The present time in UTC. Not known while planning.",
    parameters: [],
    returns: Type.string,
    call: (_args, _type, { now }) => (now === undefined ? Value.unknown(Type.string) : utc(now())),
  },
  {
    name: "plantimestamp",
    category: "date",
    description: "The time of the plan in UTC.",
    parameters: [],
    returns: Type.string,
    call: (_args, _type, { planTime }) =>
      planTime === undefined ? Value.unknown(Type.string) : utc(planTime),
  },
];

function utc(date: Date): Value {
  return Value.string(`${date.toISOString().slice(0, 19)}Z`);
}
