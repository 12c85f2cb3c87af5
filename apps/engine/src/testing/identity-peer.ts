import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Provider } from "oidc-provider";

/** What the identity provider of tests says of its user. */
interface PeerUser {
  readonly subject: string;
  readonly claims: Readonly<Record<string, unknown>>;
}

export const PEER_CLIENT = Object.freeze({ id: "stackwright", secret: "peer-secret-7ab1" });

/** The identity provider `oidc-provider` on a port of its own, which signs `user` in without asking. */
export async function startIdentityPeer(redirects: readonly string[], user: () => PeerUser) {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: PEER_CLIENT.id,
        client_secret: PEER_CLIENT.secret,
        redirect_uris: [...redirects],
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
    ],
    pkce: { required: () => true },
    cookies: { keys: ["peer"] },
    claims: {
      openid: ["sub"],
      profile: ["preferred_username", "name", "groups"],
      email: ["email", "email_verified"],
    },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    findAccount: (_context, id) => ({
      accountId: id,
      claims: () => ({ sub: id, ...user().claims }),
    }),
    loadExistingGrant: async (context) => {
      const grant = new provider.Grant({
        clientId: PEER_CLIENT.id,
        accountId: context.oidc.session?.accountId ?? "",
      });
      grant.addOIDCScope("openid profile email");
      await grant.save();
      return grant;
    },
  });
  const answer = provider.callback();
  server.on("request", (request, response) => {
    const isSignIn = request.url?.startsWith("/interaction/") === true;
    const login = { accountId: user().subject };
    if (isSignIn) void provider.interactionFinished(request, response, { login });
    else void answer(request, response);
  });
  return {
    issuer,
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}
