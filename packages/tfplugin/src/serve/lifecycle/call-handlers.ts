import type { LifecycleProvider } from "@stackwright/mux/router";
import { ownBytes, valueFromWire } from "../../wire/dynamic-value.ts";
import { deferralToWire, diagnosticsToWire, timestampToWire } from "../../wire/replies.ts";
import { type LifecycleHandlers, NO_BYTES, optionalToWire } from "./handler.ts";
import type { ProviderTypes } from "./provider-types.ts";

/** Data sources, ephemeral resources, functions, and Stop. */
export function createCallHandlers(
  provider: LifecycleProvider,
  types: ProviderTypes,
): Pick<
  LifecycleHandlers,
  "readDataSource" | "openEphemeral" | "renewEphemeral" | "closeEphemeral" | "callFunction" | "stop"
> {
  return {
    readDataSource: {
      async answer({ typeName: name, ...request }, context) {
        const type = await types.of("dataSources", name, context);
        const reply = await provider.readDataSource(
          {
            type: name,
            config: valueFromWire(request.config, type),
            ...(await types.readMeta(request.providerMeta, context)),
            deferralAllowed: request.clientCapabilities?.deferralAllowed ?? false,
          },
          context,
        );
        return {
          state: optionalToWire(reply.state, type),
          deferred: deferralToWire(reply.deferred),
          diagnostics: diagnosticsToWire(reply.diagnostics),
        };
      },
      failed: (diagnostics) => ({ state: undefined, deferred: undefined, diagnostics }),
    },

    openEphemeral: {
      async answer({ typeName: name, ...request }, context) {
        const type = await types.of("ephemeralResources", name, context);
        const deferralAllowed = request.clientCapabilities?.deferralAllowed ?? false;
        const config = valueFromWire(request.config, type);
        const reply = await provider.openEphemeral(
          { type: name, config, deferralAllowed },
          context,
        );
        return {
          result: optionalToWire(reply.result, type),
          renewAt: timestampToWire(reply.renewAtMs),
          private: reply.privateBytes,
          deferred: deferralToWire(reply.deferred),
          diagnostics: diagnosticsToWire(reply.diagnostics),
        };
      },
      failed: (diagnostics) => ({ result: undefined, deferred: undefined, diagnostics }),
    },

    renewEphemeral: {
      async answer({ typeName: type, private: held = NO_BYTES }, context) {
        const reply = await provider.renewEphemeral(
          { type, privateBytes: ownBytes(held) },
          context,
        );
        return {
          renewAt: timestampToWire(reply.renewAtMs),
          private: reply.privateBytes,
          diagnostics: diagnosticsToWire(reply.diagnostics),
        };
      },
      failed: (diagnostics) => ({ diagnostics }),
    },

    closeEphemeral: {
      async answer({ typeName: type, private: held = NO_BYTES }, context) {
        const reply = await provider.closeEphemeral(
          { type, privateBytes: ownBytes(held) },
          context,
        );
        return { diagnostics: diagnosticsToWire(reply.diagnostics) };
      },
      failed: (diagnostics) => ({ diagnostics }),
    },

    callFunction: {
      async answer({ name, arguments: given }, context) {
        const { parameterAt, result } = await types.ofFunction(name, context);
        const values = given.map((value, index) => valueFromWire(value, parameterAt(index)));
        const reply = await provider.callFunction({ name, arguments: values }, context);
        if ("result" in reply)
          return { result: optionalToWire(reply.result, result), error: undefined };
        const { text, argument } = reply.error;
        const functionArgument = argument === undefined ? undefined : BigInt(argument);
        return { result: undefined, error: { text, functionArgument } };
      },
      failed: ([diagnostic]) => ({ result: undefined, error: { text: diagnostic?.detail ?? "" } }),
    },

    stop: {
      async answer(_request, context) {
        await provider.stop(context);
        return { Error: "" };
      },
      failed: ([diagnostic]) => ({ Error: diagnostic?.detail ?? "" }),
    },
  };
}
