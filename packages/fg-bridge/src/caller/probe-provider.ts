import { GetProviderSchema_Response } from "@stackwright/proto/tfplugin5";
import type { PluginTransport } from "@stackwright/tfplugin";
import { FgBridgeError } from "../errors.ts";
import { schemaDigestOf } from "./function-transport.ts";

/** The result of checking a function before its first use. */
export type ProbeResult =
  | {
      readonly kind: "usable";
      readonly schemaDigest: string;
      readonly resources: readonly string[];
      readonly dataSources: readonly string[];
      /** Announced by the provider, and not to be used through the contract: functions, ephemeral resources. */
      readonly notCarried: readonly string[];
    }
  /** It answers, and cannot be used: wrong protocol, broken schema. The reason can be shown to users. */
  | { readonly kind: "refused"; readonly reason: string }
  /** It does not answer at present. The reason may name the address of the function; `cause` is the error. */
  | { readonly kind: "unreachable"; readonly reason: string; readonly cause: unknown };

/**
 * Asks a function for its schema, as a registry does when a version is published and when it checks on it. A provider with
 * protocol 6 alone is refused by its function side, with the reason.
 *
 * Rejects with the reason of the signal alone.
 */
export async function probeProvider(
  transport: PluginTransport,
  options: { readonly signal?: AbortSignal } = {},
): Promise<ProbeResult> {
  let bytes: Uint8Array;
  try {
    bytes = await transport.unary("GetSchema", new Uint8Array(), options);
  } catch (error) {
    options.signal?.throwIfAborted();
    const reason = error instanceof Error ? error.message : String(error);
    const answered = error instanceof FgBridgeError && error.code === "FG_FUNCTION_ERROR";
    const refused = answered && error.status === "FAILED_PRECONDITION";
    return refused ? { kind: "refused", reason } : { kind: "unreachable", reason, cause: error };
  }
  try {
    const schema = GetProviderSchema_Response.decode(bytes);
    const failure = schema.diagnostics.find(({ severity }) => severity === 1);
    if (failure !== undefined) return { kind: "refused", reason: failure.summary };
    return {
      kind: "usable",
      schemaDigest: schemaDigestOf(bytes),
      resources: [...schema.resourceSchemas.keys()].toSorted(),
      dataSources: [...schema.dataSourceSchemas.keys()].toSorted(),
      notCarried: [
        ...schema.functions.keys(),
        ...schema.ephemeralResourceSchemas.keys(),
      ].toSorted(),
    };
  } catch {
    return { kind: "refused", reason: "what the function returned is not a provider schema" };
  }
}
