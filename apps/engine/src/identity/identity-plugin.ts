import type { FastifyInstance, FastifyReply } from "fastify";
import type { IdentityIssuer } from "./identity-issuer.ts";

/** How long a verifier may keep what is published: far shorter than a key is published before it signs. */
const KEPT = "public, max-age=300";

/** The server as an issuer of tokens of runs, at the root of a server: what verifiers read, without any credential. */
export async function identityPlugin(
  fastify: FastifyInstance,
  { issuer }: { readonly issuer: IdentityIssuer },
): Promise<void> {
  const hidden = { schema: { hide: true } } as object;
  const send = (reply: FastifyReply, body: object): FastifyReply =>
    reply.header("cache-control", KEPT).type("application/json").send(JSON.stringify(body));

  fastify.get("/.well-known/openid-configuration", hidden, async (_request, reply) =>
    send(reply, issuer.document()),
  );
  fastify.get("/.well-known/jwks", hidden, async (_request, reply) =>
    send(reply, { keys: await issuer.publishedKeys() }),
  );
}
