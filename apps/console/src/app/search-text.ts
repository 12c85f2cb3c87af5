/** The part of an address behind `?`. All that it says is text: a filter may be `true`, or a number of many digits. */
export function parseSearch(search: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(search));
}

/** The other way; what has no value is left out. */
export function stringifySearch(search: Readonly<Record<string, unknown>>): string {
  const texts = Object.entries(search).flatMap(([name, value]): [string, string][] =>
    typeof value === "string" || typeof value === "number" ? [[name, String(value)]] : [],
  );
  return texts.length === 0 ? "" : `?${new URLSearchParams(texts).toString()}`;
}
