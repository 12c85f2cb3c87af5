import { EngineError } from "../errors.ts";

/**
 * What a plan rejects with when a provider gives no answer about an object: a person has to know which object and which
 * provider it was. Other errors, such as the reason of a signal, stay as they are.
 */
export function providerCallError(address: string, source: string, error: unknown): unknown {
  const isAnswer = error instanceof Error && "code" in error && typeof error.code === "string";
  if (!isAnswer || error instanceof EngineError) return error;
  return new EngineError(
    "ENGINE_PROVIDER_UNAVAILABLE",
    `${address} (${source}): ${error.message}`,
    {
      cause: error,
      details: { addresses: [address] },
    },
  );
}
