import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

/** Members of a request for a hook, as both kinds of Git servers have them. */
interface AskedHook {
  readonly name?: string;
  readonly type?: string;
  readonly active: boolean;
  readonly events: readonly string[];
  readonly config: { readonly url: string; readonly content_type: string; readonly secret: string };
}

/** What one of the Git servers was asked for: with which token, and which hook. */
interface MadeHook {
  readonly authorization: string | undefined;
  readonly asked: AskedHook;
}

/** Where the API of a kind begins, and the headers of its deliveries. */
const KINDS = {
  gitea: { base: "/gitea/api/v1", event: "x-gitea-event", signature: "x-gitea-signature" },
  github: { base: "/github", event: "x-github-event", signature: "x-hub-signature-256" },
} as const;
type Kind = keyof typeof KINDS;

/**
 * The part of the APIs of Gitea and GitHub that makes hooks of `acme/infra`, tries them, and lists their deliveries, as both document it. It signs a
 * delivery with the secret that it was given, and sends it to the address that it was given.
 */
export async function startHookMaker() {
  const hooks = new Map<Kind, MadeHook>();
  const deliveries: { readonly kind: Kind; readonly status: number; readonly answer: string }[] =
    [];

  const deliver = async (kind: Kind, event: string): Promise<void> => {
    const { asked } = hooks.get(kind) ?? fail(`no hook of ${kind} was made`);
    const { url, secret } = asked.config;
    const body = JSON.stringify({
      ref: "refs/heads/main",
      repository: { full_name: "acme/infra" },
      sent: deliveries.length,
    });
    const hex = createHmac("sha256", secret).update(body).digest("hex");
    const answer = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        [KINDS[kind].event]: event,
        [KINDS[kind].signature]: kind === "github" ? `sha256=${hex}` : hex,
      },
      body,
    });
    deliveries.push({ kind, status: answer.status, answer: await answer.text() });
  };

  const answer = async (
    request: IncomingMessage,
  ): Promise<readonly [status: number, body?: object]> => {
    const body = await text(request);
    const { url = "", method = "", headers } = request;
    const called = (Object.keys(KINDS) as Kind[]).find((one) => url.startsWith(KINDS[one].base));
    if (called === undefined) return [404, { message: "Not Found" }];
    const path = url.slice(KINDS[called].base.length);
    if (method === "POST" && path === "/repos/acme/infra/hooks") {
      const asked = JSON.parse(body) as AskedHook;
      const { secret: _, ...config } = asked.config;
      hooks.set(called, { authorization: headers.authorization, asked });
      if (called === "github") await deliver(called, "ping");
      return [201, { id: 7, ...asked, config }];
    }
    if (method === "POST" && called === "gitea" && path === "/repos/acme/infra/hooks/7/tests") {
      await deliver(called, "push");
      return [204];
    }
    if (
      method === "GET" &&
      called === "github" &&
      path === "/repos/acme/infra/hooks/7/deliveries"
    ) {
      const sent = deliveries.filter(({ kind }) => kind === called);
      return [200, sent.map(({ status }, at) => ({ id: at, event: "ping", status_code: status }))];
    }
    // What the server asks of the repository by itself.
    return [404, { message: "Not Found" }];
  };
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const [status, body] = await answer(request);
    response.writeHead(status, { "content-type": "application/json" });
    response.end(body === undefined ? undefined : JSON.stringify(body));
  };
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, hooks, deliveries, deliver };
}

function fail(message: string): never {
  throw new Error(message);
}
