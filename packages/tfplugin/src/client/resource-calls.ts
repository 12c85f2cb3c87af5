import type { Value } from "@stackwright/cty";
import {
  type ApplyReply,
  type ApplyResourceRequest,
  type Deferral,
  hasProviderErrors,
  type LifecycleContext,
  type PlanReply,
  type PlanResourceRequest,
  type ProviderDiagnostic,
  type ReadReply,
  type ReadResourceRequest,
  type Reply,
  type ValidateResourceRequest,
} from "@stackwright/mux/router";
import { ownBytes } from "../wire/dynamic-value.ts";
import { pathFromWire } from "../wire/paths.ts";
import { deferralFromWire, diagnosticsFromWire } from "../wire/replies.ts";
import type { SchemaProvider } from "./schema-source.ts";
import type { WireCalls } from "./wire-calls.ts";

/** The calls that follow one object through its life. */
export class ResourceCalls {
  readonly #calls: WireCalls;
  readonly #schema: SchemaProvider;

  constructor(calls: WireCalls, schema: SchemaProvider) {
    this.#calls = calls;
    this.#schema = schema;
  }

  async validate(request: ValidateResourceRequest, context: LifecycleContext): Promise<Reply> {
    const calls = this.#calls;
    const { type } = (await this.#schema.get(context)).types.resource(request.type);
    const reply = await calls.call(
      calls.methods.validateResource,
      {
        typeName: request.type,
        config: calls.write(request.config, type),
        clientCapabilities: {
          deferralAllowed: false,
          writeOnlyAttributesAllowed: request.writeOnlyAllowed,
        },
      },
      context,
    );
    return { diagnostics: diagnosticsFromWire(reply.diagnostics) };
  }

  async read(request: ReadResourceRequest, context: LifecycleContext): Promise<ReadReply> {
    const calls = this.#calls;
    const { types } = await this.#schema.get(context);
    const { type, identity } = types.resource(request.type);
    const reply = await calls.call(
      calls.methods.read,
      {
        typeName: request.type,
        currentState: calls.write(request.state, type),
        private: request.privateBytes,
        providerMeta: calls.writeOptional(request.providerMeta, types.providerMeta),
        clientCapabilities: capabilities(request.deferralAllowed),
        currentIdentity: calls.writeIdentity(request.identity, identity),
      },
      context,
    );
    const deferred = deferralFromWire(reply.deferred);
    const diagnostics = withDeferral(reply.diagnostics, deferred, request.deferralAllowed);
    const newIdentity = calls.readIdentity(reply.newIdentity, identity, request.type);
    const privateBytes = ownBytes(reply.private);
    const rest = { diagnostics, privateBytes, ...(newIdentity && { identity: newIdentity }) };
    if (hasProviderErrors(diagnostics) && reply.newState === undefined) return rest;
    return {
      ...rest,
      state: calls.read(reply.newState, type, request.type),
      ...(deferred && { deferred }),
    };
  }

  async plan(request: PlanResourceRequest, context: LifecycleContext): Promise<PlanReply> {
    const calls = this.#calls;
    const { types } = await this.#schema.get(context);
    const { type, identity } = types.resource(request.type);
    const reply = await calls.call(
      calls.methods.plan,
      {
        typeName: request.type,
        priorState: calls.write(request.prior, type),
        proposedNewState: calls.write(request.proposed, type),
        config: calls.write(request.config, type),
        priorPrivate: request.priorPrivate,
        providerMeta: calls.writeOptional(request.providerMeta, types.providerMeta),
        clientCapabilities: capabilities(request.deferralAllowed),
        priorIdentity: calls.writeIdentity(request.priorIdentity, identity),
      },
      { ...context, operation: request.operation },
    );
    const deferred = deferralFromWire(reply.deferred);
    const diagnostics = withDeferral(reply.diagnostics, deferred, request.deferralAllowed);
    const plannedIdentity = calls.readIdentity(reply.plannedIdentity, identity, request.type);
    const rest = {
      diagnostics,
      requiresReplace: reply.requiresReplace.flatMap((path) => pathFromWire(path) ?? []),
      plannedPrivate: ownBytes(reply.plannedPrivate),
      legacyTypeSystem: reply.legacyTypeSystem,
      ...(plannedIdentity && { plannedIdentity }),
      ...(deferred && { deferred }),
    };
    if (hasProviderErrors(diagnostics) && reply.plannedState === undefined) return rest;
    return { ...rest, planned: calls.read(reply.plannedState, type, request.type) };
  }

  async apply(request: ApplyResourceRequest, context: LifecycleContext): Promise<ApplyReply> {
    const calls = this.#calls;
    const { types } = await this.#schema.get(context);
    const { type, identity } = types.resource(request.type);
    const reply = await calls.call(
      calls.methods.apply,
      {
        typeName: request.type,
        priorState: calls.write(request.prior, type),
        plannedState: calls.write(request.planned, type),
        config: calls.write(request.config, type),
        plannedPrivate: request.plannedPrivate,
        providerMeta: calls.writeOptional(request.providerMeta, types.providerMeta),
        plannedIdentity: calls.writeIdentity(request.plannedIdentity, identity),
      },
      { ...context, operation: request.operation },
    );
    const diagnostics = diagnosticsFromWire(reply.diagnostics);
    const state = calls.read(reply.newState, type, request.type);
    const newIdentity = calls.readIdentity(reply.newIdentity, identity, request.type);
    const { legacyTypeSystem } = reply;
    const rest = { diagnostics, legacyTypeSystem, ...(newIdentity && { identity: newIdentity }) };
    const privateBytes = ownBytes(reply.private);
    return { ...rest, ...whatIsThere(request, diagnostics, state, privateBytes) };
  }
}

/**
 * What an apply left. Some providers answer null when an update or a delete failed: to believe them would lose an object
 * that still exists, so it is taken to be as it was, with the private bytes that there are.
 */
function whatIsThere(
  { prior, plannedPrivate }: ApplyResourceRequest,
  diagnostics: readonly ProviderDiagnostic[],
  state: Value,
  privateBytes: Uint8Array,
): Pick<ApplyReply, "state" | "privateBytes"> {
  if (!state.isNull || prior.isNull || !hasProviderErrors(diagnostics))
    return { state, privateBytes };
  return { state: prior, privateBytes: privateBytes.length > 0 ? privateBytes : plannedPrivate };
}

export function capabilities(deferralAllowed: boolean) {
  return { deferralAllowed, writeOnlyAttributesAllowed: true };
}

/** The diagnostics of a reply; one more if the provider put off what it was not allowed to put off. */
export function withDeferral(
  diagnostics: Parameters<typeof diagnosticsFromWire>[0],
  deferred: Deferral | undefined,
  allowed: boolean,
): readonly ProviderDiagnostic[] {
  const found = diagnosticsFromWire(diagnostics);
  if (deferred === undefined || allowed) return found;
  const problem: ProviderDiagnostic = {
    severity: "error",
    summary: "Provider deferred what it was not allowed to defer",
    detail: `The provider put the call off (${deferred.reason}). This is a bug in the provider.`,
  };
  return [...found, problem];
}
