import { readConsole, type SiteFile } from "@stackwright/console";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { answerError } from "../error-answer.ts";
import { sitePlugin } from "./site-plugin.ts";

const PREFIX = "/console/";

/** The console below `/console/`, and a redirect to it for browsers that open the address of the server. */
export function consolePlugin(
  fastify: FastifyInstance,
  read: () => Promise<ReadonlyMap<string, SiteFile>> = readConsole,
): void {
  fastify.get("/", { schema: { hide: true } }, async (request, reply) => {
    // Programs that look for an API here are not led to a page.
    if (!wantsPage(request)) return answerError(request, reply, { statusCode: 404 });
    return reply.redirect(PREFIX, 302);
  });
  sitePlugin(fastify, {
    prefix: PREFIX,
    name: "the console",
    read,
    // Addresses of pages are made by the page itself.
    fallback: (path) => (path.startsWith("assets/") ? undefined : "index.html"),
  });
}

function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes("text/html") === true;
}
