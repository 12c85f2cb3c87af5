import {
  type EphemeralHandleRequest,
  hasProviderErrors,
  type LifecycleContext,
  type OpenEphemeralRequest,
  type OpenReply,
  type RenewReply,
  type Reply,
  type ValidateResourceRequest,
} from "@stackwright/mux/router";
import { ownBytes } from "../wire/dynamic-value.ts";
import { deferralFromWire, diagnosticsFromWire, timestampFromWire } from "../wire/replies.ts";
import { withDeferral } from "./resource-calls.ts";
import type { SchemaProvider } from "./schema-source.ts";
import type { WireCalls } from "./wire-calls.ts";

/** The calls of ephemeral resources: opened, renewed as long as they are needed, closed. */
export class EphemeralCalls {
  readonly #calls: WireCalls;
  readonly #schema: SchemaProvider;

  constructor(calls: WireCalls, schema: SchemaProvider) {
    this.#calls = calls;
    this.#schema = schema;
  }

  async validate(request: ValidateResourceRequest, context: LifecycleContext): Promise<Reply> {
    const calls = this.#calls;
    const { type } = (await this.#schema.get(context)).types.ephemeral(request.type);
    const reply = await calls.call(
      calls.methods.validateEphemeral,
      { typeName: request.type, config: calls.write(request.config, type) },
      context,
    );
    return { diagnostics: diagnosticsFromWire(reply.diagnostics) };
  }

  async open(request: OpenEphemeralRequest, context: LifecycleContext): Promise<OpenReply> {
    const calls = this.#calls;
    const { type } = (await this.#schema.get(context)).types.ephemeral(request.type);
    const reply = await calls.call(
      calls.methods.openEphemeral,
      {
        typeName: request.type,
        config: calls.write(request.config, type),
        clientCapabilities: {
          deferralAllowed: request.deferralAllowed,
          writeOnlyAttributesAllowed: false,
        },
      },
      context,
    );
    const deferred = deferralFromWire(reply.deferred);
    const diagnostics = withDeferral(reply.diagnostics, deferred, request.deferralAllowed);
    const held = { diagnostics, ...heldParts(reply) };
    if (hasProviderErrors(diagnostics) && reply.result === undefined) return held;
    const result = calls.read(reply.result, type, request.type);
    return { ...held, result, ...(deferred && { deferred }) };
  }

  async renew(request: EphemeralHandleRequest, context: LifecycleContext): Promise<RenewReply> {
    const calls = this.#calls;
    const held = { typeName: request.type, private: request.privateBytes };
    const reply = await calls.call(calls.methods.renewEphemeral, held, context);
    return { diagnostics: diagnosticsFromWire(reply.diagnostics), ...heldParts(reply) };
  }

  async close(request: EphemeralHandleRequest, context: LifecycleContext): Promise<Reply> {
    const calls = this.#calls;
    const held = { typeName: request.type, private: request.privateBytes };
    const reply = await calls.call(calls.methods.closeEphemeral, held, context);
    return { diagnostics: diagnosticsFromWire(reply.diagnostics) };
  }
}

/** The parts to keep between the calls. */
function heldParts(reply: {
  readonly private?: Uint8Array | undefined;
  readonly renewAt?: Parameters<typeof timestampFromWire>[0];
}): Pick<OpenReply, "privateBytes" | "renewAtMs"> {
  const renewAtMs = timestampFromWire(reply.renewAt);
  return {
    ...(reply.private && { privateBytes: ownBytes(reply.private) }),
    ...(renewAtMs !== undefined && { renewAtMs }),
  };
}
