/** Strings from this length on are pieces of their own. */
const LONG = 64 * 1024;

/** Text that JSON writes as it is. */
const UNESCAPED = /^[A-Za-z0-9+/=]*$/;

/**
 * A value as JSON, its members in one order regardless of how objects were made, in pieces: long encoded values, which may be
 * most of the memory of a run, are not copied.
 */
export function* jsonPieces(value: unknown): Generator<string, void> {
  if (!hasLongText(value)) {
    yield JSON.stringify(value, sortMembers);
  } else if (typeof value === "string") {
    if (UNESCAPED.test(value)) yield* ['"', value, '"'];
    else yield JSON.stringify(value);
  } else if (Array.isArray(value)) {
    let separator = "[";
    for (const item of value) {
      yield separator;
      yield* jsonPieces(item ?? null);
      separator = ",";
    }
    yield "]";
  } else {
    let separator = "{";
    for (const [name, member] of Object.entries(sorted(value as object))) {
      if (member === undefined) continue;
      yield `${separator}${JSON.stringify(name)}:`;
      yield* jsonPieces(member);
      separator = ",";
    }
    yield "}";
  }
}

function hasLongText(value: unknown): boolean {
  if (typeof value === "string") return value.length >= LONG;
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some(hasLongText);
}

function sortMembers(_name: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return sorted(value);
}

function sorted(value: object): object {
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
