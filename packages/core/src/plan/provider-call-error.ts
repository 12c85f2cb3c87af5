import { EngineError } from "../errors.ts";

/**
 * What a plan rejects with when a provider gives no answer about an object: the message has to name the object and the
 * provider. Other errors, such as the reason of a signal, stay as they are.
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
