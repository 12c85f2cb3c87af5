import type { LangFunction } from "./function.ts";
import type { FunctionHost } from "./host.ts";

/** The functions that expressions can call, and what these functions may use. */
export interface FunctionTable {
  readonly host: FunctionHost;
  get(name: string): LangFunction | undefined;
  names(): Iterable<string>;
  /**
   * How many results have been given out as unknown because they are still being fetched. Where it
   * has grown during an evaluation, that is to be done again when they are there.
   */
  pending?(): number;
}

/** A table of functions by name. Of equal names the last one counts. */
export function createFunctionTable(
  functions: Iterable<LangFunction>,
  host: FunctionHost,
): FunctionTable {
  const byName = new Map<string, LangFunction>();
  for (const definition of functions) byName.set(definition.name, definition);
  return {
    host,
    get: (name) => byName.get(name),
    names: () => byName.keys(),
  };
}
