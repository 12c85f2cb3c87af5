import type { Principal } from "@stackwright/registry";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Type } from "typebox";
import { SERVER_ERRORS, ServerError } from "../../domain/server-error.ts";
import type { TransactionParts } from "../../queue/transaction.ts";
import {
  credentialDigest,
  keyedDigest,
  keyOfRequest,
  MAX_KEY_CHARACTERS,
  plainDigest,
  recordPlace,
  rightsDigest,
} from "./idempotency-key.ts";
import { type KeptAnswer, RequestOnce } from "./request-once.ts";
import { takesKeys } from "./routes-without-keys.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * How a POST has its effect once for each `Idempotency-Key`.
     *
     *   with-change      the record is in the first batch of `audited` parts, and gets the answer afterwards. Without a batch there is
     *                    neither a record nor an effect that a repeat would double
     *   answered         the same, and the handler says the answer before the change: it has no secrets, and is never lost
     *   begun-first      the record is stored before the handler runs, as its effect is in no batch of these
     *
     * @default with-change
     */
    readonly once?: "with-change" | "answered" | "begun-first";
  }
}

/** The secrets of the servers of a store with which records are made. */
export interface IdempotencyKeys {
  readonly digestKey: () => Promise<Uint8Array>;
  readonly answerKey: () => Promise<Uint8Array>;
}

interface AnswerKeeperOptions extends TransactionParts {
  readonly idempotencyKeys: IdempotencyKeys;
  /** Who asks; undefined for a caller whose requests take no key. */
  readonly principalOf: (request: FastifyRequest) => Principal | undefined;
  /** Notes that an answer is repeated which may have a secret. */
  readonly noteRepeat: (request: FastifyRequest, principal: Principal) => Promise<void>;
  /** What all routes are that do not say it. @default with-change */
  readonly once?: "begun-first";
  /** Answers with an error, where the errors of the API have another form. @default it is thrown */
  readonly refuse?: (reply: FastifyReply, error: ServerError) => FastifyReply;
}

const Header = Type.Object({
  "idempotency-key": Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_KEY_CHARACTERS,
      description: "the request has its effect once; repeats are answered as the first one was",
    }),
  ),
});

/** Keeps the answers to requests with an idempotency key, and repeats them: the hooks of a face of the server. */
export class AnswerKeeper {
  readonly #options: AnswerKeeperOptions;
  readonly #open = new WeakMap<FastifyRequest, RequestOnce>();
  readonly #repeated = new WeakSet<FastifyRequest>();

  constructor(options: AnswerKeeperOptions) {
    this.#options = options;
  }

  /** To be called before the routes are added; hooks that were added before these run before them. */
  addTo(fastify: FastifyInstance): void {
    fastify.addHook("onRoute", (route) => {
      const { operationId } = (route.schema ?? {}) as { readonly operationId?: string };
      if (!takesKeys(String(route.method), route.url, operationId)) return;
      const { response = {} } = (route.schema ?? {}) as { readonly response?: object };
      const refusals = operationId === undefined ? {} : refusalsBeside(response);
      route.schema = { ...route.schema, headers: Header, response: { ...response, ...refusals } };
    });
    fastify.addHook("preHandler", async (request, reply) => {
      let answer: KeptAnswer | undefined;
      try {
        answer = await this.#begin(request);
        if (answer !== undefined) await this.#noteSecret(request, answer);
      } catch (error) {
        const { refuse } = this.#options;
        if (refuse === undefined || !(error instanceof ServerError)) throw error;
        return refuse(reply, error);
      }
      return answer === undefined ? undefined : this.repeat(request, reply, answer);
    });
    fastify.addHook("onSend", async (request, reply, payload) =>
      this.#end(request, reply, payload),
    );
  }

  /** What the first batch of a request has for it. */
  companionOf(request: FastifyRequest): RequestOnce | undefined {
    return this.#open.get(request);
  }

  /** Whether a former answer is repeated: nothing is done. */
  isRepeat(request: FastifyRequest): boolean {
    return this.#repeated.has(request);
  }

  /** What another request with the key was answered that was faster, where this one changed nothing and was refused for it. */
  async findFaster(request: FastifyRequest): Promise<KeptAnswer | undefined> {
    const once = this.#open.get(request);
    const answer = once?.isNew === true ? await once.find() : undefined;
    if (answer !== undefined) await this.#noteSecret(request, answer);
    return answer;
  }

  repeat(request: FastifyRequest, reply: FastifyReply, answer: KeptAnswer): FastifyReply {
    this.#open.delete(request);
    this.#repeated.add(request);
    setHead(reply, answer);
    reply.serializer((text) => text as string);
    return reply.send(answer.status === 204 ? undefined : answer.body);
  }

  /** To be called before the answer is sent, so that who has it finds the entry. */
  async #noteSecret(request: FastifyRequest, { isSecret = false }: KeptAnswer): Promise<void> {
    const principal = this.#options.principalOf(request);
    if (isSecret && principal !== undefined) await this.#options.noteRepeat(request, principal);
  }

  async #begin(request: FastifyRequest): Promise<KeptAnswer | undefined> {
    const { schema, config, url = "" } = request.routeOptions;
    const { operationId } = (schema ?? {}) as { readonly operationId?: string };
    if (!takesKeys(request.method, url, operationId)) return undefined;
    const key = keyOfRequest(request);
    const principal = key === undefined ? undefined : this.#options.principalOf(request);
    if (key === undefined || principal === undefined) return undefined;
    const { digestKey, answerKey } = this.#options.idempotencyKeys;
    const kind = config.once ?? this.#options.once;
    const digest =
      kind === "answered" ? plainDigest(request) : keyedDigest(request, await digestKey());
    const once = new RequestOnce(this.#options, {
      place: recordPlace(principal, key),
      key,
      digest,
      credential: credentialDigest(principal),
      rights: rightsDigest(principal),
      answerKey,
    });
    const known = await once.find();
    if (known !== undefined) return known;
    if (kind === "begun-first") await once.begin();
    this.#open.set(request, once);
    return undefined;
  }

  async #end(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
    const once = this.#open.get(request);
    if (once === undefined) return payload;
    this.#open.delete(request);
    const { statusCode: status } = reply;
    try {
      if (status >= 400) {
        await once.fail(status < 500);
        return payload;
      }
      const faster = await once.complete(answerOf(reply, payload));
      if (faster === undefined) return payload;
      await this.#noteSecret(request, faster);
      setHead(reply, faster);
      return faster.body;
    } catch (error) {
      // What was done is done: the caller gets its answer, and only a repeat does not.
      request.log.warn({ err: error }, "the answer to a request with a key was not kept");
      return payload;
    }
  }
}

const JSON_TYPE = "application/json; charset=utf-8";

function setHead(reply: FastifyReply, answer: KeptAnswer): void {
  const { status, location = "", etag = "", contentType = "" } = answer;
  // It may have a secret.
  reply.code(status).headers({ "idempotency-replayed": "true", "cache-control": "no-store" });
  if (location !== "") reply.header("location", location);
  if (etag !== "") reply.header("etag", etag);
  if (status !== 204) reply.type(contentType === "" ? JSON_TYPE : contentType);
}

function answerOf(reply: FastifyReply, payload: unknown): KeptAnswer {
  const header = (name: string): string => String(reply.getHeader(name) ?? "");
  const isEmpty = payload === undefined || payload === null;
  return {
    status: reply.statusCode,
    body: isEmpty ? "" : typeof payload === "string" ? payload : undefined,
    location: header("location"),
    etag: header("etag"),
    contentType: header("content-type"),
  };
}

/** The refusals of keys, in the form of the other problems that a route describes. */
function refusalsBeside(response: object): object {
  const known = response as Readonly<Record<string, { readonly content?: object } | undefined>>;
  const { content } = known["400"] ?? {};
  const described = (status: number, description: string) =>
    known[status] === undefined && content !== undefined
      ? { [status]: { description, content } }
      : {};
  return {
    ...described(409, SERVER_ERRORS.in_progress.summary),
    ...described(422, SERVER_ERRORS.idempotency_mismatch.summary),
  };
}
