import { EngineError } from "../errors.ts";

/** What carries the calls to providers. */
type ProviderCarrier = "frames" | "grpc-js";

/**
 * What `STACKWRIGHT_PROVIDER_CARRIER` chooses; undefined for what is usual. `ENGINE_CONFIG_INVALID` for another word.
 */
export function providerCarrier(env: NodeJS.ProcessEnv): ProviderCarrier | undefined {
  const value = env["STACKWRIGHT_PROVIDER_CARRIER"] ?? "";
  if (value === "") return undefined;
  if (value === "frames" || value === "grpc-js") return value;
  throw new EngineError(
    "ENGINE_CONFIG_INVALID",
    `STACKWRIGHT_PROVIDER_CARRIER is "${value}"; it can be frames or grpc-js`,
  );
}
