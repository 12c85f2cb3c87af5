import type { LifecycleProvider } from "@stackwright/mux/router";
import { ownBytes, valueFromWire } from "../../wire/dynamic-value.ts";
import { pathToWire } from "../../wire/paths.ts";
import { deferralToWire, diagnosticsToWire } from "../../wire/replies.ts";
import { type LifecycleHandlers, NO_BYTES, optionalToWire } from "./handler.ts";
import type { ProviderTypes } from "./provider-types.ts";

/** Reading objects, planning and applying. */
export function createResourceHandlers(
  provider: LifecycleProvider,
  types: ProviderTypes,
): Pick<LifecycleHandlers, "read" | "plan" | "apply"> {
  return {
    read: {
      async answer({ typeName: name, ...request }, context) {
        const type = await types.of("resources", name, context);
        const identity = await types.readIdentity(name, request.currentIdentity, context);
        const reply = await provider.read(
          {
            type: name,
            state: valueFromWire(request.currentState, type),
            privateBytes: ownBytes(request.private),
            ...(identity && { identity }),
            ...(await types.readMeta(request.providerMeta, context)),
            deferralAllowed: request.clientCapabilities?.deferralAllowed ?? false,
          },
          context,
        );
        return {
          newState: optionalToWire(reply.state, type),
          // What is left out would be lost.
          private: reply.privateBytes ?? request.private,
          deferred: deferralToWire(reply.deferred),
          newIdentity: await types.writeIdentity(name, reply.identity, context),
          diagnostics: diagnosticsToWire(reply.diagnostics),
        };
      },
      failed: (diagnostics, { currentState, private: bytes, currentIdentity }) => ({
        newState: currentState,
        private: bytes,
        deferred: undefined,
        newIdentity: currentIdentity,
        diagnostics,
      }),
    },

    plan: {
      async answer({ typeName: name, ...request }, context) {
        const type = await types.of("resources", name, context);
        const priorIdentity = await types.readIdentity(name, request.priorIdentity, context);
        const reply = await provider.plan(
          {
            type: name,
            prior: valueFromWire(request.priorState, type),
            config: valueFromWire(request.config, type),
            proposed: valueFromWire(request.proposedNewState, type),
            priorPrivate: ownBytes(request.priorPrivate),
            ...(priorIdentity && { priorIdentity }),
            ...(await types.readMeta(request.providerMeta, context)),
            deferralAllowed: request.clientCapabilities?.deferralAllowed ?? false,
          },
          context,
        );
        return {
          plannedState: optionalToWire(reply.planned, type),
          requiresReplace: reply.requiresReplace.map(pathToWire),
          plannedPrivate: reply.plannedPrivate,
          legacyTypeSystem: reply.legacyTypeSystem,
          deferred: deferralToWire(reply.deferred),
          plannedIdentity: await types.writeIdentity(name, reply.plannedIdentity, context),
          diagnostics: diagnosticsToWire(reply.diagnostics),
        };
      },
      failed: (diagnostics) => ({
        plannedState: undefined,
        requiresReplace: [],
        plannedPrivate: NO_BYTES,
        legacyTypeSystem: false,
        deferred: undefined,
        plannedIdentity: undefined,
        diagnostics,
      }),
    },

    apply: {
      async answer({ typeName: name, ...request }, context) {
        const type = await types.of("resources", name, context);
        const plannedIdentity = await types.readIdentity(name, request.plannedIdentity, context);
        const reply = await provider.apply(
          {
            type: name,
            prior: valueFromWire(request.priorState, type),
            config: valueFromWire(request.config, type),
            planned: valueFromWire(request.plannedState, type),
            plannedPrivate: ownBytes(request.plannedPrivate),
            ...(plannedIdentity && { plannedIdentity }),
            ...(await types.readMeta(request.providerMeta, context)),
          },
          context,
        );
        return {
          newState: optionalToWire(reply.state, type),
          private: reply.privateBytes,
          legacyTypeSystem: reply.legacyTypeSystem,
          newIdentity: await types.writeIdentity(name, reply.identity, context),
          diagnostics: diagnosticsToWire(reply.diagnostics),
        };
      },
      // Nothing is known of what happened: the object is taken to be as it was.
      failed: (diagnostics, { priorState, plannedPrivate }) => ({
        newState: priorState,
        private: plannedPrivate,
        legacyTypeSystem: false,
        newIdentity: undefined,
        diagnostics,
      }),
    },
  };
}
