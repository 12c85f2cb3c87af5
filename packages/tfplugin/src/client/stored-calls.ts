import { decodeJson, type Type, type Value } from "@stackwright/cty";
import {
  hasProviderErrors,
  type ImportedObject,
  type ImportReply,
  type ImportResourceRequest,
  type LifecycleContext,
  type MoveReply,
  type MoveRequest,
  type ProviderDiagnostic,
  type UpgradeReply,
  type UpgradeRequest,
} from "@stackwright/mux/router";
import type { RawState } from "@stackwright/proto/tfplugin6";
import { TfpluginError } from "../errors.ts";
import { pruneJson } from "../json/prune-json.ts";
import { ownBytes } from "../wire/dynamic-value.ts";
import { deferralFromWire, diagnosticsFromWire } from "../wire/replies.ts";
import { capabilities, withDeferral } from "./resource-calls.ts";
import type { SchemaProvider } from "./schema-source.ts";
import type { TypeEntry } from "./type-table.ts";
import type { WireCalls } from "./wire-calls.ts";

const ENCODER = new TextEncoder();

/** The calls that bring objects in: from the store, from another type, from outside. */
export class StoredCalls {
  readonly #calls: WireCalls;
  readonly #schema: SchemaProvider;

  constructor(calls: WireCalls, schema: SchemaProvider) {
    this.#calls = calls;
    this.#schema = schema;
  }

  async upgrade(request: UpgradeRequest, context: LifecycleContext): Promise<UpgradeReply> {
    const calls = this.#calls;
    const entry = (await this.#schema.get(context)).types.resource(request.type);
    const { schema, type } = entry;
    if (request.schemaVersion > schema.version) {
      return { diagnostics: [newerState(request, schema.version)] };
    }
    const isCurrent = request.schemaVersion === schema.version;
    const json = isCurrent ? prune(request.json, type, request.type) : request.json;
    const reply = await calls.call(
      calls.methods.upgradeState,
      {
        typeName: request.type,
        version: BigInt(request.schemaVersion),
        rawState: rawState(json),
      },
      context,
    );
    const identity = await this.#upgradeIdentity(request, entry, context);
    const diagnostics = [...diagnosticsFromWire(reply.diagnostics), ...identity.diagnostics];
    const rest = { diagnostics, ...(identity.value && { identity: identity.value }) };
    if (hasProviderErrors(diagnostics) && reply.upgradedState === undefined) return rest;
    return { ...rest, state: calls.read(reply.upgradedState, type, request.type) };
  }

  async #upgradeIdentity(
    { type: subject, identity: stored }: UpgradeRequest,
    { schema, identity: type }: TypeEntry,
    context: LifecycleContext,
  ): Promise<{ readonly diagnostics: readonly ProviderDiagnostic[]; readonly value?: Value }> {
    if (stored === undefined || type === undefined) return { diagnostics: [] };
    const newest = schema.identity?.version ?? 0;
    if (stored.schemaVersion > newest) {
      return { diagnostics: [newerState({ type: subject, ...stored }, newest)] };
    }
    if (stored.schemaVersion === newest) {
      // Providers refuse to be asked for what is already there.
      return { diagnostics: [], value: readStored(stored.json, type, subject) };
    }
    const calls = this.#calls;
    const reply = await calls.call(
      calls.methods.upgradeIdentity,
      {
        typeName: subject,
        version: BigInt(stored.schemaVersion),
        rawIdentity: rawState(stored.json),
      },
      context,
    );
    const value = calls.readIdentity(reply.upgradedIdentity, type, subject);
    return { diagnostics: diagnosticsFromWire(reply.diagnostics), ...(value && { value }) };
  }

  async move(request: MoveRequest, context: LifecycleContext): Promise<MoveReply> {
    const calls = this.#calls;
    const { type, identity } = (await this.#schema.get(context)).types.resource(request.targetType);
    const reply = await calls.call(
      calls.methods.moveState,
      {
        sourceProviderAddress: request.sourceProvider,
        sourceTypeName: request.sourceType,
        sourceSchemaVersion: BigInt(request.source.schemaVersion),
        sourceState: rawState(request.source.json),
        targetTypeName: request.targetType,
        sourcePrivate: request.sourcePrivate,
        sourceIdentity: undefined,
        sourceIdentitySchemaVersion: 0n,
      },
      context,
    );
    const diagnostics = diagnosticsFromWire(reply.diagnostics);
    const targetIdentity = calls.readIdentity(reply.targetIdentity, identity, request.targetType);
    const rest = {
      diagnostics,
      privateBytes: ownBytes(reply.targetPrivate),
      ...(targetIdentity && { identity: targetIdentity }),
    };
    if (hasProviderErrors(diagnostics) && reply.targetState === undefined) return rest;
    return { ...rest, state: calls.read(reply.targetState, type, request.targetType) };
  }

  async import(request: ImportResourceRequest, context: LifecycleContext): Promise<ImportReply> {
    const calls = this.#calls;
    const { types } = await this.#schema.get(context);
    const { identity } = types.resource(request.type);
    const reply = await calls.call(
      calls.methods.import,
      {
        typeName: request.type,
        id: request.identity === undefined ? request.id : "",
        clientCapabilities: capabilities(request.deferralAllowed),
        identity: calls.writeIdentity(request.identity, identity),
      },
      context,
    );
    const deferred = deferralFromWire(reply.deferred);
    const diagnostics = withDeferral(reply.diagnostics, deferred, request.deferralAllowed);
    const objects = reply.importedResources.map((imported): ImportedObject => {
      const entry = types.resource(imported.typeName);
      const found = calls.readIdentity(imported.identity, entry.identity, imported.typeName);
      return {
        type: imported.typeName,
        state: calls.read(imported.state, entry.type, imported.typeName),
        privateBytes: ownBytes(imported.private),
        ...(found && { identity: found }),
      };
    });
    return { diagnostics, objects, ...(deferred && { deferred }) };
  }
}

/** Stored JSON without what the type does not have. */
function prune(json: string, type: Type, subject: string): string {
  try {
    return pruneJson(json, type);
  } catch (error) {
    throw invalidStored(subject, error);
  }
}

function readStored(json: string, type: Type, subject: string): Value {
  try {
    return decodeJson(pruneJson(json, type), type);
  } catch (error) {
    throw invalidStored(subject, error);
  }
}

function invalidStored(subject: string, cause: unknown): TfpluginError {
  return new TfpluginError("TFPLUGIN_VALUE_INVALID", "what is stored is not JSON of its type", {
    subject,
    outcome: "not-applied",
    cause,
  });
}

function rawState(json: string): RawState {
  return { json: ENCODER.encode(json), flatmap: new Map() };
}

function newerState({ type, schemaVersion }: UpgradeRequest, newest: number): ProviderDiagnostic {
  return {
    severity: "error",
    summary: "State of a newer provider version",
    detail: `The object of type ${type} was stored with version ${schemaVersion} of its schema; this version of the provider knows ${newest} as the newest. Use the version of the provider that stored it, or a newer one.`,
  };
}
