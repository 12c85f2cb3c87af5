import type { LifecycleContext, LifecycleProvider } from "@stackwright/mux/router";
import {
  PrepareProviderConfig_Request,
  PrepareProviderConfig_Response,
} from "@stackwright/proto/tfplugin5";
import { ValidateProviderConfig_Response } from "@stackwright/proto/tfplugin6";
import { TfpluginError } from "../errors.ts";
import type { PluginTransport, TransportCall } from "../transport/plugin-transport.ts";
import { PLUGIN_METHODS, type PluginMethod, type PluginMethods } from "../wire/methods.ts";
import { diagnosticsToWire } from "../wire/replies.ts";
import { createCallHandlers } from "./lifecycle/call-handlers.ts";
import { failureToDiagnostic, type LifecycleHandlers } from "./lifecycle/handler.ts";
import { ProviderTypes } from "./lifecycle/provider-types.ts";
import { createResourceHandlers } from "./lifecycle/resource-handlers.ts";
import { createSchemaHandlers } from "./lifecycle/schema-handlers.ts";
import { createStateHandlers } from "./lifecycle/state-handlers.ts";
import { createValidationHandlers } from "./lifecycle/validation-handlers.ts";

/**
 * A lifecycle provider, such as one of the provider kit, as it is spoken to in the plugin protocol: what
 * `serveTerraformProvider` serves. What the provider rejects with becomes an error diagnostic of the reply. Closing it
 * closes the provider.
 *
 * Protocol 5 has no attributes with attributes of their own: a provider that has some answers the question for its
 * schema with `TFPLUGIN_DOWNGRADE_IMPOSSIBLE` there. Streams (lists, actions), state stores, and objects of Terraform
 * 0.11 are not there.
 *
 * Source: Terraform plugin protocol 5 and 6.
 */
export function serveLifecycleProvider(
  provider: LifecycleProvider,
  options: { readonly protocol: 5 | 6 },
): PluginTransport {
  return new LifecycleTransport(provider, options.protocol);
}

type Answer = (request: Uint8Array, context: LifecycleContext) => Promise<Uint8Array>;

class LifecycleTransport implements PluginTransport {
  readonly protocol: 5 | 6;
  readonly #provider: LifecycleProvider;
  readonly #answers: ReadonlyMap<string, Answer>;

  constructor(provider: LifecycleProvider, protocol: 5 | 6) {
    this.protocol = protocol;
    this.#provider = provider;
    const types = new ProviderTypes(provider);
    const handlers: LifecycleHandlers = {
      ...createSchemaHandlers(types),
      ...createValidationHandlers(provider, types),
      ...createStateHandlers(provider, types),
      ...createResourceHandlers(provider, types),
      ...createCallHandlers(provider, types),
    };
    const methods = PLUGIN_METHODS[protocol];
    const names = Object.keys(methods) as (keyof PluginMethods)[];
    this.#answers = new Map(
      names.map((key) => [methods[key].name, answerOf(key, methods, handlers)]),
    );
  }

  async unary(method: string, request: Uint8Array, call: TransportCall): Promise<Uint8Array> {
    const answer = this.#answers.get(method);
    if (answer === undefined) {
      const text = `the provider does not have ${method}`;
      throw new TfpluginError("TFPLUGIN_METHOD_UNIMPLEMENTED", text, { subject: method });
    }
    const { signal, sessionId } = call;
    return answer(request, {
      ...(signal !== undefined && { signal }),
      ...(sessionId !== undefined && { sessionId }),
    });
  }

  close(): Promise<void> {
    return this.#provider.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function answerOf(
  key: keyof PluginMethods,
  methods: PluginMethods,
  handlers: LifecycleHandlers,
): Answer {
  // Both tables have the same keys, with the same messages under each.
  const { name, request: input, response: output } = methods[key] as PluginMethod<unknown, unknown>;
  const handler = handlers[key] as unknown as {
    answer(request: unknown, context: LifecycleContext): Promise<unknown>;
    failed(diagnostics: readonly unknown[], request: unknown): unknown;
  };
  return async (bytes, context) => {
    const request = input.decode(bytes);
    let reply: unknown;
    try {
      reply = await handler.answer(request, context);
    } catch (error) {
      context.signal?.throwIfAborted();
      reply = handler.failed(diagnosticsToWire([failureToDiagnostic(error)]), request);
    }
    const encoded = output.encode(reply).finish();
    return name === "PrepareProviderConfig" ? prepared(bytes, encoded) : encoded;
  };
}

/** Clients of protocol 5 want the configuration back, which providers once could change. */
function prepared(request: Uint8Array, validated: Uint8Array): Uint8Array {
  const { config: preparedConfig } = PrepareProviderConfig_Request.decode(request);
  const { diagnostics } = ValidateProviderConfig_Response.decode(validated);
  return PrepareProviderConfig_Response.encode({ preparedConfig, diagnostics }).finish();
}
