import type { Principal } from "@stackwright/registry";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { isSetForProject } from "../../domain/variable-precedence.ts";
import { searchResources, sortedStacks } from "../../live/search-resources.ts";
import type { StackFact } from "../../live/stack-facts.ts";
import {
  type StackUse,
  usesOfAccountSet,
  usesOfModule,
  usesOfProvider,
  usesOfStack,
  usesOfVariableSet,
  usesThroughOthers,
} from "../../live/where-used.ts";
import { type ApiParts, ProjectName, routeSchema } from "../api-parts.ts";
import { endOfRequest } from "../end-of-request.ts";
import { projectsOf } from "../project-patterns.ts";
import { synced } from "../watch/synced.ts";
import { visibleTo } from "../watch/topic.ts";

const Query = Type.Object(
  {
    q: Type.Optional(
      Type.String({ maxLength: 256, description: "part of an address, in any case of letters" }),
    ),
    type: Type.Optional(Type.String({ maxLength: 256, description: "the whole resource type" })),
    project: Type.Optional(ProjectName),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
  },
  { additionalProperties: false },
);

const FoundResource = Type.Object(
  {
    project: Type.String(),
    stack: Type.String(),
    address: Type.String(),
    type: Type.String(),
    data: Type.Boolean({ description: "only read by the stack" }),
    deposed: Type.Optional(Type.String()),
    provider: Type.String(),
    provider_version: Type.String(),
  },
  { title: "FoundResource" },
);

const UseKind = Type.Union([
  Type.Literal("provider"),
  Type.Literal("module"),
  Type.Literal("stack"),
  Type.Literal("variable_set"),
]);

const UseQuery = Type.Object(
  {
    kind: UseKind,
    name: Type.String({
      minLength: 1,
      maxLength: 256,
      description:
        "of a provider or a module its source address or the end of it; PROJECT/NAME of a stack or a variable set, NAME of a variable set of the account",
    }),
    version: Type.Optional(
      Type.String({ maxLength: 128, description: "of a provider or a module" }),
    ),
    transitive: Type.Optional(
      Type.Union([Type.Literal("true"), Type.Literal("false")], {
        description: "also the stacks that read or follow outputs of those that use it, and so on",
      }),
    ),
  },
  { additionalProperties: false },
);

const StackUseView = Type.Object(
  {
    project: Type.String(),
    stack: Type.String(),
    version: Type.Optional(
      Type.String({ description: "of a provider or a module; of one in a repository its commit" }),
    ),
    constraints: Type.Optional(Type.String({ description: "what the calls of a module ask for" })),
    resources: Type.Optional(Type.Integer()),
    outputs: Type.Optional(Type.Array(Type.String())),
    outdated: Type.Optional(Type.Boolean()),
    triggered: Type.Optional(Type.Boolean()),
    distance: Type.Optional(
      Type.Integer({
        description:
          "absent where the stack uses it itself; 1: it reads or follows outputs of one that does; 2: of one that does so",
      }),
    ),
    through: Type.Optional(
      Type.Array(Type.Object({ project: Type.String(), stack: Type.String() }), {
        description:
          "with a distance: the stacks that it reads or follows for it, at most 20; without those that the caller does not see",
      }),
    ),
  },
  { title: "StackUse" },
);

/** Stacks of one answer that use something through others. */
const MAX_OTHERS = 1_000;

/** `/search` and `/where-used`: questions about all stacks that the caller may see, answered by the live view. */
export function searchRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { live, clock, principalOf, stopping } = parts;

  /** The stacks that the caller may see, once the view has them and what is asked about. */
  async function visibleStacks(
    principal: Principal,
    signal: AbortSignal,
    project?: string,
  ): Promise<readonly StackFact[]> {
    await synced(live.stackChanges, clock, signal);
    const isVisible = visibleTo(principal);
    return sortedStacks(
      live,
      (stack) => isVisible(stack) && (project === undefined || stack.project === project),
    );
  }

  /** The stack that a name stands for, among those that the caller may see. */
  function namedStack(stacks: readonly StackFact[], given: string): StackFact {
    const { project, name } = placeOf(given);
    const found = stacks.find((one) => one.project === project && one.name === name);
    if (found === undefined) throw new ServerError("not_found", `there is no stack "${given}"`);
    return found;
  }

  fastify.get<{ Querystring: Static<typeof Query> }>(
    "/search",
    {
      schema: routeSchema(
        "Find resources in all stacks that the caller may see, by their addresses and types",
        "SearchResources",
        {
          200: Type.Object({
            resources: Type.Array(FoundResource),
            more: Type.Boolean({ description: "there are more than were asked for" }),
          }),
        },
        { querystring: Query },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const { q = "", type, project, limit = 100 } = request.query;
      const signal = endOfRequest(reply, stopping);
      const stacks = await visibleStacks(principalOf(request), signal, project);
      await synced(live.resources.all, clock, signal, live.resources.listed);
      const part = q.toLowerCase();
      const found = await searchResources(live, {
        stacks,
        limit,
        signal,
        isMatch: (one) =>
          (type === undefined || one.type === type) && one.address.toLowerCase().includes(part),
      });
      return {
        resources: found.slice(0, limit).map(({ stack, resource }) => ({
          project: stack.project,
          stack: stack.name,
          address: resource.address,
          type: resource.type,
          data: resource.isData,
          ...(resource.deposed !== "" && { deposed: resource.deposed }),
          provider: resource.provider,
          provider_version: resource.providerVersion,
        })),
        more: found.length > limit,
      };
    },
  );

  fastify.get<{ Querystring: Static<typeof UseQuery> }>(
    "/where-used",
    {
      schema: routeSchema(
        "List the stacks that use a provider, a module, a variable set or the outputs of another stack",
        "ListUses",
        { 200: Type.Object({ uses: Type.Array(StackUseView) }) },
        { querystring: UseQuery },
      ),
      config: { access: "viewer" },
    },
    async (request, reply) => {
      const { kind, name, version, transitive = "false" } = request.query;
      if (version !== undefined && kind !== "provider" && kind !== "module") {
        throw new ServerError("invalid_request", "only a provider and a module have a version");
      }
      const signal = endOfRequest(reply, stopping);
      const principal = principalOf(request);
      const seenStacks = await visibleStacks(principal, signal);
      // What only a hidden stack uses itself may be used through it by one that the caller sees.
      const stacks =
        transitive === "true"
          ? sortedStacks(live, ({ account }) => account === principal.account)
          : seenStacks;
      if (transitive === "true") {
        await Promise.all([
          synced(live.outputs, clock, signal),
          synced(live.triggers, clock, signal),
        ]);
      }
      if (kind === "provider") {
        await synced(live.resources.all, clock, signal, live.resources.listed);
      }
      if (kind === "module") {
        await Promise.all([
          synced(live.modules, clock, signal),
          synced(live.runsOfStack, clock, signal),
        ]);
      }
      let uses: readonly StackUse[] | undefined;
      let producer: StackFact | undefined;
      if (kind === "provider") uses = await usesOfProvider(live, { stacks, name, version, signal });
      else if (kind === "module") uses = usesOfModule(live, stacks, { name, version });
      else if (kind === "stack") {
        producer = namedStack(seenStacks, name);
        uses = usesOfStack(live, stacks, producer);
      } else if (!name.includes("/")) {
        const set = live.accountSets.get(`${principal.account}/${name}`);
        const seen = projectsOf(principal);
        const isShown =
          set !== undefined && (seen?.some((project) => isSetForProject(set, project)) ?? true);
        uses = usesOfAccountSet(stacks, isShown ? set : undefined);
      } else {
        const place = { account: principal.account, ...placeOf(name) };
        uses = visibleTo(principal)(place) ? usesOfVariableSet(live, stacks, place) : undefined;
      }
      if (uses === undefined)
        throw new ServerError("not_found", `there is no variable set "${name}"`);
      const seen = new Set(seenStacks.map(({ key }) => key));
      const isSeen = ({ key }: StackFact): boolean => seen.has(key);
      const others = transitive === "true" ? usesThroughOthers(live, uses, producer, isSeen) : [];
      const shown = [uses, others].map((some) => some.filter(({ stack }) => isSeen(stack)));
      const [itself = [], through = []] = shown;
      return {
        uses: [...itself, ...through.slice(0, MAX_OTHERS)].map(
          ({ stack, through: between, ...use }) => ({
            ...placeIn(stack),
            ...use,
            ...(between !== undefined && { through: between.map(placeIn) }),
          }),
        ),
      };
    },
  );
}

function placeIn({ project, name }: StackFact) {
  return { project, stack: name };
}

/** PROJECT/NAME; `invalid_request` for anything else. */
function placeOf(text: string): { readonly project: string; readonly name: string } {
  const [, project, name] = /^([^/]+)\/([^/]+)$/.exec(text) ?? [];
  if (project === undefined || name === undefined) {
    throw new ServerError("invalid_request", `"${text}" is not PROJECT/NAME`);
  }
  return { project, name };
}
