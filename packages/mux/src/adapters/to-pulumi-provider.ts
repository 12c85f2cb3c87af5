import { createHash } from "node:crypto";
import { encodeJson, type Path, type Value } from "@stackwright/cty";
import { createDetail, detailType, RpcError } from "@stackwright/proto/grpc";
import { equalStructs, formatPropertyPath } from "@stackwright/proto/property";
import {
  type CheckFailure,
  ConfigureResponse,
  CreateResponse,
  DiffResponse,
  DiffResponse_DiffChanges,
  ErrorResourceInitFailed,
  PropertyDiff_Kind,
  ReadResponse,
  UpdateResponse,
} from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import type { CallContext } from "../call-context.ts";
import { typeOfUrn } from "../core/urn.ts";
import { MuxError } from "../errors.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import { hasProviderErrors, type ProviderDiagnostic } from "../router/diagnostic.ts";
import type { LifecycleProvider, PlanReply, SchemaReply } from "../router/lifecycle-provider.ts";
import { proposeState } from "../router/propose-state.ts";
import { unimplementedProvider } from "../unimplemented-provider.ts";
import { missingInputs, unknownInputs } from "./input-failures.ts";
import { type ObjectMeta, ObjectProperties } from "./object-properties.ts";
import { toPackageSchema, typeOfToken } from "./pulumi-schema.ts";

export interface ToPulumiProviderOptions {
  /** Name of the Pulumi package; resource types are `<package>:index:<type>`. */
  readonly package: string;
  readonly version: string;
}

const INIT_FAILED = detailType("pulumirpc.ErrorResourceInitFailed", ErrorResourceInitFailed);
const NO_BYTES = new Uint8Array();

/**
 * A lifecycle provider as a server of Pulumi's protocol, for Pulumi engines and for a Pulumi mux.
 *
 * | Pulumi | lifecycle |
 * |---|---|
 * | Check, CheckConfig | validate |
 * | Diff | plan |
 * | Create, Update | plan and apply; in preview the plan alone |
 * | Read | read; without a state, import |
 * | Delete | apply of nothing |
 * | Invoke | data source |
 * | Cancel | stop |
 *
 * Private bytes and the schema version of an object travel in the reserved output `__meta`. A create that failed and
 * left something behind is an init-failed error with the object that exists.
 */
export function toPulumiProvider(
  lifecycle: LifecycleProvider,
  options: ToPulumiProviderOptions,
): ResourceProvider {
  const { package: pkg, version } = options;
  let loaded: Promise<SchemaReply> | undefined;

  async function load(context: CallContext): Promise<SchemaReply> {
    loaded ??= lifecycle.schema(toLifecycle(context)).catch((error: unknown) => {
      loaded = undefined;
      throw error;
    });
    return loaded;
  }

  async function resource(urn: string, context: CallContext) {
    const token = typeOfUrn(urn);
    if (token === undefined) throw new MuxError("MUX_URN_INVALID", `URN '${urn}' is not valid`);
    const { schema, capabilities } = await load(context);
    const type = typeOfToken(pkg, token);
    const found = type === undefined ? undefined : schema.resources.get(type);
    if (type === undefined || found === undefined) {
      throw new MuxError("MUX_TOKEN_UNKNOWN", `Resource type '${token}' not found.`, { token });
    }
    return { type, schema: found, objects: new ObjectProperties(found.block), capabilities };
  }

  type Resource = Awaited<ReturnType<typeof resource>>;

  /** An object as Pulumi kept it, brought to the present schema. */
  async function stateOf(
    { type, schema, objects }: Resource,
    properties: EncodedStruct | undefined,
    context: CallContext,
  ): Promise<{ state: Value; meta: ObjectMeta }> {
    const meta = objects.meta(properties);
    const state = objects.decode(properties);
    if (meta.schemaVersion === schema.version) return { state, meta };
    const stored = { type, schemaVersion: meta.schemaVersion, json: encodeJson(state) };
    const upgraded = await lifecycle.upgrade(stored, toLifecycle(context));
    refuse(upgraded.diagnostics);
    return { state: upgraded.state ?? state, meta };
  }

  async function plan(
    { type, schema, objects }: Resource,
    prior: Value,
    meta: ObjectMeta | undefined,
    news: EncodedStruct | undefined,
    context: CallContext,
  ): Promise<{ reply: PlanReply; config: Value; planned: Value }> {
    const config = objects.decode(news);
    const proposed = proposeState(schema.block, prior, config);
    const request = { type, prior, config, proposed, deferralAllowed: false };
    const priorPrivate = meta?.privateBytes ?? NO_BYTES;
    const reply = await lifecycle.plan({ ...request, priorPrivate }, toLifecycle(context));
    refuse(reply.diagnostics);
    return { reply, config, planned: reply.planned ?? proposed };
  }

  async function apply(
    owner: Resource,
    prior: Value,
    meta: ObjectMeta | undefined,
    news: EncodedStruct | undefined,
    request: { readonly urn: string; readonly id: string; readonly preview: boolean },
    context: CallContext,
  ): Promise<{ id: string; properties: EncodedStruct }> {
    const { type, schema, objects } = owner;
    const { reply, config, planned } = await plan(owner, prior, meta, news, context);
    if (request.preview) {
      return { id: request.id, properties: objects.encode(planned, reply.sensitive) };
    }
    const { plannedPrivate } = reply;
    const applied = await lifecycle.apply(
      { type, prior, config, planned, plannedPrivate },
      toLifecycle(context),
    );
    const { state, privateBytes, sensitive, diagnostics } = applied;
    const id = request.id === "" ? idOf(state, request.urn) : request.id;
    const made = { schemaVersion: schema.version, privateBytes };
    if (!hasProviderErrors(diagnostics))
      return { id, properties: objects.encode(state, sensitive, made) };
    if (state.isNull || (!prior.isNull && state.rawEquals(prior))) refuse(diagnostics);
    throw new RpcError("UNKNOWN", textOf(diagnostics), {
      details: [
        createDetail(INIT_FAILED, {
          id,
          properties: objects.encode(state, sensitive, made),
          reasons: diagnostics.filter(isError).map(lineOf),
          inputs: news,
          refreshBeforeUpdate: false,
        }),
      ],
    });
  }

  return {
    ...unimplementedProvider(),

    async getSchema(_request, context) {
      const { schema } = await load(context);
      return { schema: JSON.stringify(toPackageSchema(pkg, version, schema)) };
    },

    getPluginInfo: () => Promise.resolve({ version }),

    async checkConfig({ news }, context) {
      const { schema } = await load(context);
      const config = new ObjectProperties(schema.provider).decode(news);
      // What it does not know is for other providers of a mux.
      const missing = missingInputs(schema.provider, config);
      if (missing.length > 0) return { inputs: news, failures: missing };
      const { diagnostics } = await lifecycle.validateProvider({ config }, toLifecycle(context));
      return { inputs: news, failures: failuresOf(diagnostics) };
    },

    diffConfig: ({ olds, oldInputs, news }) => {
      const same = equalStructs(oldInputs ?? olds ?? EMPTY, news ?? EMPTY, { secrets: "ignore" });
      const { DIFF_NONE, DIFF_SOME } = DiffResponse_DiffChanges;
      return Promise.resolve(DiffResponse.create({ changes: same ? DIFF_NONE : DIFF_SOME }));
    },

    async configure({ args }, context) {
      const { schema } = await load(context);
      const config = new ObjectProperties(schema.provider).decode(args);
      const request = { config, engineVersion: version, deferralAllowed: false };
      refuse((await lifecycle.configure(request, toLifecycle(context))).diagnostics);
      return ConfigureResponse.create({ acceptSecrets: true, supportsPreview: true });
    },

    async check({ urn, news }, context) {
      const { type, schema, objects } = await resource(urn, context);
      const config = objects.decode(news);
      const wrong = [...unknownInputs(schema.block, news), ...missingInputs(schema.block, config)];
      if (wrong.length > 0) return { inputs: news, failures: wrong };
      const request = { type, config, writeOnlyAllowed: true };
      const { diagnostics } = await lifecycle.validateResource(request, toLifecycle(context));
      return { inputs: news, failures: failuresOf(diagnostics) };
    },

    async diff({ urn, olds, news }, context) {
      const owner = await resource(urn, context);
      const { state, meta } = await stateOf(owner, olds, context);
      const { reply, planned } = await plan(owner, state, meta, news, context);
      return toDiff(state, planned, reply.requiresReplace);
    },

    async create({ urn, properties, preview }, context) {
      const owner = await resource(urn, context);
      const request = { urn, id: "", preview };
      const made = await apply(
        owner,
        owner.objects.absent,
        undefined,
        properties,
        request,
        context,
      );
      return CreateResponse.create(made);
    },

    async read({ urn, id, properties }, context) {
      const owner = await resource(urn, context);
      const { type, schema, objects } = owner;
      let current: { state: Value; privateBytes: Uint8Array } | undefined;
      if (properties === undefined || properties.length === 0) {
        const request = { type, id, deferralAllowed: false };
        const imported = await lifecycle.import(request, toLifecycle(context));
        refuse(imported.diagnostics);
        current = imported.objects.find((object) => object.type === type);
      } else {
        const { state, meta } = await stateOf(owner, properties, context);
        current = { state, privateBytes: meta.privateBytes };
      }
      if (current === undefined) return ReadResponse.create({});
      const request = { type, ...current, deferralAllowed: false };
      const found = await lifecycle.read(request, toLifecycle(context));
      refuse(found.diagnostics);
      const { state = current.state, privateBytes = current.privateBytes, sensitive } = found;
      if (state.isNull) return ReadResponse.create({});
      const meta = { schemaVersion: schema.version, privateBytes };
      return ReadResponse.create({
        id,
        properties: objects.encode(state, sensitive, meta),
        inputs: objects.encodeInputs(state),
      });
    },

    async update({ urn, id, olds, news, preview }, context) {
      const owner = await resource(urn, context);
      const { state, meta } = await stateOf(owner, olds, context);
      const { properties } = await apply(owner, state, meta, news, { urn, id, preview }, context);
      return UpdateResponse.create({ properties });
    },

    async delete({ urn, properties }, context) {
      const owner = await resource(urn, context);
      const { type, objects, capabilities } = owner;
      const { state, meta } = await stateOf(owner, properties, context);
      const nothing = { type, prior: state, config: objects.absent };
      let plannedPrivate = meta.privateBytes;
      if (capabilities.planDestroy) {
        const request = { ...nothing, proposed: objects.absent, priorPrivate: meta.privateBytes };
        const reply = await lifecycle.plan(
          { ...request, deferralAllowed: false },
          toLifecycle(context),
        );
        refuse(reply.diagnostics);
        ({ plannedPrivate } = reply);
      }
      const request = { ...nothing, planned: objects.absent, plannedPrivate };
      refuse((await lifecycle.apply(request, toLifecycle(context))).diagnostics);
      return {};
    },

    async invoke({ tok, args }, context) {
      const { schema } = await load(context);
      const type = typeOfToken(pkg, tok);
      const source = type === undefined ? undefined : schema.dataSources.get(type);
      if (type === undefined || source === undefined) {
        throw new MuxError("MUX_TOKEN_UNKNOWN", `Invoke '${tok}' not found.`, { token: tok });
      }
      const objects = new ObjectProperties(source.block);
      const config = objects.decode(args);
      const wrong = [...unknownInputs(source.block, args), ...missingInputs(source.block, config)];
      if (wrong.length > 0) return { return: undefined, failures: wrong };
      const checked = await lifecycle.validateDataSource(
        { type, config, writeOnlyAllowed: false },
        toLifecycle(context),
      );
      if (hasProviderErrors(checked.diagnostics)) {
        return { return: undefined, failures: failuresOf(checked.diagnostics) };
      }
      const request = { type, config, deferralAllowed: false };
      const reply = await lifecycle.readDataSource(request, toLifecycle(context));
      refuse(reply.diagnostics);
      return { return: objects.encode(reply.state ?? config, reply.sensitive), failures: [] };
    },

    async cancel(_request, context) {
      await lifecycle.stop(toLifecycle(context));
      return {};
    },
  };
}

const EMPTY = new Uint8Array() as EncodedStruct;

function toLifecycle({ signal }: CallContext) {
  return signal === undefined ? {} : { signal };
}

function isError({ severity }: ProviderDiagnostic): boolean {
  return severity === "error";
}

function lineOf({ summary, detail }: ProviderDiagnostic): string {
  return detail === "" ? summary : `${summary}: ${detail}`;
}

function textOf(diagnostics: readonly ProviderDiagnostic[]): string {
  return diagnostics.filter(isError).map(lineOf).join("\n");
}

/** Errors of a provider as the status of a call that changed nothing. */
function refuse(diagnostics: readonly ProviderDiagnostic[]): void {
  if (hasProviderErrors(diagnostics))
    throw new RpcError("FAILED_PRECONDITION", textOf(diagnostics));
}

function failuresOf(diagnostics: readonly ProviderDiagnostic[]): CheckFailure[] {
  return diagnostics.filter(isError).map((diagnostic) => ({
    property: diagnostic.attribute === undefined ? "" : propertyPath(diagnostic.attribute),
    reason: lineOf(diagnostic),
  }));
}

/** A path as Pulumi writes it. What stands in a set has no name; the path ends at the set. */
function propertyPath(path: Path): string {
  const steps: (string | number)[] = [];
  for (const step of path.steps) {
    if (step.kind === "attribute") steps.push(step.name);
    else if (step.key.type.kind === "number") steps.push(step.key.asNumber());
    else if (step.key.type.kind === "string") steps.push(step.key.asString());
    else break;
  }
  return formatPropertyPath(steps);
}

/** The id of a new object: its own, or one made of its URN for an object that has none. */
function idOf(state: Value, urn: string): string {
  const id = state.isNull ? undefined : new Map(state.entries()).get("id");
  if (id !== undefined && id.type.kind === "string" && id.isKnown && !id.isNull) {
    return id.asString();
  }
  return createHash("sha256").update(urn).digest("hex").slice(0, 20);
}

function toDiff(prior: Value, planned: Value, requiresReplace: readonly Path[]): DiffResponse {
  const { DIFF_NONE, DIFF_SOME } = DiffResponse_DiffChanges;
  const before = new Map(prior.entries());
  const changed = [...planned.entries()]
    .filter(([name, value]) => before.get(name)?.rawEquals(value) !== true)
    .map(([name]) => name);
  if (changed.length === 0) return DiffResponse.create({ changes: DIFF_NONE });
  const replaces = [...new Set(requiresReplace.map((path) => topLevel(path)))].filter((name) =>
    changed.includes(name),
  );
  const { UPDATE, UPDATE_REPLACE } = PropertyDiff_Kind;
  return DiffResponse.create({
    changes: DIFF_SOME,
    diffs: changed,
    replaces,
    stables: [...before.keys()].filter((name) => !changed.includes(name)),
    detailedDiff: new Map(
      changed.map((name) => [
        formatPropertyPath([name]),
        { kind: replaces.includes(name) ? UPDATE_REPLACE : UPDATE, inputDiff: false },
      ]),
    ),
    hasDetailedDiff: true,
  });
}

function topLevel(path: Path): string {
  const [first] = path.steps;
  return first?.kind === "attribute" ? first.name : "";
}
