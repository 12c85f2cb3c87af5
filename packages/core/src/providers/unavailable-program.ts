import { EngineError } from "../errors.ts";

/** Says which program of a joined provider is not available, and why: `ENGINE_PROVIDER_UNAVAILABLE`. */
export function unavailableProgram(source: string, program: string, error: unknown): EngineError {
  const why = error instanceof Error ? error.message : String(error);
  return new EngineError(
    "ENGINE_PROVIDER_UNAVAILABLE",
    `the program "${program}" of ${source} is not available: ${why}`,
    { cause: error },
  );
}
