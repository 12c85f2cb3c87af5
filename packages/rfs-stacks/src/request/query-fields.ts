import { RfsStacksError } from "../errors.ts";

/** The parameters of a query, each of a known name and given once. */
export class QueryFields {
  readonly #values = new Map<string, string>();

  constructor(query: string, known: readonly string[]) {
    for (const [name, value] of new URLSearchParams(query)) {
      const label = name.slice(0, 64);
      if (!known.includes(name)) {
        throw new RfsStacksError(
          "RFS_PARAMETER_UNKNOWN",
          `"${label}" is not a parameter of this request`,
        );
      }
      if (this.#values.has(name)) {
        throw new RfsStacksError("RFS_PARAMETER_CONFLICT", `${label} is given twice`);
      }
      this.#values.set(name, value);
    }
  }

  get(name: string): string | undefined {
    return this.#values.get(name);
  }
}
