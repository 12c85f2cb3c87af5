import { RfsStacksError } from "../errors.ts";

const TERM = /^([A-Za-z0-9_]+)==([A-Za-z0-9_.-]+)$/;
const MAX_CHARACTERS = 512;

/**
 * Reads a filter of a list: terms `FIELD==VALUE`, of which those that `|` joins are alternatives, and those that `,` joins hold all. What
 * has a semicolon is passed over, as the service does. Values may have hyphens and dots, as names of regions and projects have.
 */
export function eventFilter(
  text: string | undefined,
  known: readonly string[],
): (event: Readonly<Record<string, unknown>>) => boolean {
  if (text === undefined || text.includes(";")) return () => true;
  if (text.length > MAX_CHARACTERS) {
    throw new RfsStacksError("RFS_PARAMETER_LENGTH", "filter has more than 512 characters");
  }
  const groups = text.split(",").map((group) =>
    group.split("|").map((term) => {
      const [, field = "", value = ""] = TERM.exec(term.trim()) ?? [];
      if (known.includes(field)) return { field, value };
      throw new RfsStacksError(
        "RFS_FILTER_INVALID",
        `"${term.trim().slice(0, 64)}" is not FIELD==VALUE with a field of ${known.join(", ")}`,
      );
    }),
  );
  return (event) =>
    groups.every((group) => group.some(({ field, value }) => textOf(event[field]) === value));
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
