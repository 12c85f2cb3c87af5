import { isPlaceholder, type StackSnapshot, type StateObject } from "@stackwright/core";
import type { Diff, Shown } from "@stackwright/plan-view";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import { type ApiParts, routeSchema, StackParams, stackOf } from "../api-parts.ts";
import {
  compareRevisions,
  listRevisions,
  readShownObject,
  readShownState,
  shownObject,
  shownOutput,
} from "./shown-state.ts";

const BASE = "/projects/:project/stacks/:stack";

const ShownSchema = Type.Unsafe<Shown>({
  type: "object",
  title: "ShownValue",
  properties: { kind: { type: "string" } },
  required: ["kind"],
  additionalProperties: true,
  description: "a value without secrets, as `Shown` of @stackwright/plan-view",
});
const DiffSchema = Type.Unsafe<Diff>({
  type: "object",
  title: "ShownDifference",
  properties: { kind: { type: "string" } },
  required: ["kind"],
  additionalProperties: true,
  description: "a difference without secrets, as `Diff` of @stackwright/plan-view",
});

const RESOURCE = {
  address: Type.String(),
  deposed: Type.Optional(Type.String({ description: "key of a deposed object" })),
  mode: Type.Union([Type.Literal("managed"), Type.Literal("data")]),
  type: Type.String(),
  provider: Type.String(),
  phase: Type.String(),
  revision: Type.Integer({ description: "with which it was written last" }),
  depends_on: Type.Array(Type.String()),
};
const Resource = Type.Object(RESOURCE, { title: "Resource" });
const ResourceDetail = Type.Object(
  { ...RESOURCE, attributes: Type.Optional(ShownSchema), observed_at: Type.String() },
  { title: "ResourceDetail" },
);
const StateView = Type.Object(
  {
    revision: Type.Integer(),
    resources: Type.Array(Resource),
    outputs: Type.Array(
      Type.Object({ name: Type.String(), sensitive: Type.Boolean(), value: ShownSchema }),
    ),
    inputs: Type.Array(
      Type.Object({
        project: Type.String(),
        stack: Type.String(),
        revision: Type.Integer(),
        outputs: Type.Array(Type.String()),
      }),
    ),
  },
  { title: "StateView" },
);
const Revision = Type.Object(
  {
    revision: Type.Integer(),
    run: Type.String(),
    finished_at: Type.String(),
    changed: Type.Integer(),
    complete: Type.Boolean(),
  },
  { title: "Revision" },
);
const ObjectChange = Type.Object(
  {
    address: Type.String(),
    deposed: Type.Optional(Type.String()),
    type: Type.String(),
    change: Type.Union([Type.Literal("created"), Type.Literal("updated"), Type.Literal("deleted")]),
    body: DiffSchema,
  },
  { title: "ObjectChange" },
);

const ResourceQuery = Type.Object(
  {
    address: Type.String({ minLength: 1, maxLength: 4096 }),
    deposed: Type.Optional(Type.String({ maxLength: 8 })),
  },
  { additionalProperties: false },
);
const RevisionsQuery = Type.Object(
  { limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })) },
  { additionalProperties: false },
);
const CompareQuery = Type.Object(
  {
    from: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    to: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }),
  },
  { additionalProperties: false },
);

type InStack = { Params: Static<typeof StackParams> };

/**
 * `/projects/{project}/stacks/{stack}/state`, `/revisions`: what is recorded of a stack and what its runs did to it, without secrets.
 * The server reads it without the data keys of the stack.
 */
export function stateRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { principalOf } = parts;
  const stackOfRequest = async (request: Parameters<typeof principalOf>[0]) =>
    stackOf(parts, principalOf(request), request.params as InStack["Params"]);

  fastify.get<InStack>(
    `${BASE}/state`,
    {
      schema: routeSchema(
        "Show the recorded state of a stack: resources without their attributes, outputs, inputs",
        "ShowState",
        { 200: StateView },
        { params: StackParams },
        { 422: "the value of an output cannot be shown" },
      ),
      config: { access: "viewer" },
    },
    async (request) => viewOf(await readShownState(parts, await stackOfRequest(request))),
  );

  fastify.get<InStack & { Querystring: Static<typeof ResourceQuery> }>(
    `${BASE}/state/resource`,
    {
      schema: routeSchema(
        "Show a recorded resource with its attributes, without secrets",
        "ShowResource",
        { 200: ResourceDetail },
        { params: StackParams, querystring: ResourceQuery },
        { 422: "an attribute cannot be shown" },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { address, deposed = "" } = request.query;
      const stack = await stackOfRequest(request);
      const found = await readShownObject(parts, stack, { address, deposed });
      if (found === undefined) {
        throw new ServerError("not_found", `the state has no resource "${address.slice(0, 256)}"`);
      }
      const attributes = shownObject(found);
      return {
        ...resourceOf(found),
        ...(attributes !== undefined && { attributes }),
        observed_at: new Date(found.observedAtMs).toISOString(),
      };
    },
  );

  fastify.get<InStack & { Querystring: Static<typeof RevisionsQuery> }>(
    `${BASE}/revisions`,
    {
      schema: routeSchema(
        "List the revisions of the state of a stack, newest first",
        "ListRevisions",
        { 200: Type.Object({ revisions: Type.Array(Revision) }) },
        { params: StackParams, querystring: RevisionsQuery },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { limit = 100 } = request.query;
      const found = await listRevisions(parts, await stackOfRequest(request), limit);
      return {
        revisions: found.map(({ revision, run, finishedAtMs, changed, complete }) => ({
          revision: Number(revision),
          run,
          finished_at: new Date(finishedAtMs).toISOString(),
          changed,
          complete,
        })),
      };
    },
  );

  fastify.get<InStack & { Querystring: Static<typeof CompareQuery> }>(
    `${BASE}/revisions/compare`,
    {
      schema: routeSchema(
        "Compare two revisions of the state of a stack, without secrets",
        "CompareRevisions",
        { 200: Type.Object({ changes: Type.Array(ObjectChange) }) },
        { params: StackParams, querystring: CompareQuery },
        { 422: "too many revisions lie between the two, or a value cannot be shown" },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { from, to } = request.query;
      if (from >= to) throw new ServerError("invalid_request", `${from} is not before ${to}`);
      const range = { from: BigInt(from), to: BigInt(to) };
      const changes = await compareRevisions(parts, await stackOfRequest(request), range);
      return {
        changes: changes.map(({ deposed, ...change }) => ({
          ...change,
          ...(deposed !== "" && { deposed }),
        })),
      };
    },
  );
}

function viewOf({ head, objects, outputs, inputs = [] }: StackSnapshot): Static<typeof StateView> {
  const resources = [...objects.values()].filter((object) => !isPlaceholder(object));
  return {
    revision: Number(head.revision),
    resources: resources.map(resourceOf).toSorted(byAddress),
    outputs: [...outputs]
      .map(([name, output]) => ({
        name,
        sensitive: output.sensitive,
        value: shownOutput(name, output),
      }))
      .toSorted((left, right) => (left.name < right.name ? -1 : 1)),
    inputs: inputs.map(({ stack, name, revision, outputs: names }) => ({
      project: stack.project,
      stack: name,
      revision: Number(revision),
      outputs: [...names],
    })),
  };
}

function byAddress(
  left: { readonly address: string },
  right: { readonly address: string },
): number {
  return left.address < right.address ? -1 : Number(left.address > right.address);
}

function resourceOf(object: StateObject): Static<typeof Resource> {
  const { address, deposed, mode, type, provider, phase, revision, dependencies } = object;
  return {
    address,
    ...(deposed !== "" && { deposed }),
    mode,
    type,
    provider: provider.source,
    phase,
    revision: Number(revision),
    depends_on: [...new Set(dependencies.map(({ address: needed }) => needed))],
  };
}
