import { RunHooks } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Static } from "typebox";
import { decodeRecord } from "../../domain/record-kind.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { idOf, transact } from "../../queue/transaction.ts";
import { type HookOwner, hooksPlace } from "../../worker/run-hooks.ts";
import {
  type ApiParts,
  checkProjectName,
  etagOf,
  MatchHeader,
  ProjectParams,
  requireMatch,
  routeSchema,
  StackParams,
  stackOf,
} from "../api-parts.ts";
import { HookList, HooksView, hooksViewOf, storedHookOf } from "./hook-view.ts";

const KIND = SERVER_KINDS.hooks;
/** Bytes of all commands, scripts and variables of one place. */
const MAX_BYTES = 256 * 1024;

type InPlace = { Params: Static<typeof StackParams> };

/** What has hooks, with the texts and names of its routes. */
const PLACES = [
  {
    path: "/projects/:project/hooks",
    params: ProjectParams,
    what: "project",
    names: ["ShowProjectHooks", "SetProjectHooks"],
  },
  {
    path: "/projects/:project/stacks/:stack/hooks",
    params: StackParams,
    what: "stack",
    names: ["ShowStackHooks", "SetStackHooks"],
  },
] as const;

/** `/projects/{project}/hooks` and `/projects/{project}/stacks/{stack}/hooks` */
export function hookRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { storage, principalOf } = parts;
  for (const { path, params, what, names } of PLACES) {
    const [showName, setName] = names;
    const ownerOf = async (request: FastifyRequest<InPlace>): Promise<HookOwner> => {
      const principal = principalOf(request);
      const { project } = request.params;
      checkProjectName(project);
      if (what === "stack") return (await stackOf(parts, principal, request.params)).reference;
      return { account: principal.account, project };
    };

    fastify.get<InPlace>(
      path,
      {
        schema: routeSchema(
          `Show the hooks of a ${what}; their entity tag is what If-Match takes`,
          showName,
          { 200: HooksView },
          { params },
        ),
        config: { access: "operator" },
      },
      async (request, reply) => {
        const id = idOf(KIND, hooksPlace(await ownerOf(request)));
        const found = await readStored(storage, "strong", id);
        if (found === undefined) return { hooks: [] };
        reply.header("etag", etagOf(found.generation));
        return hooksViewOf(decodeRecord(KIND, found));
      },
    );

    fastify.put<InPlace & { Body: Static<typeof HookList> }>(
      path,
      {
        schema: routeSchema(
          `Set the commands that runs of a ${what} execute before and after a plan and an apply`,
          setName,
          { 200: HooksView },
          { params, body: HookList, headers: MatchHeader },
          {
            409: "the project is being deleted",
            412: "they changed since they were read",
            422: "a hook is not possible",
            428: "If-Match is missing, and there are hooks",
          },
        ),
        config: { access: "admin" },
      },
      async (request, reply) => {
        const { hooks } = request.body;
        requireDistinct(hooks.map(({ name }) => name));
        const stored = hooks.map(storedHookOf);
        const place = hooksPlace(await ownerOf(request));
        const { actor } = principalOf(request);
        const { message, generation } = await transact(parts.audited(request), async (tx) => {
          const row = await tx.findOrNew(KIND, place, () => RunHooks.create());
          if (row.resource !== undefined) requireMatch(request, row.resource.generation);
          const after = { hooks: stored, actor, updatedAtMs: BigInt(tx.nowMs) };
          const bytes = RunHooks.encode(RunHooks.fromPartial({ hooks: stored })).finish()
            .byteLength;
          if (bytes > MAX_BYTES) {
            throw new ServerError("unprocessable", "the hooks of a place are at most 256 KiB");
          }
          tx.update(row, after);
          return { message: row.message, generation: tx.generation };
        });
        reply.header("etag", etagOf(generation));
        return hooksViewOf(message);
      },
    );
  }
}

function requireDistinct(names: readonly string[]): void {
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice === undefined) return;
  throw new ServerError("unprocessable", `the hook "${twice}" is named twice`);
}
