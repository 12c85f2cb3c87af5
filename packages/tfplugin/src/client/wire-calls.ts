import { CtyError, type Type, type Value } from "@stackwright/cty";
import type { LifecycleContext, OperationIdentity } from "@stackwright/mux/router";
import type { DynamicValue, ResourceIdentityData } from "@stackwright/proto/tfplugin6";
import { TfpluginError } from "../errors.ts";
import type { PluginTransport } from "../transport/plugin-transport.ts";
import { valueFromWire, valueToWire } from "../wire/dynamic-value.ts";
import { PLUGIN_METHODS, type PluginMethod, type PluginMethods } from "../wire/methods.ts";

/**
 * Calls of one provider with decoded messages, and the conversion of the values in them with errors that say which side
 * is at fault: `TFPLUGIN_VALUE_INVALID` for what a caller gave (nothing was sent), `TFPLUGIN_REPLY_INVALID` for what the
 * provider answered (the call may have had any effect).
 */
export class WireCalls {
  readonly methods: PluginMethods;
  readonly protocol: 5 | 6;
  readonly #transport: PluginTransport;

  constructor(transport: PluginTransport) {
    this.#transport = transport;
    this.protocol = transport.protocol;
    this.methods = PLUGIN_METHODS[transport.protocol];
  }

  async call<Request, Response>(
    method: PluginMethod<Request, Response>,
    request: Request,
    context: LifecycleContext & { readonly operation?: OperationIdentity | undefined },
  ): Promise<Response> {
    const reply = await this.bytes(method, request, context);
    try {
      return method.response.decode(reply);
    } catch (error) {
      throw undecodable(method.name, error);
    }
  }

  /** A call whose answer is not read. */
  async bytes<Request>(
    method: PluginMethod<Request, unknown>,
    request: Request,
    {
      signal,
      sessionId,
      operation,
    }: LifecycleContext & { readonly operation?: OperationIdentity | undefined },
  ): Promise<Uint8Array> {
    return this.#transport.unary(method.name, method.request.encode(request).finish(), {
      ...(signal && { signal }),
      ...(sessionId !== undefined && { sessionId }),
      ...(operation && { operation }),
    });
  }

  write(value: Value, type: Type): DynamicValue {
    try {
      return valueToWire(value, type);
    } catch (error) {
      if (!(error instanceof CtyError)) throw error;
      const place = error.path === undefined ? "" : ` at ${String(error.path)}`;
      throw new TfpluginError("TFPLUGIN_VALUE_INVALID", `${error.message}${place}`, {
        outcome: "not-applied",
        cause: error,
      });
    }
  }

  writeOptional(value: Value | undefined, type: Type | undefined): DynamicValue | undefined {
    return value === undefined || type === undefined ? undefined : this.write(value, type);
  }

  writeIdentity(
    value: Value | undefined,
    type: Type | undefined,
  ): ResourceIdentityData | undefined {
    const identityData = this.writeOptional(value, type);
    return identityData && { identityData };
  }

  read(value: DynamicValue | undefined, type: Type, subject: string): Value {
    try {
      return valueFromWire(value, type);
    } catch (error) {
      if (!(error instanceof CtyError)) throw error;
      const place = error.path === undefined ? "" : ` at ${String(error.path)}`;
      throw new TfpluginError(
        "TFPLUGIN_REPLY_INVALID",
        `the provider answered a value that does not fit ${subject}${place}: ${error.message}`,
        { subject, cause: error },
      );
    }
  }

  readIdentity(
    data: ResourceIdentityData | undefined,
    type: Type | undefined,
    subject: string,
  ): Value | undefined {
    if (data?.identityData === undefined || type === undefined) return undefined;
    const identity = this.read(data.identityData, type, `the identity of ${subject}`);
    return identity.isKnown && identity.isNull ? undefined : identity;
  }

  async close(): Promise<void> {
    return this.#transport.close();
  }
}

/** That an answer is no message of its method. */
export function undecodable(name: string, cause: unknown): TfpluginError {
  return new TfpluginError(
    "TFPLUGIN_REPLY_INVALID",
    `the answer to ${name} cannot be decoded: ${messageOf(cause)}`,
    { subject: name, cause },
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
