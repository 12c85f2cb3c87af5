import { Value } from "@stackwright/cty";
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

/** A provider with a name for diagnostics. */
export interface NamedLifecycleProvider {
  readonly name: string;
  readonly provider: LifecycleProvider;
}

type Kind = "resources" | "dataSources" | "ephemeralResources" | "functions";

const KIND_NAMES: Readonly<Record<Kind, string>> = {
  resources: "Resource",
  dataSources: "Data Source",
  ephemeralResources: "Ephemeral Resource",
  functions: "Function",
};

/** What is known once every provider was asked for its schema. */
interface Discovery {
  readonly reply: SchemaReply;
  readonly owners: Readonly<Record<Kind, ReadonlyMap<string, LifecycleProvider>>>;
  /** Providers that want to be asked about deletes. */
  readonly planDestroy: ReadonlySet<LifecycleProvider>;
}

/**
 * Several providers that together implement one package, as one. Every type and function has exactly one
 * owner, and all see the same configuration.
 *
 * Schemas are asked for on first need, once. What is wrong with the combination (a name with two owners,
 * different provider configurations) is reported all at once, as error diagnostics of `schema`; a name
 * with two owners answers no call. Configuration goes to the providers one after the other and stops at the
 * first that reports an error. `stop` and `close` reach all, regardless of the answers.
 *
 * Model: the strict combination of Terraform's plugin mux, where every name has one owner.
 */
export function joinLifecycleProviders(
  members: readonly NamedLifecycleProvider[],
): LifecycleProvider {
  const [first] = members;
  if (first === undefined) throw new MuxError("MUX_NO_SERVERS", "there is no provider to join");
  let discovery: Promise<Discovery> | undefined;

  async function discover(context: LifecycleContext): Promise<Discovery> {
    discovery ??= ask(members, context).catch((error: unknown) => {
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
    if (owner !== undefined) return call(owner);
    return missing([
      {
        severity: "error",
        summary: `${KIND_NAMES[kind]} Not Implemented`,
        detail: `The combined provider does not implement ${name}, or several of its parts do.`,
      },
    ]);
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

    async validateProvider(request, context) {
      const diagnostics: ProviderDiagnostic[] = [];
      for (const { provider } of members) {
        diagnostics.push(...(await provider.validateProvider(request, context)).diagnostics);
      }
      return { diagnostics };
    },
    async configure(request, context) {
      const diagnostics: ProviderDiagnostic[] = [];
      for (const { provider } of members) {
        diagnostics.push(...(await provider.configure(request, context)).diagnostics);
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
      if (owner !== undefined) return owner.callFunction(request, context);
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
  diagnostics.push(...compareConfigurations(schemas));
  const resources = unite("resources", schemas, diagnostics);
  const dataSources = unite("dataSources", schemas, diagnostics);
  const ephemeralResources = unite("ephemeralResources", schemas, diagnostics);
  const functions = unite("functions", schemas, diagnostics);
  const [first] = schemas;
  const meta = schemas.find(({ schema }) => schema.providerMeta !== undefined)?.schema.providerMeta;
  const empty: BlockSchema = {
    attributes: new Map(),
    blocks: new Map(),
    deprecated: false,
    description: "",
  };
  return {
    reply: {
      diagnostics,
      schema: {
        provider: first?.schema.provider ?? empty,
        ...(meta && { providerMeta: meta }),
        resources: resources.schemas,
        dataSources: dataSources.schemas,
        ephemeralResources: ephemeralResources.schemas,
        functions: functions.schemas,
        ambiguous: new Map(schemas.flatMap(({ schema }) => [...(schema.ambiguous ?? [])])),
        ...tokensOf(schemas.flatMap(({ schema }) => schema.tokens ?? [])),
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

/** Every name with exactly one owner; the others become error diagnostics that name all owners. */
function unite<K extends Kind>(
  kind: K,
  members: readonly NamedProviderSchema[],
  diagnostics: ProviderDiagnostic[],
) {
  type Schema = ProviderSchema[K] extends ReadonlyMap<string, infer S> ? S : never;
  const schemas = new Map<string, Schema>();
  const owners = new Map<string, LifecycleProvider>();
  const names = new Map<string, string[]>();
  for (const { name: member, provider, schema } of members) {
    for (const [name, entry] of schema[kind] as ReadonlyMap<string, Schema>) {
      const present = names.get(name);
      if (present === undefined) {
        names.set(name, [member]);
        schemas.set(name, entry);
        owners.set(name, provider);
      } else {
        present.push(member);
        owners.delete(name);
      }
    }
  }
  for (const [name, claimants] of names) {
    if (claimants.length < 2) continue;
    diagnostics.push({
      severity: "error",
      summary: "Invalid Provider Server Combination",
      detail: `Duplicate ${KIND_NAMES[kind].toLowerCase()}: ${name} is implemented by ${claimants.join(", ")}.`,
    });
  }
  return { schemas, owners };
}

function compareConfigurations(members: readonly NamedProviderSchema[]): ProviderDiagnostic[] {
  const diagnostics: ProviderDiagnostic[] = [];
  for (const part of ["provider", "providerMeta"] as const) {
    const given = members.filter(({ schema }) => schema[part] !== undefined);
    const [first, ...others] = given;
    for (const other of others) {
      const difference = differenceOfBlocks(first?.schema[part], other.schema[part]);
      if (difference === undefined) continue;
      diagnostics.push({
        severity: "error",
        summary: "Invalid Provider Server Combination",
        detail: `The ${part === "provider" ? "configuration" : "provider_meta"} schemas of ${first?.name} and ${other.name} must be equal; they differ in ${difference}.`,
      });
    }
  }
  return diagnostics;
}

/** Nothing where no member knows types by tokens. */
function tokensOf(members: readonly TypeTokens[]): Pick<ProviderSchema, "tokens"> {
  if (members.length === 0) return {};
  return {
    tokens: {
      resources: new Map(members.flatMap(({ resources }) => [...resources])),
      dataSources: new Map(members.flatMap(({ dataSources }) => [...dataSources])),
    },
  };
}
