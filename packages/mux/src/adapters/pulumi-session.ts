import { createHash } from "node:crypto";
import type { Value } from "@stackwright/cty";
import {
  decodeStruct,
  type EncodeOptions,
  encodeStruct,
  type PropertyMap,
  restoreSecrets,
} from "@stackwright/proto/property";
import type { EncodedStruct } from "@stackwright/proto/struct";
import type { CallContext } from "../call-context.ts";
import type { Capabilities } from "../core/combine-configure.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import type { LifecycleContext, OperationIdentity } from "../router/lifecycle-provider.ts";
import type { MemberShapes } from "./package-types.ts";
import { type ConvertedObject, fromProperties } from "./property-values.ts";

export const EMPTY = encodeStruct(new Map());

/** Without Configure a provider can nothing beyond the plain protocol. */
export const UNCONFIGURED: Capabilities = {
  acceptSecrets: false,
  supportsPreview: false,
  acceptResources: false,
  acceptOutputs: false,
  supportsAutonamingConfiguration: false,
};

/** A Pulumi provider in use, with what it said that it takes. */
export class PulumiAdapterSession {
  readonly provider: ResourceProvider;
  capabilities: Capabilities = UNCONFIGURED;

  constructor(provider: ResourceProvider) {
    this.provider = provider;
  }

  /** Properties as the provider takes them. */
  encode(properties: PropertyMap): EncodedStruct {
    return encodeStruct(properties, encodingFor(this.capabilities));
  }

  /** An object of what the provider returned. */
  object(
    shapes: MemberShapes,
    id: string,
    properties: EncodedStruct | undefined,
    inputs?: PropertyMap,
  ): ConvertedObject {
    let decoded: PropertyMap = decodeStruct(properties ?? EMPTY);
    // What went in as a secret and came out as none was only unwrapped for the provider.
    if (!this.capabilities.acceptSecrets && inputs !== undefined) {
      decoded = restoreSecrets(decoded, inputs);
    }
    const withId = shapes.outputs.has("id")
      ? new Map(decoded).set("id", { kind: "string", value: id })
      : decoded;
    return fromProperties(shapes.all, withId);
  }
}

/** What has to be reduced for a provider. */
export function encodingFor({
  acceptSecrets,
  acceptResources,
  acceptOutputs,
}: Capabilities): EncodeOptions {
  return {
    secrets: acceptSecrets ? "keep" : "strip",
    resources: acceptResources ? "keep" : "strip",
    outputs: acceptOutputs ? "keep" : "strip",
  };
}

/** The id of an object, which is one of its attributes; empty when there is none. */
export function idOf(object: Value): string {
  const id = new Map(object.entries()).get("id");
  return id === undefined || id.isNull || !id.isKnown ? "" : id.asString();
}

/** The URN of the provider of a package, for its configuration. */
export function providerUrn(name: string): string {
  return `urn:pulumi:stackwright::stackwright::pulumi:providers:${name}::default`;
}

/**
 * A URN for requests. Providers take the type from it, and the name for names that they make up: it is the same for
 * every call of one operation, and differs between operations.
 */
export function resourceUrn(token: string, operation: OperationIdentity | undefined): string {
  const name =
    operation === undefined
      ? "resource"
      : `r${createHash("sha256").update(operation.operationId).digest("hex").slice(0, 8)}`;
  return `urn:pulumi:stackwright::stackwright::${token}::${name}`;
}

/** Names that a provider makes up must come out the same in the plan and in the final plan. */
export function seedOf(token: string, operation: OperationIdentity | undefined): Uint8Array {
  return createHash("sha256")
    .update(`${token} ${operation?.operationId ?? ""}`)
    .digest();
}

export function callContext({ signal }: LifecycleContext): CallContext {
  return { signal };
}
