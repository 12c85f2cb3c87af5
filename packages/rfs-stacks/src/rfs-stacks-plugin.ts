import { isSignatureHeader, type VerifiableRequest } from "@stackwright/request-signing";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { failureAnswer } from "./error-body.ts";
import { RfsStacksError } from "./errors.ts";
import type { Operation } from "./operations/operation.ts";
import { OPERATIONS } from "./operations/operations.ts";
import type {
  ContentTarget,
  RfsCaller,
  RfsOpenChange,
  RfsStacksPort,
} from "./port/rfs-stacks-port.ts";
import type { RfsTemplateFile } from "./port/stack-port.ts";
import { checkClientRequestId, checkProjectId } from "./request/names.ts";

interface RfsStacksOptions {
  readonly port: RfsStacksPort;
}

/** A template and variables, each character escaped. */
const BODY_LIMIT = 1024 * 1024;
/** Characters of a path that name what is changed. */
const MAX_TARGET = 256;
/** Where the content is that answers lead to. No project has this name: it has no hyphen before its end. */
const CONTENTS = "/template-contents/:signed";

/**
 * The stacks, execution plans and templates of the RFS API, to be registered under the prefix `/v1`. A body is read for requests that
 * carry a credential only, as a signature covers it; everything else is refused before. What is not a GET is a change that the port
 * notes with its caller. Every answer has `X-Request-Id`, and every
 * error is JSON with a code of the service.
 */
export async function rfsStacksPlugin(
  fastify: FastifyInstance,
  { port }: RfsStacksOptions,
): Promise<void> {
  const callers = new WeakMap<FastifyRequest, RfsCaller>();
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(
    "*",
    { parseAs: "buffer", bodyLimit: BODY_LIMIT },
    (_request, body, done) => done(null, body),
  );
  fastify.addHook("onRoute", (route) => {
    route.schema = { ...route.schema, hide: true } as object;
  });
  fastify.addHook("onRequest", async (request, reply) => {
    reply.headers({ "x-request-id": request.id, "cache-control": "no-store" });
  });
  fastify.setErrorHandler(async (error, request, reply) => {
    const { status, body, retryAfterMs } = failureAnswer(error, (given) => port.failureOf(given));
    const actor = callers.get(request)?.actor;
    if (status >= 500 && !(error instanceof RfsStacksError)) {
      request.log.error({ err: error, actor }, "a request failed");
    } else {
      request.log.info({ err: error, actor }, "a request was refused");
    }
    // What is left of a body is not worth reading.
    if (!request.raw.complete) reply.header("connection", "close");
    if (retryAfterMs !== undefined) {
      reply.header("retry-after", String(Math.ceil(retryAfterMs / 1_000)));
    }
    return reply.code(status).type("application/json").send(JSON.stringify(body));
  });

  for (const operation of OPERATIONS) operationRoute(fastify, { port, callers, operation });

  fastify.get<{ Params: { readonly signed: string } }>(CONTENTS, async (request, reply) => {
    const target = await port.readContentAddress(request.params.signed);
    if (target === undefined) {
      throw new RfsStacksError("RFS_FORBIDDEN", "the address is not valid, or has expired");
    }
    const file = await contentOf(port, target);
    if (file === undefined) throw new RfsStacksError("RFS_STACK_TEMPLATE_NOT_FOUND");
    return reply
      .headers({
        "content-disposition": `attachment; filename="${file.fileName}"`,
        "content-security-policy": "default-src 'none'; sandbox",
        "x-content-type-options": "nosniff",
      })
      .type("application/octet-stream")
      .send(Buffer.from(file.content));
  });
}

function operationRoute(
  fastify: FastifyInstance,
  {
    port,
    callers,
    operation,
  }: {
    readonly port: RfsStacksPort;
    readonly callers: WeakMap<FastifyRequest, RfsCaller>;
    readonly operation: Operation;
  },
): void {
  const changes = new WeakMap<FastifyRequest, RfsOpenChange>();
  const enter = async (request: FastifyRequest, body: Uint8Array | undefined): Promise<void> => {
    const aliases = operation.aliases?.(request.raw.url ?? request.url);
    const caller = await port.authenticate({ ...signableRequest(request, body), aliases });
    callers.set(request, caller);
    if (operation.method !== "GET") {
      const [path] = splitOnce(request.raw.url ?? "");
      const target = path.slice(`${fastify.prefix}/`.length, MAX_TARGET);
      const { id: requestId, ip: remoteAddress } = request;
      const action = operation.name;
      changes.set(request, port.change({ caller, action, target, requestId, remoteAddress }));
    }
    port.admit(caller);
    const { project_id: project = "", stack_name: stack } = paramsOf(request);
    if (operation.scope === "account") caller.requireAccount(operation.access);
    else if (operation.limitsStacks === true) {
      caller.requireSome(checkProjectId(project), operation.access);
    } else caller.require(checkProjectId(project), operation.access, stack);
    checkClientRequestId(request.headers["client-request-id"]);
  };
  fastify.route({
    method: operation.method,
    url: operation.scope === "account" ? operation.path : `/:project_id${operation.path}`,
    exposeHeadRoute: false,
    onRequest: async (request) => {
      // Such a body would not be read, and so not be compared with what was signed.
      if (request.method === "GET" && hasBody(request)) {
        throw new RfsStacksError("RFS_PARAMETER_UNKNOWN", "a GET request has no body");
      }
      const { authorization } = request.headers;
      if (authorization !== undefined && isSignatureHeader(authorization)) return;
      await enter(request, undefined);
    },
    preValidation: async (request) => {
      if (callers.has(request)) return;
      await enter(request, Buffer.isBuffer(request.body) ? request.body : undefined);
    },
    // Before the answer, so that the caller finds the entry.
    onSend: async (request, reply) => {
      await changes.get(request)?.ended(reply.statusCode);
    },
    handler: async (request, reply) => {
      const caller = callers.get(request);
      if (caller === undefined) throw new RfsStacksError("RFS_UNAUTHENTICATED");
      const params = paramsOf(request);
      const [, query = ""] = splitOnce(request.raw.url ?? "");
      const result = await operation.run({
        port: changes.get(request)?.port ?? port,
        caller,
        project: params["project_id"] ?? "",
        params,
        query,
        body: operation.hasBody ? parseBody(request.body) : undefined,
        signal: clientSignal(reply),
      });
      reply.code(operation.status);
      if (result === undefined) return reply.send();
      if ("body" in result) return reply.type("application/json").send(JSON.stringify(result.body));
      const place = `${fastify.prefix}${CONTENTS.replace(":signed", result.content)}`;
      return reply.header("location", `${request.protocol}://${request.host}${place}`).send();
    },
  });
}

async function contentOf(
  port: RfsStacksPort,
  target: ContentTarget,
): Promise<RfsTemplateFile | undefined> {
  switch (target.kind) {
    case "stack":
      return port.stacks.templateFile(target);
    case "template":
      return port.templates.templateFile(target);
    case "stack-set":
      return port.stackSets.templateFile(target);
    default:
      return target satisfies never;
  }
}

function paramsOf(request: FastifyRequest): Readonly<Record<string, string>> {
  return request.params as Readonly<Record<string, string>>;
}

/** A request as its sender signed it: the target as it was sent, every header, the bytes of the body. */
function signableRequest(
  { raw, method, url }: FastifyRequest,
  body: Uint8Array | undefined,
): VerifiableRequest {
  const headers: [string, string][] = [];
  for (let at = 0; at + 1 < raw.rawHeaders.length; at += 2) {
    headers.push([raw.rawHeaders[at] ?? "", raw.rawHeaders[at + 1] ?? ""]);
  }
  return { method, target: raw.url ?? url, headers, body: body ?? new Uint8Array() };
}

/** The JSON of a body; undefined for an empty one. */
function parseBody(body: unknown): unknown {
  if (!Buffer.isBuffer(body) || body.byteLength === 0) return undefined;
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body)) as unknown;
  } catch (error) {
    throw new RfsStacksError("RFS_BODY_INVALID", undefined, { cause: error });
  }
}

function clientSignal(reply: FastifyReply): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) gone.abort(new Error("the client has gone away"));
  });
  return gone.signal;
}

function hasBody({ headers }: FastifyRequest): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}

function splitOnce(text: string): [string, string?] {
  const at = text.indexOf("?");
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
