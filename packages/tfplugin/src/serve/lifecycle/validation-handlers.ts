import type { LifecycleProvider } from "@stackwright/mux/router";
import type * as t6 from "@stackwright/proto/tfplugin6";
import { valueFromWire } from "../../wire/dynamic-value.ts";
import { diagnosticsToWire } from "../../wire/replies.ts";
import type { Handler, LifecycleHandlers } from "./handler.ts";
import type { ProviderTypes } from "./provider-types.ts";

/** Checks of configurations, and the configuration of the provider. */
export function createValidationHandlers(
  provider: LifecycleProvider,
  types: ProviderTypes,
): Pick<
  LifecycleHandlers,
  "validateProvider" | "validateResource" | "validateDataSource" | "validateEphemeral" | "configure"
> {
  /** Checks of configurations, which differ in what they are called. */
  function validation(
    kind: "resources" | "dataSources" | "ephemeralResources",
    method: "validateResource" | "validateDataSource" | "validateEphemeral",
  ): Handler<t6.ValidateResourceConfig_Request, { diagnostics: t6.Diagnostic[] }> {
    return {
      async answer({ typeName: type, config, clientCapabilities }, context) {
        const value = valueFromWire(config, await types.of(kind, type, context));
        const writeOnlyAllowed = clientCapabilities?.writeOnlyAttributesAllowed ?? false;
        const reply = await provider[method]({ type, config: value, writeOnlyAllowed }, context);
        return { diagnostics: diagnosticsToWire(reply.diagnostics) };
      },
      failed: (diagnostics) => ({ diagnostics }),
    };
  }

  const validateResource = validation("resources", "validateResource");
  const validateDataSource = validation("dataSources", "validateDataSource");
  const validateEphemeral = validation("ephemeralResources", "validateEphemeral");
  const withoutCapabilities = { clientCapabilities: undefined };

  return {
    validateProvider: {
      async answer({ config }, context) {
        const value = valueFromWire(config, await types.ofProvider(context));
        const reply = await provider.validateProvider({ config: value }, context);
        return { diagnostics: diagnosticsToWire(reply.diagnostics) };
      },
      failed: (diagnostics) => ({ diagnostics }),
    },

    validateResource,

    validateDataSource: {
      answer: (request, context) =>
        validateDataSource.answer({ ...request, ...withoutCapabilities }, context),
      failed: (diagnostics) => ({ diagnostics }),
    },

    validateEphemeral: {
      answer: (request, context) =>
        validateEphemeral.answer({ ...request, ...withoutCapabilities }, context),
      failed: (diagnostics) => ({ diagnostics }),
    },

    configure: {
      async answer({ config, terraformVersion, clientCapabilities }, context) {
        const reply = await provider.configure(
          {
            config: valueFromWire(config, await types.ofProvider(context)),
            engineVersion: terraformVersion,
            deferralAllowed: clientCapabilities?.deferralAllowed ?? false,
          },
          context,
        );
        return { diagnostics: diagnosticsToWire(reply.diagnostics) };
      },
      failed: (diagnostics) => ({ diagnostics }),
    },
  };
}
