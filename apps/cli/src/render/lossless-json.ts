/** A number with all of its digits, as `JSON.rawJSON` makes it. */
interface RawNumber {
  readonly rawJSON: string;
}

/** What is written as JSON. Members that are undefined are left out. */
export type JsonMember =
  | null
  | boolean
  | number
  | string
  | RawNumber
  | readonly JsonMember[]
  | JsonMembers
  | undefined;

export interface JsonMembers {
  readonly [name: string]: JsonMember;
}

/** What the language declares of it is behind the run time. */
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => RawNumber };

/** Takes JSON text over into a larger JSON value; no digit of a number is lost. */
export function exactJson(text: string): JsonMember {
  return JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) =>
    typeof value === "number" ? rawJSON(context?.source ?? String(value)) : value,
  ) as JsonMember;
}

export function writeExactJson(value: JsonMember, indent?: number): string {
  return JSON.stringify(value, undefined, indent);
}
