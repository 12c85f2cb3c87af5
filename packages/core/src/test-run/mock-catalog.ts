import { type Path, Value } from "@stackwright/cty";
import {
  type ApplyReply,
  type LifecycleContext,
  type LifecycleProvider,
  type PlanReply,
  type ProviderDiagnostic,
  type ProviderSchema,
} from "@stackwright/mux/router";
import type { ProviderCatalog } from "../providers/catalog.ts";
import { mockComputed } from "./mock-values.ts";
import { providerKey, type Replacement, type Replacements } from "./replacements.ts";

/**
 * A catalog whose providers are asked for nothing that a test replaces: mocks are started for their schemas and their checks
 * of arguments alone, and objects with an override exist nowhere.
 *
 * @param seed makes generated texts; the same for all calls of a run
 */
export function replacedCatalog(
  catalog: ProviderCatalog,
  replacements: Replacements,
  seed: string,
): ProviderCatalog {
  if (replacements.isEmpty) return catalog;
  return {
    select: async (requirement, options) => catalog.select(requirement, options),
    identify: async (reference, options) => catalog.identify(reference, options),
    open: async (reference, options) => {
      const [first, ...others] = await catalog.open(reference, options);
      const key = providerKey(reference.source, reference.alias);
      const replace = <T extends { readonly provider: LifecycleProvider }>(opened: T): T => ({
        ...opened,
        provider: replaced(opened.provider, key, replacements, seed),
      });
      return [replace(first), ...others.map(replace)];
    },
  };
}

function replaced(
  provider: LifecycleProvider,
  key: string,
  replacements: Replacements,
  seed: string,
): LifecycleProvider {
  const isMocked = replacements.isMocked(key);
  let schema: Promise<ProviderSchema> | undefined;
  const schemaOf = async (): Promise<ProviderSchema> => {
    schema ??= provider.schema({}).then((reply) => reply.schema);
    return schema;
  };
  /** What replaces an answer about an object; undefined where the provider is called. */
  const find = (
    mode: "managed" | "data",
    type: string,
    { address = "" }: LifecycleContext,
  ): Replacement | undefined =>
    replacements.override(key, address) ??
    (isMocked ? replacements.default(key, mode, type) : undefined);
  const complete = async (
    mode: "managed" | "data",
    type: string,
    object: Value,
    options: { readonly replacement: Replacement; readonly unknown: boolean; readonly at: string },
  ): Promise<{ readonly value: Value; readonly diagnostics: readonly ProviderDiagnostic[] }> => {
    const { resources, dataSources } = await schemaOf();
    const found = (mode === "managed" ? resources : dataSources).get(type);
    if (found === undefined) return { value: object, diagnostics: [] };
    const { value, problems } = mockComputed(found.block, object, {
      given: options.replacement.given,
      unknown: options.unknown,
      seed: `${seed}\0${options.at}`,
    });
    const diagnostics = problems.map((detail) => ({
      severity: "error" as const,
      summary: "Failed to compute attribute",
      detail: `${options.at}: ${detail}`,
    }));
    return { value, diagnostics };
  };
  const own: Partial<LifecycleProvider> = {
    ...(isMocked && {
      // A mock has no configuration, so that no argument of one is required.
      schema: async (context) => {
        const reply = await provider.schema(context);
        return { ...reply, schema: { ...reply.schema, provider: NO_ARGUMENTS } };
      },
      validateProvider: async () => Promise.resolve({ diagnostics: [] }),
      configure: async () => Promise.resolve({ diagnostics: [] }),
      import: async () => Promise.resolve({ objects: [], diagnostics: [NO_IMPORT] }),
      openEphemeral: async (request) => {
        const { ephemeralResources } = await schemaOf();
        const block = ephemeralResources.get(request.type)?.block;
        if (block === undefined) return { diagnostics: [] };
        const given = { given: undefined, unknown: false, seed: `${seed}\0${request.type}` };
        return { result: mockComputed(block, request.config, given).value, diagnostics: [] };
      },
      closeEphemeral: async () => Promise.resolve({ diagnostics: [] }),
      renewEphemeral: async () => Promise.resolve({ diagnostics: [] }),
    }),
    read: async (request, context) => {
      if (find("managed", request.type, context) === undefined)
        return provider.read(request, context);
      const { state, privateBytes, identity } = request;
      return { state, privateBytes, ...(identity && { identity }), diagnostics: [] };
    },
    plan: async (request, context): Promise<PlanReply> => {
      const replacement = find("managed", request.type, context);
      if (replacement === undefined) return provider.plan(request, context);
      const base = {
        requiresReplace: [] as readonly Path[],
        plannedPrivate: new Uint8Array(),
        legacyTypeSystem: false,
      };
      const { prior, proposed, type } = request;
      // Only what does not exist yet has values to be decided.
      if (!prior.isNull || proposed.isNull) return { ...base, planned: proposed, diagnostics: [] };
      const { value, diagnostics } = await complete("managed", type, proposed, {
        replacement,
        unknown: !replacement.duringPlan,
        at: context.address ?? type,
      });
      return { ...base, planned: value, diagnostics };
    },
    apply: async (request, context): Promise<ApplyReply> => {
      const replacement = find("managed", request.type, context);
      if (replacement === undefined) return provider.apply(request, context);
      const base = { privateBytes: new Uint8Array(), legacyTypeSystem: false };
      const { planned, type } = request;
      if (planned.isNull) return { ...base, state: planned, diagnostics: [] };
      const { value, diagnostics } = await complete("managed", type, planned, {
        replacement,
        unknown: false,
        at: context.address ?? type,
      });
      if (diagnostics.length === 0) return { ...base, state: value, diagnostics };
      return { ...base, state: Value.null(planned.type), diagnostics };
    },
    readDataSource: async (request, context) => {
      const replacement = find("data", request.type, context);
      if (replacement === undefined) return provider.readDataSource(request, context);
      const { value, diagnostics } = await complete("data", request.type, request.config, {
        replacement,
        unknown: false,
        at: context.address ?? request.type,
      });
      return { state: value, diagnostics };
    },
  };
  return new Proxy(provider, {
    get: (target, name) => {
      const replacement: unknown = Reflect.get(own, name);
      if (replacement !== undefined) return replacement;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? (member.bind(target) as unknown) : member;
    },
  });
}

const NO_ARGUMENTS: ProviderSchema["provider"] = {
  attributes: new Map(),
  blocks: new Map(),
  deprecated: false,
  description: "",
};

const NO_IMPORT: ProviderDiagnostic = {
  severity: "error",
  summary: "Invalid import request",
  detail:
    "Objects cannot be imported from a mock provider. Replace the object with an override_resource block instead.",
};
