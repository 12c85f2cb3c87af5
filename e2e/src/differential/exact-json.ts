/** A number as JSON has it, with all of its digits, in one spelling for all that are equal. */
export class ExactNumber {
  readonly text: string;

  constructor(source: string) {
    this.text = canonical(source);
  }
}

/** JSON with exact numbers. */
export type Json = null | boolean | string | ExactNumber | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [name: string]: Json;
}

/** Reads JSON; numbers keep their digits. */
export function parseExact(text: string): Json {
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" ? new ExactNumber(context?.source ?? String(value)) : value,
  ) as Json;
}

/** Writes JSON with members in the order of their names, so that equal values give equal texts. */
export function formatExact(value: Json): string {
  if (value instanceof ExactNumber) return value.text;
  if (isList(value)) return `[${value.map(formatExact).join(",")}]`;
  if (isObject(value)) {
    const members = Object.keys(value).toSorted();
    return `{${members.map((name) => `${JSON.stringify(name)}:${formatExact(value[name] ?? null)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

export function equalJson(left: Json, right: Json): boolean {
  return formatExact(left) === formatExact(right);
}

export function isList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

export function isObject(value: Json | undefined): value is JsonObject {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof ExactNumber)
  );
}

export function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

export function listOf(value: Json | undefined): readonly Json[] {
  return isList(value) ? value : [];
}

export function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

/** `1.50`, `15e-1` and `1.5` are one number: digits without leading or trailing zeros, and an exponent. */
function canonical(source: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+/, "");
  if (digits === "") return "0";
  const trimmed = digits.replace(/0+$/, "");
  const power = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - trimmed.length);
  if (power === 0n) return sign + trimmed;
  return power > 0n && power < 30n
    ? `${sign}${trimmed}${"0".repeat(Number(power))}`
    : `${sign}${trimmed}e${power}`;
}
