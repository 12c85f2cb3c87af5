import type { FastifyInstance } from "fastify";
import type { TransactionParts } from "../queue/transaction.ts";
import { WorkspaceDirectory } from "./workspace-directory.ts";

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

  fastify.get<OfRun>("/:organization/:workspace/runs/:run", hidden, async (request, reply) => {
    const { organization, run } = request.params;
    const [, stack, id] = RUN.exec(run) ?? [];
    const found = stack === undefined ? undefined : await directory.get(organization, stack);
    if (found === undefined || id === undefined) return reply.redirect(CONSOLE, 302);
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
