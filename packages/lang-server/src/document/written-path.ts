/** The reference that is being written before an offset. */
export interface WrittenPath {
  /** The complete steps before the last dot; keys in brackets are `[]`. */
  readonly steps: readonly string[];
  /** What is written of the last step. */
  readonly prefix: string;
  /** Where the prefix begins. */
  readonly start: number;
}

/** Longest text before the offset that is looked at. */
const MAX_LENGTH = 500;
const PREFIX = /[\p{ID_Start}_][\p{ID_Continue}-]*$/u;
const STEP = /(?:([\p{ID_Start}_][\p{ID_Continue}-]*)|(\[[^[\]\n]*\])|(\.\*|\[\*\]))$/u;

/** Reads backwards from an offset what a reference has so far. */
export function writtenPath(text: string, offset: number): WrittenPath {
  const before = text.slice(Math.max(0, offset - MAX_LENGTH), offset);
  const prefix = PREFIX.exec(before)?.[0] ?? "";
  const start = offset - prefix.length;
  const steps: string[] = [];
  let rest = before.slice(0, before.length - prefix.length);
  if (!rest.endsWith(".")) return { steps, prefix, start };
  rest = rest.slice(0, -1);
  for (;;) {
    const match = STEP.exec(rest);
    if (match === null) break;
    const [whole, name] = match;
    steps.unshift(name ?? "[]");
    rest = rest.slice(0, -whole.length);
    if (name === undefined) continue;
    if (!rest.endsWith(".")) break;
    rest = rest.slice(0, -1);
  }
  return { steps, prefix, start };
}
