import { isStorageError, readStored } from "@stackwright/storage";
import type { FastifyInstance } from "fastify";
import { RUN_KIND, runPlace } from "../domain/run-places.ts";
import { idOf, type TransactionParts } from "../queue/transaction.ts";
import { type StoredWorkspace, WorkspaceDirectory } from "../workspace/workspace-directory.ts";

const CONSOLE = "/console/";
/** `run-STACK-RUN`, of which both are random. */
const RUN = /^run-([0-9A-Za-z]{26})-([0-9A-Za-z]{26})$/;

type OfRun = { Params: { readonly organization: string; readonly run: string } };

/**
 * The addresses of pages that commands print, `/app/...`: they lead to the console. A browser sends no token with them, so that they tell
 * nothing: the project of a run is found by its id alone, which nothing but the run itself shows.
 */
export function appPages(fastify: FastifyInstance, parts: TransactionParts): void {
  const directory = new WorkspaceDirectory(parts);
  const hidden = { schema: { hide: true } };

  const workspaceOf = async (
    organization: string,
    stack: string,
    run: string,
  ): Promise<StoredWorkspace | undefined> => {
    try {
      const found = await directory.get(organization, stack);
      if (found === undefined) return undefined;
      const place = runPlace({ stack: found.stack.reference, run });
      const known = await readStored(parts.storage, "strong", idOf(RUN_KIND, place));
      return known && found;
    } catch (error) {
      // What can be the name of no account is none.
      if (isStorageError(error, "STORAGE_INVALID_ARGUMENT")) return undefined;
      throw error;
    }
  };

  fastify.get<OfRun>("/:organization/:workspace/runs/:run", hidden, async (request, reply) => {
    const { organization, run } = request.params;
    const [, stack, id] = RUN.exec(run) ?? [];
    if (stack === undefined || id === undefined) return reply.redirect(CONSOLE, 302);
    const found = await workspaceOf(organization, stack, id);
    if (found === undefined) return reply.redirect(CONSOLE, 302);
    const { project, stackName } = found.record;
    const names = [project, stackName, id].map(encodeURIComponent);
    return reply.redirect(`${CONSOLE}p/${names[0]}/s/${names[1]}/r/${names[2]}`, 302);
  });
  // Where `terraform login` sends users of servers whose login it does not know.
  fastify.get("/settings/tokens", hidden, async (_request, reply) =>
    reply.redirect(`${CONSOLE}access`, 302),
  );
  fastify.get("/:organization/workspaces", hidden, async (_request, reply) =>
    reply.redirect(`${CONSOLE}projects`, 302),
  );
  for (const path of ["/", "/:organization", "/:organization/*"]) {
    fastify.get(path, hidden, async (_request, reply) => reply.redirect(CONSOLE, 302));
  }
}
