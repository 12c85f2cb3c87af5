import type { LifecycleProvider, StoredResource } from "@stackwright/mux/router";
import type * as t6 from "@stackwright/proto/tfplugin6";
import { TfpluginError } from "../../errors.ts";
import { ownBytes, valueFromWire } from "../../wire/dynamic-value.ts";
import { deferralToWire, diagnosticsToWire } from "../../wire/replies.ts";
import { type LifecycleHandlers, NO_BYTES, optionalToWire } from "./handler.ts";
import type { ProviderTypes } from "./provider-types.ts";

/** Objects that were stored or exist already. */
export function createStateHandlers(
  provider: LifecycleProvider,
  types: ProviderTypes,
): Pick<LifecycleHandlers, "upgradeState" | "upgradeIdentity" | "moveState" | "import"> {
  return {
    upgradeState: {
      async answer({ typeName: type, version, rawState }, context) {
        const stored = storedObject(version, rawState);
        const reply = await provider.upgrade({ type, ...stored }, context);
        return {
          upgradedState: optionalToWire(reply.state, await types.of("resources", type, context)),
          diagnostics: diagnosticsToWire(reply.diagnostics),
        };
      },
      failed: (diagnostics) => ({ upgradedState: undefined, diagnostics }),
    },

    upgradeIdentity: {
      async answer({ typeName: type, version, rawIdentity }, context) {
        const identityType = await types.ofIdentity(type, context);
        const { schema } = await types.reply(context);
        const present = schema.resources.get(type)?.identity?.version;
        // A lifecycle provider upgrades an identity together with its object, which is not at hand here.
        if (identityType === undefined || present !== Number(version)) {
          const text = `${type} has no identity of version ${version}`;
          throw new TfpluginError("TFPLUGIN_TYPE_UNKNOWN", text, { subject: type });
        }
        const { json } = storedObject(version, rawIdentity);
        const identity = valueFromWire(
          { msgpack: NO_BYTES, json: Buffer.from(json) },
          identityType,
        );
        return {
          upgradedIdentity: await types.writeIdentity(type, identity, context),
          diagnostics: [],
        };
      },
      failed: (diagnostics) => ({ upgradedIdentity: undefined, diagnostics }),
    },

    moveState: {
      async answer(request, context) {
        const { targetTypeName: targetType } = request;
        const reply = await provider.move(
          {
            sourceProvider: request.sourceProviderAddress,
            sourceType: request.sourceTypeName,
            source: storedObject(request.sourceSchemaVersion, request.sourceState),
            sourcePrivate: ownBytes(request.sourcePrivate),
            targetType,
          },
          context,
        );
        return {
          targetState: optionalToWire(
            reply.state,
            await types.of("resources", targetType, context),
          ),
          targetPrivate: reply.privateBytes ?? NO_BYTES,
          targetIdentity: await types.writeIdentity(targetType, reply.identity, context),
          diagnostics: diagnosticsToWire(reply.diagnostics),
        };
      },
      failed: (diagnostics) => ({
        targetState: undefined,
        targetPrivate: NO_BYTES,
        targetIdentity: undefined,
        diagnostics,
      }),
    },

    import: {
      async answer({ typeName: name, ...request }, context) {
        const identity = await types.readIdentity(name, request.identity, context);
        const reply = await provider.import(
          {
            type: name,
            id: request.id,
            ...(identity && { identity }),
            deferralAllowed: request.clientCapabilities?.deferralAllowed ?? false,
          },
          context,
        );
        const importedResources = reply.objects.map(async (object) => ({
          typeName: object.type,
          state: optionalToWire(object.state, await types.of("resources", object.type, context)),
          private: object.privateBytes,
          identity: await types.writeIdentity(object.type, object.identity, context),
        }));
        return {
          importedResources: await Promise.all(importedResources),
          deferred: deferralToWire(reply.deferred),
          diagnostics: diagnosticsToWire(reply.diagnostics),
        };
      },
      failed: (diagnostics) => ({ importedResources: [], deferred: undefined, diagnostics }),
    },
  };
}

function storedObject(version: bigint, raw: t6.RawState | undefined): StoredResource {
  if (raw === undefined || raw.json.length === 0) {
    const text = "objects that were stored by Terraform 0.11 and before are not supported";
    throw new TfpluginError("TFPLUGIN_VALUE_INVALID", text);
  }
  return { schemaVersion: Number(version), json: new TextDecoder().decode(raw.json) };
}
