import { readHelp, type SiteFile } from "@stackwright/console";
import type { FastifyInstance } from "fastify";
import { sitePlugin } from "./site-plugin.ts";

/** The documentation below `/help/`. */
export function helpPlugin(
  fastify: FastifyInstance,
  read: () => Promise<ReadonlyMap<string, SiteFile>> = readHelp,
): void {
  sitePlugin(fastify, {
    prefix: "/help/",
    name: "the documentation",
    read,
    fallback: (path) => (path === "" ? "index.html" : undefined),
  });
}
