import * as t5 from "@stackwright/proto/tfplugin5";
import { TfpluginError } from "../errors.ts";
import type { PluginTransport, TransportCall } from "../transport/plugin-transport.ts";
import { NAMES_IN_5, PLUGIN_METHODS } from "../wire/methods.ts";
import { ROUTES } from "./routes.ts";

/*
 * The two protocols differ in the names of six methods and in the message with the schemas; everything else is the same
 * bytes and passes as it is. Source: the wire definitions of Terraform plugin protocol 5.11 and 6.11.
 */

const NAMES_IN_6: ReadonlyMap<string, string> = new Map(
  [...NAMES_IN_5].map(([name6, name5]) => [name5, name6]),
);

/** Methods that only protocol 6 has. */
const ONLY_6: ReadonlySet<string> = new Set(
  [...ROUTES].filter(([, { kind }]) => kind === "stateStore").map(([name]) => name),
);

/** A provider of protocol 5 as one of protocol 6. Closing it closes the provider. */
export function upgradeToProtocol6(provider: PluginTransport): PluginTransport {
  expectProtocol(provider, 5);
  const nameIn5 = (method: string) => {
    // A method of that name does not exist here, regardless of its meaning in protocol 5.
    if (ONLY_6.has(method) || NAMES_IN_6.has(method)) throw unimplemented(method);
    return NAMES_IN_5.get(method) ?? method;
  };
  return {
    protocol: 6,
    async unary(method, request, call) {
      const reply = await provider.unary(nameIn5(method), request, call);
      if (method !== "GetProviderSchema") return reply;
      const schema = PLUGIN_METHODS[5].getProviderSchema.response.decode(reply);
      return PLUGIN_METHODS[6].getProviderSchema.response.encode(schema).finish();
    },
    ...streamOf(provider, nameIn5),
    close: async () => provider.close(),
    [Symbol.asyncDispose]: async () => provider.close(),
  };
}

/**
 * A provider of protocol 6 as one of protocol 5. It is asked for its schemas at once: where they hold what protocol 5
 * cannot say, it rejects with `TFPLUGIN_DOWNGRADE_IMPOSSIBLE`. State stores are not there any more. Closing it closes
 * the provider, which stays open where the translation is refused.
 */
export async function downgradeToProtocol5(
  provider: PluginTransport,
  call: TransportCall = {},
): Promise<PluginTransport> {
  expectProtocol(provider, 6);
  const nameIn6 = (method: string) => {
    if (ONLY_6.has(method) || NAMES_IN_5.has(method)) throw unimplemented(method);
    return NAMES_IN_6.get(method) ?? method;
  };
  const translateSchema = (bytes: Uint8Array) => {
    const schema = PLUGIN_METHODS[6].getProviderSchema.response.decode(bytes);
    return PLUGIN_METHODS[5].getProviderSchema.response.encode(schema).finish();
  };
  translateSchema(await provider.unary("GetProviderSchema", new Uint8Array(), call));
  return {
    protocol: 5,
    async unary(method, request, context) {
      const reply = await provider.unary(nameIn6(method), request, context);
      if (method === "GetSchema") return translateSchema(reply);
      return method === "PrepareProviderConfig" ? prepared(request, reply) : reply;
    },
    ...streamOf(provider, nameIn6),
    close: async () => provider.close(),
    [Symbol.asyncDispose]: async () => provider.close(),
  };
}

/** Clients of protocol 5 are given the configuration back. */
function prepared(request: Uint8Array, reply: Uint8Array): Uint8Array {
  const { config } = t5.PrepareProviderConfig_Request.decode(request);
  const { diagnostics } = t5.PrepareProviderConfig_Response.decode(reply);
  return t5.PrepareProviderConfig_Response.encode({
    preparedConfig: config,
    diagnostics,
  }).finish();
}

function streamOf(
  provider: PluginTransport,
  translate: (method: string) => string,
): Pick<PluginTransport, "stream"> {
  const { stream } = provider;
  if (stream === undefined) return {};
  return { stream: (method, request, call) => stream(translate(method), request, call) };
}

function expectProtocol(provider: PluginTransport, protocol: 5 | 6): void {
  if (provider.protocol === protocol) return;
  throw new TfpluginError(
    "TFPLUGIN_OPTIONS_INVALID",
    `the provider speaks protocol ${provider.protocol}, not ${protocol}`,
  );
}

function unimplemented(method: string): TfpluginError {
  return new TfpluginError("TFPLUGIN_METHOD_UNIMPLEMENTED", `there is no method ${method}`, {
    subject: method,
    outcome: "not-applied",
  });
}
