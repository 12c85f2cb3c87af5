import { Value } from "@stackwright/cty";
import type { ConflictPolicy } from "../core/merge-schemas.ts";
import { MuxError } from "../errors.ts";
import { hasProviderErrors, type ProviderDiagnostic } from "./diagnostic.ts";
import { differenceOfBlocks } from "./equal-blocks.ts";
import type {
  CallFunctionReply,
  LifecycleContext,
  LifecycleProvider,
  PlanReply,
  PlanResourceRequest,
  Reply,
  SchemaReply,
} from "./lifecycle-provider.ts";
import type { BlockSchema, ProviderSchema, TypeTokens } from "./schema.ts";
import { ownConfiguration, uniteConfigurations } from "./unite-configurations.ts";

/** A provider with a name for diagnostics. */
export interface NamedLifecycleProvider {
  readonly name: string;
  readonly provider: LifecycleProvider;
}

/** What a provider has by name. */
export type ProviderMemberKind = "resources" | "dataSources" | "ephemeralResources" | "functions";
type Kind = ProviderMemberKind;

/** How several providers become one. */
export interface JoinProvidersOptions {
  /** Who gets a name that several providers have. @default "error" */
  readonly conflicts?: ConflictPolicy;
  /** The provider that gets a name which several have, against the policy. @default none */
  readonly owners?: ReadonlyMap<string, string>;
  /**
   * `equal`: all have one configuration schema and see the whole configuration. `united`: the configuration has the arguments of all,
   * and each sees its own.
   * @default "equal"
   */
  readonly configuration?: "equal" | "united";
}

/** Several providers as one, with who serves what. */
export interface JoinedLifecycleProvider extends LifecycleProvider {
  /** The member that serves each name. */
  owners(
    context: LifecycleContext,
  ): Promise<Readonly<Record<ProviderMemberKind, ReadonlyMap<string, string>>>>;
}

const KIND_NAMES: Readonly<Record<Kind, string>> = {
  resources: "Resource",
  dataSources: "Data Source",
  ephemeralResources: "Ephemeral Resource",
  functions: "Function",
};

/** What is known once every provider was asked for its schema. */
interface Discovery {
  readonly reply: SchemaReply;
  readonly owners: Readonly<Record<Kind, ReadonlyMap<string, NamedProviderSchema>>>;
  /** By member. */
  readonly schemas: ReadonlyMap<LifecycleProvider, ProviderSchema>;
  /** Providers that want to be asked about deletes. */
  readonly planDestroy: ReadonlySet<LifecycleProvider>;
}

/**
 * Several providers that together implement one package, as one. Every type and function has exactly one
 * owner. Without options all see the same configuration, and a name of several providers is an error.
 *
 * Schemas are asked for on first need, once. What is wrong with the combination (a name with two owners,
 * provider configurations that do not go together) is reported all at once, as error diagnostics of `schema`; a name
 * with two owners answers no call. Configuration goes to the providers one after the other and stops at the
 * first that reports an error. `stop` and `close` reach all, regardless of the answers.
 *
 * Model: the strict combination of Terraform's plugin mux, where every name has one owner.
 */
export function joinLifecycleProviders(
  members: readonly NamedLifecycleProvider[],
  options: JoinProvidersOptions = {},
): JoinedLifecycleProvider {
  const [first] = members;
  if (first === undefined) throw new MuxError("MUX_NO_SERVERS", "there is no provider to join");
  let discovery: Promise<Discovery> | undefined;

  async function discover(context: LifecycleContext): Promise<Discovery> {
    discovery ??= ask(members, options, context).catch((error: unknown) => {
      // Asked again next time: a provider that could not answer once may answer later.
      discovery = undefined;
      throw error;
    });
    return discovery;
  }

  async function toOwner<R extends Reply>(
    kind: Kind,
    name: string,
    context: LifecycleContext,
    call: (provider: LifecycleProvider) => Promise<R>,
    missing: (diagnostics: readonly ProviderDiagnostic[]) => R,
  ): Promise<R> {
    const { owners } = await discover(context);
    const owner = owners[kind].get(name);
    if (owner !== undefined) return call(owner.provider);
    return missing([
      {
        severity: "error",
        summary: `${KIND_NAMES[kind]} Not Implemented`,
        detail: `The combined provider does not implement ${name}, or several of its parts do.`,
      },
    ]);
  }

  async function configFor(
    provider: LifecycleProvider,
    config: Value,
    context: LifecycleContext,
  ): Promise<Value> {
    if (options.configuration !== "united") return config;
    const schema = (await discover(context)).schemas.get(provider);
    return schema === undefined ? config : ownConfiguration(config, schema.provider);
  }

  const bare = (diagnostics: readonly ProviderDiagnostic[]): Reply => ({ diagnostics });

  async function closeAll(): Promise<void> {
    const results = await Promise.allSettled(members.map(async ({ provider }) => provider.close()));
    const errors = results.flatMap((result) =>
      result.status === "rejected" ? [result.reason as unknown] : [],
    );
    if (errors.length === 1) throw errors[0];
    if (errors.length > 1) throw new AggregateError(errors, "several providers did not close");
  }

  return {
    schema: async (context) => (await discover(context)).reply,

    async owners(context) {
      const { owners } = await discover(context);
      const names = (kind: Kind) =>
        new Map([...owners[kind]].map(([name, owner]) => [name, owner.name] as const));
      return {
        resources: names("resources"),
        dataSources: names("dataSources"),
        ephemeralResources: names("ephemeralResources"),
        functions: names("functions"),
      };
    },

    async validateProvider(request, context) {
      const diagnostics: ProviderDiagnostic[] = [];
      for (const { provider } of members) {
        const config = await configFor(provider, request.config, context);
        const reply = await provider.validateProvider({ ...request, config }, context);
        diagnostics.push(...reply.diagnostics);
      }
      return { diagnostics };
    },
    async configure(request, context) {
      const diagnostics: ProviderDiagnostic[] = [];
      for (const { provider } of members) {
        const config = await configFor(provider, request.config, context);
        const reply = await provider.configure({ ...request, config }, context);
        diagnostics.push(...reply.diagnostics);
        if (hasProviderErrors(diagnostics)) break;
      }
      return { diagnostics };
    },

    validateResource: async (request, context) =>
      toOwner(
        "resources",
        request.type,
        context,
        (p) => p.validateResource(request, context),
        bare,
      ),
    validateDataSource: async (request, context) =>
      toOwner(
        "dataSources",
        request.type,
        context,
        (p) => p.validateDataSource(request, context),
        bare,
      ),
    validateEphemeral: async (request, context) =>
      toOwner(
        "ephemeralResources",
        request.type,
        context,
        (p) => p.validateEphemeral(request, context),
        bare,
      ),
    upgrade: async (request, context) =>
      toOwner("resources", request.type, context, (p) => p.upgrade(request, context), bare),
    move: async (request, context) =>
      toOwner("resources", request.targetType, context, (p) => p.move(request, context), bare),
    read: async (request, context) =>
      toOwner("resources", request.type, context, (p) => p.read(request, context), bare),
    plan: async (request, context) =>
      toOwner(
        "resources",
        request.type,
        context,
        async (p) =>
          request.proposed.isNull && !(await discover(context)).planDestroy.has(p)
            ? planOfDestroy(request)
            : p.plan(request, context),
        (diagnostics) => ({
          diagnostics,
          requiresReplace: [],
          plannedPrivate: request.priorPrivate,
          legacyTypeSystem: false,
        }),
      ),
    apply: async (request, context) =>
      toOwner(
        "resources",
        request.type,
        context,
        (p) => p.apply(request, context),
        (diagnostics) => ({
          diagnostics,
          state: request.prior,
          privateBytes: request.plannedPrivate,
          legacyTypeSystem: false,
        }),
      ),
    import: async (request, context) =>
      toOwner(
        "resources",
        request.type,
        context,
        (p) => p.import(request, context),
        (diagnostics) => ({ diagnostics, objects: [] }),
      ),
    readDataSource: async (request, context) =>
      toOwner(
        "dataSources",
        request.type,
        context,
        (p) => p.readDataSource(request, context),
        bare,
      ),
    openEphemeral: async (request, context) =>
      toOwner(
        "ephemeralResources",
        request.type,
        context,
        (p) => p.openEphemeral(request, context),
        bare,
      ),
    renewEphemeral: async (request, context) =>
      toOwner(
        "ephemeralResources",
        request.type,
        context,
        (p) => p.renewEphemeral(request, context),
        bare,
      ),
    closeEphemeral: async (request, context) =>
      toOwner(
        "ephemeralResources",
        request.type,
        context,
        (p) => p.closeEphemeral(request, context),
        bare,
      ),
    async callFunction(request, context): Promise<CallFunctionReply> {
      const owner = (await discover(context)).owners.functions.get(request.name);
      if (owner !== undefined) return owner.provider.callFunction(request, context);
      const text = `Function Not Implemented: the combined provider does not implement ${request.name}.`;
      return { error: { text } };
    },
    async stop(context) {
      const results = await Promise.allSettled(
        members.map(async ({ provider }) => provider.stop(context)),
      );
      const failed = results.find((result) => result.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
    close: closeAll,
    [Symbol.asyncDispose]: closeAll,
  };
}

/** The plan of a delete for a provider that does not want to be asked: the object goes, nothing else. */
function planOfDestroy({ proposed, priorPrivate }: PlanResourceRequest): PlanReply {
  return {
    diagnostics: [],
    planned: Value.null(proposed.type),
    requiresReplace: [],
    plannedPrivate: priorPrivate,
    legacyTypeSystem: false,
  };
}

async function ask(
  members: readonly NamedLifecycleProvider[],
  options: JoinProvidersOptions,
  context: LifecycleContext,
): Promise<Discovery> {
  const replies = await Promise.all(
    members.map(async ({ name, provider }) => ({
      name,
      provider,
      reply: await provider.schema(context),
    })),
  );
  const diagnostics = replies.flatMap(({ reply }) => reply.diagnostics);
  const schemas = replies.map(({ name, provider, reply }) => ({
    name,
    provider,
    schema: reply.schema,
  }));
  const isUnited = options.configuration === "united";
  const configuration = isUnited
    ? uniteConfigurations(schemas.map(({ name, schema }) => ({ name, block: schema.provider })))
    : { block: schemas[0]?.schema.provider ?? EMPTY, diagnostics: [] };
  diagnostics.push(
    ...configuration.diagnostics,
    ...(isUnited ? [] : compareConfigurations("provider", schemas)),
    ...compareConfigurations("providerMeta", schemas),
  );
  const resources = unite("resources", schemas, options, diagnostics);
  const dataSources = unite("dataSources", schemas, options, diagnostics);
  const ephemeralResources = unite("ephemeralResources", schemas, options, diagnostics);
  const functions = unite("functions", schemas, options, diagnostics);
  diagnostics.push(...idleOwners(schemas, options));
  const meta = schemas.find(({ schema }) => schema.providerMeta !== undefined)?.schema.providerMeta;
  return {
    reply: {
      diagnostics,
      schema: {
        provider: configuration.block,
        ...(meta && { providerMeta: meta }),
        resources: resources.schemas,
        dataSources: dataSources.schemas,
        ephemeralResources: ephemeralResources.schemas,
        functions: functions.schemas,
        ambiguous: new Map(schemas.flatMap(({ schema }) => [...(schema.ambiguous ?? [])])),
        ...tokensOf(schemas, { resources: resources.owners, dataSources: dataSources.owners }),
      },
      capabilities: {
        planDestroy: replies.some(({ reply }) => reply.capabilities.planDestroy),
        moveState: replies.some(({ reply }) => reply.capabilities.moveState),
        failedCreateIsClean: replies.every(({ reply }) => reply.capabilities.failedCreateIsClean),
      },
    },
    planDestroy: new Set(
      replies.filter(({ reply }) => reply.capabilities.planDestroy).map(({ provider }) => provider),
    ),
    schemas: new Map(schemas.map(({ provider, schema }) => [provider, schema])),
    owners: {
      resources: resources.owners,
      dataSources: dataSources.owners,
      ephemeralResources: ephemeralResources.owners,
      functions: functions.owners,
    },
  };
}

interface NamedProviderSchema extends NamedLifecycleProvider {
  readonly schema: ProviderSchema;
}

const EMPTY: BlockSchema = {
  attributes: new Map(),
  blocks: new Map(),
  deprecated: false,
  description: "",
};

/** Every name with exactly one owner; those that the policy leaves without one become error diagnostics that name all claimants. */
function unite<K extends Kind>(
  kind: K,
  members: readonly NamedProviderSchema[],
  { conflicts = "error", owners: chosen }: JoinProvidersOptions,
  diagnostics: ProviderDiagnostic[],
) {
  type Schema = ProviderSchema[K] extends ReadonlyMap<string, infer S> ? S : never;
  const tableOf = ({ schema }: NamedProviderSchema) => schema[kind] as ReadonlyMap<string, Schema>;
  const schemas = new Map<string, Schema>();
  const owners = new Map<string, NamedProviderSchema>();
  for (const name of new Set(members.flatMap((member) => [...tableOf(member).keys()]))) {
    const claimants = members.filter((member) => tableOf(member).has(name));
    const [first] = claimants;
    const preferred = conflicts === "last-wins" ? claimants.at(-1) : first;
    const named = claimants.find((member) => member.name === chosen?.get(name));
    const isDecided = claimants.length < 2 || conflicts !== "error";
    const owner = named ?? (isDecided ? preferred : undefined);
    const schema = (owner ?? first)?.schema[kind].get(name) as Schema | undefined;
    if (schema !== undefined) schemas.set(name, schema);
    if (owner !== undefined) owners.set(name, owner);
    else {
      diagnostics.push({
        severity: "error",
        summary: "Invalid Provider Server Combination",
        detail: `Duplicate ${KIND_NAMES[kind].toLowerCase()}: ${name} is implemented by ${claimants.map((member) => member.name).join(", ")}.`,
      });
    }
  }
  return { schemas, owners };
}

/** A name that was given to a member which does not have it would otherwise go to another one unseen. */
function idleOwners(
  members: readonly NamedProviderSchema[],
  { owners = new Map<string, string>() }: JoinProvidersOptions,
): ProviderDiagnostic[] {
  const kinds = Object.keys(KIND_NAMES) as Kind[];
  return [...owners].flatMap(([name, owner]) => {
    const schema = members.find((member) => member.name === owner)?.schema;
    if (schema !== undefined && kinds.some((kind) => schema[kind].has(name))) return [];
    return [
      {
        severity: "error" as const,
        summary: "Invalid Provider Server Combination",
        detail: `${name} is given to ${owner}, which does not implement it.`,
      },
    ];
  });
}

function compareConfigurations(
  part: "provider" | "providerMeta",
  members: readonly NamedProviderSchema[],
): ProviderDiagnostic[] {
  const [first, ...others] = members.filter(({ schema }) => schema[part] !== undefined);
  return others.flatMap((other) => {
    const difference = differenceOfBlocks(first?.schema[part], other.schema[part]);
    if (difference === undefined) return [];
    return [
      {
        severity: "error" as const,
        summary: "Invalid Provider Server Combination",
        detail: `The ${part === "provider" ? "configuration" : "provider_meta"} schemas of ${first?.name} and ${other.name} must be equal; they differ in ${difference}.`,
      },
    ];
  });
}

/** The tokens of names that no other member serves; nothing where no member knows types by tokens. */
function tokensOf(
  members: readonly NamedProviderSchema[],
  owners: Readonly<Record<keyof TypeTokens, ReadonlyMap<string, NamedProviderSchema>>>,
): Pick<ProviderSchema, "tokens"> {
  const known = members.filter(({ schema }) => schema.tokens !== undefined);
  if (known.length === 0) return {};
  const table = (kind: keyof TypeTokens) =>
    new Map(
      known.flatMap((member) =>
        [...(member.schema.tokens?.[kind] ?? [])].filter(([, name]) => {
          const owner = owners[kind].get(name);
          return owner === undefined || owner === member;
        }),
      ),
    );
  return { tokens: { resources: table("resources"), dataSources: table("dataSources") } };
}
