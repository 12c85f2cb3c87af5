import {
  decodeStruct,
  type EncodeOptions,
  encodeStruct,
  restoreSecrets,
} from "@stackwright/proto/property";
import type { EncodedStruct } from "@stackwright/proto/struct";
import type { Capabilities } from "./core/combine-configure.ts";

/**
 * Rewrites properties for a server that can less than its mux announced: what it does not take is reduced to what
 * it does, and secrets are put back where they were on the way out.
 */
export interface CapabilityMask {
  request(properties: EncodedStruct | undefined): EncodedStruct | undefined;
  /** `inputs` are the properties as they came, before they were reduced. */
  reply(
    properties: EncodedStruct | undefined,
    inputs: EncodedStruct | undefined,
  ): EncodedStruct | undefined;
}

/** The mask for a server, or `undefined` for one that takes everything. */
export function createCapabilityMask(
  capabilities: Pick<Capabilities, "acceptSecrets" | "acceptResources" | "acceptOutputs">,
): CapabilityMask | undefined {
  const { acceptSecrets, acceptResources, acceptOutputs } = capabilities;
  if (acceptSecrets && acceptResources && acceptOutputs) return undefined;
  const options: EncodeOptions = {
    secrets: acceptSecrets ? "keep" : "strip",
    resources: acceptResources ? "keep" : "strip",
    outputs: acceptOutputs ? "keep" : "strip",
  };
  return {
    request: (properties) =>
      properties === undefined ? undefined : encodeStruct(decodeStruct(properties), options),
    reply: (properties, inputs) =>
      acceptSecrets || properties === undefined || inputs === undefined
        ? properties
        : encodeStruct(restoreSecrets(decodeStruct(properties), decodeStruct(inputs))),
  };
}
