import type { StoredRunLogEvent } from "../domain/run-log-event.ts";

/**
 * Diagnostics as commands print them at the end of what they do: warnings first, in the order of their places, and of the warnings with
 * the same summary the first one, which says how many more there are.
 */
export function sortedDiagnostics(
  found: readonly StoredRunLogEvent[],
): readonly StoredRunLogEvent[] {
  const sorted = found.toSorted(compare);
  const similar = Map.groupBy(sorted.filter(isGrouped), ({ summary }) => summary);
  return sorted.flatMap((event) => {
    if (!isGrouped(event)) return [event];
    const [first, ...more] = similar.get(event["summary"]) ?? [];
    if (event !== first) return [];
    return [more.length === 0 ? event : { ...event, detail: withCount(event, more.length) }];
  });
}

/** Only warnings with a place: those of one part of the language may be many. Each check says something of its own. */
function isGrouped(event: StoredRunLogEvent): boolean {
  const { severity, summary } = event;
  if (severity === "error" || placeOf(event) === undefined) return false;
  return !String(summary).startsWith("Check block assertion ");
}

function withCount({ detail }: StoredRunLogEvent, more: number): string {
  const text = more === 1 ? "one more similar warning" : `${more} more similar warnings`;
  return [detail, `(and ${text} elsewhere)`]
    .filter((part) => typeof part === "string" && part !== "")
    .join("\n\n");
}

function compare(a: StoredRunLogEvent, b: StoredRunLogEvent): number {
  const [left, right] = [a, b].map((event) => ({
    isError: Number(event["severity"] === "error"),
    place: placeOf(event),
  }));
  if (left === undefined || right === undefined) return 0;
  if (left.isError !== right.isError) return left.isError - right.isError;
  const [one, other] = [left.place, right.place];
  if (one === undefined || other === undefined) {
    return Number(one !== undefined) - Number(other !== undefined);
  }
  // Files of the root module come before those of the modules that it calls.
  const depth = one.file.split("/").length - other.file.split("/").length;
  if (depth !== 0) return depth;
  if (one.file !== other.file) return one.file < other.file ? -1 : 1;
  return one.line - other.line || one.byte - other.byte;
}

/** Where a problem is; the byte is that within the file, 0 where it is not known. */
function placeOf({
  file,
  line,
  range,
}: StoredRunLogEvent):
  | { readonly file: string; readonly line: number; readonly byte: number }
  | undefined {
  if (typeof file !== "string" || typeof line !== "number") return undefined;
  const start =
    typeof range === "object" && range !== null && "start" in range ? range.start : undefined;
  const byte = typeof start === "object" && start !== null && "byte" in start ? start.byte : 0;
  return { file, line, byte: typeof byte === "number" ? byte : 0 };
}
