import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import {
  listComparisons,
  type ReadComparison,
  readComparison,
} from "../../queue/read-comparison.ts";
import { type ApiParts, RunParams, routeSchema, StackParams, stackOf } from "../api-parts.ts";
import { timeOf } from "./run-view.ts";

const Outcomes = Type.Union(
  [
    Type.Literal("pending"),
    Type.Literal("equal"),
    Type.Literal("different"),
    Type.Literal("failed"),
  ],
  { title: "ComparisonOutcome" },
);

const ComparisonView = Type.Object(
  {
    outcome: Outcomes,
    shadow_run: Type.String({ description: "the run of the engine that planned the same" }),
    compared: Type.Integer({ description: "objects and outputs" }),
    differing: Type.Integer({ description: "all differences, also those that are not listed" }),
    differences: Type.Array(
      Type.Object({
        address: Type.String(),
        path: Type.String(),
        engine: Type.Optional(Type.String({ description: "JSON; absent: nothing is planned" })),
        tool: Type.Optional(Type.String({ description: "JSON; absent: nothing is planned" })),
      }),
    ),
    reason: Type.Optional(Type.String({ description: "why nothing was compared" })),
    at: Type.String(),
  },
  { title: "PlanComparison" },
);

const { differences: _, ...LISTED } = ComparisonView.properties;
const ListedView = Type.Object(
  {
    run: Type.String({ description: "the run of the tool" }),
    number: Type.Integer(),
    ...LISTED,
  },
  { title: "ListedComparison" },
);
const ListQuery = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: "20 by default" })),
  },
  { additionalProperties: false },
);

/** How plans of a tool differ from those of the engine: the newest of a stack, and that of one run. */
export function comparisonRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;
  fastify.get<{ Params: Static<typeof StackParams>; Querystring: Static<typeof ListQuery> }>(
    "/projects/:project/stacks/:stack/comparisons",
    {
      schema: routeSchema(
        "List the newest comparisons of plans of a tool with those of the engine",
        "ListPlanComparisons",
        { 200: Type.Object({ comparisons: Type.Array(ListedView) }) },
        { params: StackParams, querystring: ListQuery },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const found = await listComparisons(storage, reference, request.query.limit ?? 20);
      return {
        comparisons: found.map(({ run, ...read }) => {
          const { differences: _all, ...view } = viewOf(read);
          return { run, number: Number(read.comparison.number), ...view };
        }),
      };
    },
  );

  fastify.get<{ Params: Static<typeof RunParams> }>(
    "/projects/:project/stacks/:stack/runs/:run/comparison",
    {
      schema: routeSchema(
        "Show how the plan of a run by a tool differs from that of the engine",
        "ShowPlanComparison",
        { 200: ComparisonView },
        { params: RunParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { run } = request.params;
      const { reference } = await stackOf(parts, principalOf(request), request.params);
      const found = await readComparison(storage, { stack: reference, run });
      if (found !== undefined) return viewOf(found);
      throw new ServerError("not_found", `the plan of the run ${run} is not compared`);
    },
  );
}

function viewOf({ comparison, outcome, reason }: ReadComparison): Static<typeof ComparisonView> {
  const { shadowRun, compared, differing, differences, atMs } = comparison;
  return {
    outcome,
    shadow_run: shadowRun,
    compared,
    differing,
    differences: differences.map(({ address, path, ours, theirs }) => ({
      address,
      path,
      ...(ours !== undefined && { engine: ours }),
      ...(theirs !== undefined && { tool: theirs }),
    })),
    ...(reason !== "" && { reason }),
    at: timeOf(atMs),
  };
}
