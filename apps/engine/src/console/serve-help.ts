import fastify from "fastify";
import { helpPlugin } from "./help-plugin.ts";

/** The documentation alone, for this machine. */
interface HelpServer extends AsyncDisposable {
  /** Address of the first page. */
  readonly url: string;
}

/** Serves the documentation on a port of the loopback address; 0 takes any that is free. */
export async function serveHelp(port: number): Promise<HelpServer> {
  const app = fastify({ forceCloseConnections: true });
  helpPlugin(app);
  app.get("/", async (_request, reply) => reply.redirect("/help/", 302));
  const address = await app.listen({ host: "127.0.0.1", port });
  return { url: `${address}/help/`, [Symbol.asyncDispose]: async () => app.close() };
}
