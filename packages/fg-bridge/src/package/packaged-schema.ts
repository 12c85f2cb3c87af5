import { createHash } from "node:crypto";
import type { PluginTransport } from "@stackwright/tfplugin";
import { bundleSchema } from "../bridge/bundled-schema.ts";
import { probeProvider } from "../caller/probe-provider.ts";
import { FgBridgeError } from "../errors.ts";
import type { PackagedSchema } from "./function-manifest.ts";

/**
 * Asks a function what it declares.
 *
 * @throws FgBridgeError `FG_PROTOCOL_REFUSED` with the reason where engines could not use it; what the call ended with where it does not answer
 */
export async function readPackagedSchema(
  transport: PluginTransport,
  options: { readonly signal?: AbortSignal } = {},
): Promise<PackagedSchema> {
  const probe = await probeProvider(transport, options);
  if (probe.kind === "unreachable") throw probe.cause;
  if (probe.kind === "refused") throw new FgBridgeError("FG_PROTOCOL_REFUSED", probe.reason);
  const schema = bundleSchema(await transport.unary("GetSchema", new Uint8Array(), options));
  if (schema === undefined) {
    throw new FgBridgeError("FG_PROTOCOL_REFUSED", "what it declares is not a provider schema");
  }
  const { resources, dataSources, notCarried } = probe;
  return {
    sha256: createHash("sha256").update(schema).digest("hex"),
    resources,
    dataSources,
    notCarried,
  };
}
