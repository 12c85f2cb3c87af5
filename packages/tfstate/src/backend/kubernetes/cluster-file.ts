import { parse } from "yaml";

/** The object of a file as kubectl takes it, in YAML or JSON. Undefined for a text that has none. */
export function parseClusterFile(text: string): Readonly<Record<string, unknown>> | undefined {
  let content: unknown;
  try {
    content = parse(text);
  } catch {
    return undefined;
  }
  return typeof content === "object" && content !== null && !Array.isArray(content)
    ? (content as Readonly<Record<string, unknown>>)
    : undefined;
}
