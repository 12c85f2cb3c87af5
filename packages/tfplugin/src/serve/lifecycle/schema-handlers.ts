import type * as t6 from "@stackwright/proto/tfplugin6";
import { diagnosticsToWire } from "../../wire/replies.ts";
import { identitiesToWire, schemaToWire } from "../../wire/schema-to-wire.ts";
import type { LifecycleHandlers } from "./handler.ts";
import type { ProviderTypes } from "./provider-types.ts";

/** What the provider declares. */
export function createSchemaHandlers(
  types: ProviderTypes,
): Pick<
  LifecycleHandlers,
  "getMetadata" | "getProviderSchema" | "getResourceIdentitySchemas" | "getFunctions"
> {
  return {
    getMetadata: {
      async answer(_request, context) {
        const { schema, capabilities, diagnostics } = await types.reply(context);
        const names = (map: ReadonlyMap<string, unknown>) =>
          [...map.keys()].map((typeName) => ({ typeName }));
        return {
          serverCapabilities: capabilitiesToWire(capabilities),
          diagnostics: diagnosticsToWire(diagnostics),
          resources: names(schema.resources),
          dataSources: names(schema.dataSources),
          ephemeralResources: names(schema.ephemeralResources),
          functions: [...schema.functions.keys()].map((name) => ({ name })),
          listResources: [],
          stateStores: [],
          actions: [],
        };
      },
      failed: (diagnostics) => ({
        serverCapabilities: undefined,
        diagnostics,
        resources: [],
        dataSources: [],
        ephemeralResources: [],
        functions: [],
        listResources: [],
        stateStores: [],
        actions: [],
      }),
    },

    getProviderSchema: {
      async answer(_request, context) {
        const { schema, capabilities, diagnostics } = await types.reply(context);
        return {
          ...schemaToWire(schema),
          diagnostics: diagnosticsToWire(diagnostics),
          serverCapabilities: capabilitiesToWire(capabilities),
        };
      },
      failed: (diagnostics) => ({
        provider: undefined,
        providerMeta: undefined,
        resourceSchemas: new Map(),
        dataSourceSchemas: new Map(),
        ephemeralResourceSchemas: new Map(),
        functions: new Map(),
        listResourceSchemas: new Map(),
        stateStoreSchemas: new Map(),
        actionSchemas: new Map(),
        diagnostics,
        serverCapabilities: undefined,
      }),
    },

    getResourceIdentitySchemas: {
      async answer(_request, context) {
        const { schema } = await types.reply(context);
        return { identitySchemas: identitiesToWire(schema.resources), diagnostics: [] };
      },
      failed: (diagnostics) => ({ identitySchemas: new Map(), diagnostics }),
    },

    getFunctions: {
      async answer(_request, context) {
        const { schema } = await types.reply(context);
        return { functions: schemaToWire(schema).functions, diagnostics: [] };
      },
      failed: (diagnostics) => ({ functions: new Map(), diagnostics }),
    },
  };
}

function capabilitiesToWire(capabilities: {
  readonly planDestroy: boolean;
  readonly moveState: boolean;
}): t6.ServerCapabilities {
  return {
    planDestroy: capabilities.planDestroy,
    moveResourceState: capabilities.moveState,
    // No call needs another one before it but Configure.
    getProviderSchemaOptional: true,
    generateResourceConfig: false,
  };
}
