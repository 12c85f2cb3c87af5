import { hasOutputChange, type PlanView } from "@stackwright/plan-view/lines";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { RUN_KIND, runPlace } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { dependentsOf } from "../../live/dependents.ts";
import type { StackFact } from "../../live/stack-facts.ts";
import { idOf } from "../../queue/transaction.ts";
import { type ApiParts, RunParams, routeSchema, stackOf } from "../api-parts.ts";
import { synced } from "../watch/synced.ts";
import { visibleTo } from "../watch/topic.ts";

/** Bytes of a view that is read to see which outputs change; of a larger one all outputs count. */
const MAX_VIEW_BYTES = 8 * 1024 * 1024;
/** Stacks of one answer. */
const MAX_STACKS = 500;

const Named = Type.Object({ project: Type.String(), stack: Type.String() });
const DependentView = Type.Object(
  {
    project: Type.String(),
    stack: Type.String(),
    distance: Type.Integer({
      description: "1: it depends on the outputs itself; 2: on a stack that does, and so on",
    }),
    outputs: Type.Array(Type.String(), { description: "those that its state was made with" }),
    triggered: Type.Boolean({ description: "the change requests runs of it" }),
    through: Type.Array(Named, {
      description: "the stacks in between that it reads or follows, at most 20 of them",
    }),
  },
  { title: "DependentStack" },
);
const Answer = Type.Object(
  {
    outputs: Type.Optional(
      Type.Array(Type.String(), {
        description:
          "those that the plan changes; absent where it is too large to be read: all count",
      }),
    ),
    stacks: Type.Array(DependentView, { description: "the nearest first" }),
    more: Type.Boolean({ description: "there are more stacks than are listed" }),
  },
  { title: "PlanDependents" },
);

/**
 * `/projects/{project}/stacks/{stack}/runs/{run}/plan/dependents`: what else a plan concerns, as the live view has it. Stacks that the
 * caller may not see are left out, as everywhere; what depends on the plan through them is not.
 */
export function dependentsRoute(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, blobs, live, clock, principalOf, stopping } = parts;

  /** Undefined for a view that is too large. */
  const changedOutputs = async (viewSha256: string): Promise<readonly string[] | undefined> => {
    if (viewSha256 === "") return undefined;
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of blobs.read(viewSha256)) {
      size += chunk.byteLength;
      if (size > MAX_VIEW_BYTES) return undefined;
      chunks.push(chunk);
    }
    const view = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Pick<PlanView, "outputs">;
    return view.outputs.filter(hasOutputChange).map(({ name }) => name);
  };

  fastify.get<{ Params: Static<typeof RunParams> }>(
    "/projects/:project/stacks/:stack/runs/:run/plan/dependents",
    {
      schema: routeSchema(
        "List the stacks that depend on outputs which the plan of a run changes, also through others",
        "ListPlanDependents",
        { 200: Answer },
        { params: RunParams },
      ),
      config: { access: "viewer" },
    },
    async (request) => {
      const { run } = request.params;
      const principal = principalOf(request);
      const { reference } = await stackOf(parts, principal, request.params);
      const place = runPlace({ stack: reference, run });
      const [storedRun, stored] = await Promise.all([
        readStored(storage, "strong", idOf(RUN_KIND, place)),
        readStored(storage, "strong", idOf(SERVER_KINDS.summary, place)),
      ]);
      const digest = storedRun && decodeRecord(RUN_KIND, storedRun).planDigest;
      const summary = stored && decodeRecord(SERVER_KINDS.summary, stored);
      if (digest === undefined || summary?.planDigest !== digest) {
        throw new ServerError("not_found", `the run ${run} has no plan`);
      }
      await synced(live.stackChanges, clock, stopping);
      const outputs = await changedOutputs(summary.viewSha256);
      const sees = visibleTo(principal);
      const isVisible = ({ account, project, name }: StackFact): boolean =>
        sees({ account, project, stack: name });
      const key = `${reference.account}/${reference.project}/${reference.stack}`;
      const found = dependentsOf(live, [key], outputs, isVisible).filter(({ stack }) =>
        isVisible(stack),
      );
      return {
        ...(outputs !== undefined && { outputs: [...outputs] }),
        stacks: found.slice(0, MAX_STACKS).map(({ stack, distance, through, ...dependent }) => ({
          ...namedOf(stack),
          distance,
          outputs: [...dependent.outputs],
          triggered: dependent.triggered,
          through: through.map(namedOf),
        })),
        more: found.length > MAX_STACKS,
      };
    },
  );
}

function namedOf({ project, name }: StackFact): Static<typeof Named> {
  return { project, stack: name };
}
