import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { FastifyInstance } from "fastify";
import { onTestFinished } from "vitest";

/** A route as a running server has it, such as `GET` and `/state/v1/:account/:project/:stack`. */
export interface NotedRoute {
  readonly method: string;
  readonly url: string;
}

/** The routes of all servers that this test starts from now on, those among them that no document has. */
export function noteRoutes(): readonly NotedRoute[] {
  const routes: NotedRoute[] = [];
  // Before the first plug-in of an instance: it would miss the routes of those that came before it.
  const begin = (message: unknown): void => {
    const { fastify } = message as { readonly fastify: FastifyInstance };
    fastify.addHook("onRoute", ({ method, url }) => {
      for (const each of [method].flat()) routes.push({ method: each, url });
    });
  };
  subscribe("fastify.initialization", begin);
  onTestFinished(() => void unsubscribe("fastify.initialization", begin));
  return routes;
}
