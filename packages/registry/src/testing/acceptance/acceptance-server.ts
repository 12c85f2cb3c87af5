import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { freePorts } from "@stackwright/base/free-ports";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import { createMemoryStorage } from "@stackwright/storage/memory";
import fastify, { type FastifyInstance } from "fastify";
import { publishPlugin } from "../../terraform/publish-plugin.ts";
import { terraformPlugin } from "../../terraform/terraform-plugin.ts";
import { createRegistryFixture, type RegistryFixture, TEST_REGION } from "../registry-fixture.ts";

/** A request that reached the server. */
interface SeenRequest {
  /** Such as `GET discovery`: what was asked for, without tokens and names. */
  readonly what: string;
  readonly path: string;
  readonly bearer: boolean;
  readonly status: number;
}

/** The registry over TLS on loopback, as the command sees it, with everything it asked. */
export interface AcceptanceServer extends AsyncDisposable {
  readonly port: number;
  /** Port of the same server over plain HTTP. */
  readonly plainPort: number;
  readonly ca: string;
  readonly fixture: RegistryFixture;
  readonly seen: SeenRequest[];
  /** What was asked since the last call. */
  take(): SeenRequest[];
  /** Changes what the server says, for cases in which it does wrong; `undefined` for none. */
  tamper: ((what: string, payload: Buffer) => string | Buffer | undefined) | undefined;
  /** Content type in place of the right one. */
  contentType: ((what: string) => string | undefined) | undefined;
  publish(at: string, archive: Buffer, protocols?: string, account?: string): Promise<number>;
  /** What the server answers to nobody in particular. */
  get(path: string): Promise<unknown>;
  /** A file at `/fixture/<name>`. */
  readonly files: Map<string, Buffer>;
}

export async function startAcceptanceServer(): Promise<AcceptanceServer> {
  const stack = new AsyncDisposableStack();
  const storage = stack.use(createMemoryStorage());
  const fixture = stack.use(await createRegistryFixture(storage));
  const identity = createSelfSignedIdentity({ name: "localhost" });
  const seen: SeenRequest[] = [];
  const files = new Map<string, Buffer>();

  const open = async (app: FastifyInstance, mirrorPort: () => number): Promise<number> => {
    app.addHook("onSend", async (request, reply, payload) => {
      const what = kindOf(request.url);
      const type = state.contentType?.(what);
      if (type !== undefined) reply.type(type);
      if (!(typeof payload === "string" || Buffer.isBuffer(payload))) return payload;
      const changed = state.tamper?.(what, Buffer.from(payload));
      if (changed === undefined) return payload;
      reply.header("content-length", Buffer.byteLength(changed));
      return changed;
    });
    app.addHook("onResponse", async (request, reply) => {
      seen.push({
        what: `${request.method} ${kindOf(request.url)}`,
        path: request.url,
        bearer: request.headers.authorization?.startsWith("Bearer ") ?? false,
        status: reply.statusCode,
      });
    });
    const { registry, authenticator } = fixture;
    const common = { registry, authenticator, region: TEST_REGION };
    await app.register(terraformPlugin, {
      ...common,
      mirrorHosts: ["example.test", `localhost:${mirrorPort()}`],
    });
    await app.register(publishPlugin, { ...common, prefix: "/api/v1/registry" });
    app.get<{ Params: { name: string } }>("/fixture/:name", async (request, reply) =>
      reply.type("application/zip").send(files.get(request.params.name) ?? Buffer.alloc(0)),
    );
    await app.listen({ host: "127.0.0.1", port: mirrorPort() });
    stack.defer(() => app.close());
    return (app.server.address() as AddressInfo).port;
  };

  const common = {
    genReqId: () => randomUUID(),
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 1024 },
  } as const;
  const tls = { key: String(identity.privateKey), cert: String(identity.certificate) };
  const [port = 0, plainPort = 0] = await freePorts(2);
  const state: AcceptanceServer = {
    port,
    plainPort: 0,
    ca: String(identity.certificate),
    fixture,
    seen,
    files,
    tamper: undefined,
    contentType: undefined,
    take: () => seen.splice(0),
    async publish(at, archive, protocols = "5.0", account = "acme") {
      const answer = await secure.inject({
        method: "PUT",
        url: `/api/v1/registry/providers/${at}?protocols=${protocols}`,
        headers: {
          ...(await fixture.authorization(account, "admin")),
          "content-type": "application/zip",
        },
        payload: archive,
      });
      return answer.statusCode;
    },
    async get(path) {
      return (await secure.inject({ method: "GET", url: path })).json();
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
  const secure = fastify({ ...common, https: tls }) as unknown as FastifyInstance;
  await open(secure, () => port);
  await open(fastify(common), () => plainPort);
  return Object.assign(state, { plainPort });
}

function kindOf(url: string): string {
  const [path = ""] = url.split("?");
  if (path === "/.well-known/terraform.json") return "discovery";
  if (path.endsWith("/versions")) return "versions";
  if (path.includes("/download/")) return "download";
  if (path.endsWith("_SHA256SUMS")) return "checksums";
  if (path.endsWith(".sig")) return "signature";
  if (path.endsWith("/index.json")) return "index";
  if (path.endsWith(".json")) return "version";
  if (path.endsWith(".zip")) return "archive";
  return path;
}
