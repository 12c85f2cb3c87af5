import { TfpluginError } from "../errors.ts";

/** The function `fetch`, or one that works like it. */
export type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

export interface HttpClientOptions {
  /** For private authorities, proxies and tests. @default that of Node */
  readonly fetch?: Fetch;
  /** Bearer tokens by host; see `hostKey`. */
  readonly tokens?: ReadonlyMap<string, string>;
  /** How often a request is repeated after a lost connection or a status of 500 and above. @default 2 */
  readonly retries?: number;
  /** Before the first repetition, in milliseconds; doubles each time. @default 500 */
  readonly retryDelayMs?: number;
  /** Until the head of a response, and between two parts of it, in milliseconds. @default 30_000 */
  readonly idleMs?: number;
}

interface GetOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends the token that is known for the host of the URL, or for a host by its `hostKey`. */
  readonly authorize?: boolean | string;
  /** The error for a document that is offered no longer (410), with the reason that the server gives. @default that of other statuses */
  readonly gone?: (reason: string | undefined) => TfpluginError;
  readonly signal: AbortSignal | undefined;
}

/** Codes of certificates whose authority is not known, of Node and of OpenSSL. */
const UNTRUSTED = /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_.*)$/;
/** Documents of registries and mirrors are far smaller. */
const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024;
/** What is longer is no message. */
const MAX_REFUSAL_BYTES = 8 * 1024;

/**
 * HTTP as registries and mirrors need it: repeated requests, bounded documents, tokens for one host only.
 *
 * Errors: `TFPLUGIN_REGISTRY_UNAVAILABLE` (no connection, or a status of 500 and above, after all repetitions),
 * `TFPLUGIN_REGISTRY_UNAUTHORIZED` (401, 403), `TFPLUGIN_REGISTRY_INVALID` (anything else that is not asked for).
 */
export class InstallHttpClient {
  readonly #options: Required<HttpClientOptions>;

  constructor(options: HttpClientOptions = {}) {
    this.#options = {
      fetch: options.fetch ?? ((url, init) => fetch(url, init)),
      tokens: options.tokens ?? new Map(),
      retries: options.retries ?? 2,
      retryDelayMs: options.retryDelayMs ?? 500,
      idleMs: options.idleMs ?? 30_000,
    };
  }

  /** The final response, with any status below 500. Its body has to be read, or cancelled. */
  async get(url: URL, options: GetOptions): Promise<Response> {
    const { retries, retryDelayMs } = this.#options;
    for (let attempt = 0; ; attempt += 1) {
      let failure: TfpluginError;
      try {
        const response = await this.#once(url, options);
        if (response.status < 500) return response;
        await response.body?.cancel();
        failure = unavailable(url, `status ${response.status}`);
      } catch (error) {
        options.signal?.throwIfAborted();
        if (error instanceof TfpluginError) throw error;
        failure = unavailable(url, reasonOf(error), error);
      }
      if (attempt >= retries) throw failure;
      await pause(retryDelayMs * 2 ** attempt, options.signal);
    }
  }

  /** The JSON object at a URL; undefined for 404. */
  async json(
    url: URL,
    options: GetOptions,
  ): Promise<Readonly<Record<string, unknown>> | undefined> {
    const response = await this.get(url, options);
    if (response.status === 404) {
      await response.body?.cancel();
      return undefined;
    }
    if (response.status === 410 && options.gone !== undefined) {
      throw options.gone(await this.refusal(response));
    }
    await requireOk(url, response, options.authorize);
    const type = response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase();
    if (type !== "application/json") {
      await response.body?.cancel();
      throw invalidResponse(
        url,
        `content type ${JSON.stringify(type ?? "")} is not application/json`,
      );
    }
    const text = new TextDecoder().decode(await this.#read(url, response));
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch (cause) {
      throw invalidResponse(url, "it is not valid JSON", cause);
    }
    if (!isRecord(parsed)) throw invalidResponse(url, "it is not a JSON object");
    return parsed;
  }

  /** The bytes at a URL. */
  async bytes(url: URL, options: GetOptions): Promise<Uint8Array> {
    const response = await this.get(url, options);
    await requireOk(url, response);
    return this.#read(url, response);
  }

  /** What a server says in the member `errors` of an answer; undefined where it says nothing, or more than a message. */
  async refusal(response: Response): Promise<string | undefined> {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const part of this.parts(response)) {
        bytes += part.length;
        if (bytes > MAX_REFUSAL_BYTES) return undefined;
        parts.push(part);
      }
      const { errors } = JSON.parse(Buffer.concat(parts).toString("utf8")) as { errors?: unknown };
      const [first]: unknown[] = Array.isArray(errors) ? errors : [];
      return typeof first === "string" && first !== "" ? first.replace(/\.$/, "") : undefined;
    } catch {
      // The answer is a refusal with any content.
      return undefined;
    }
  }

  /** The parts of a body. One that stops coming is an error. */
  async *parts(response: Response): AsyncGenerator<Uint8Array, void, undefined> {
    if (response.body === null) return;
    const reader = response.body.getReader();
    try {
      for (;;) {
        const { done, value } = await this.#soon(reader.read());
        if (done) return;
        yield value;
      }
    } finally {
      await reader.cancel().catch(() => undefined);
    }
  }

  async #read(url: URL, response: Response): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const part of this.parts(response)) {
        bytes += part.length;
        if (bytes > MAX_DOCUMENT_BYTES) throw invalidResponse(url, "it is too large");
        parts.push(part);
      }
    } catch (error) {
      if (error instanceof TfpluginError) throw error;
      throw unavailable(url, reasonOf(error), error);
    }
    return Buffer.concat(parts);
  }

  async #once(url: URL, { headers, authorize = false, signal }: GetOptions): Promise<Response> {
    const { fetch: get, tokens, idleMs } = this.#options;
    const owner = authorize === true ? url.host : authorize;
    const token = owner === false ? undefined : tokens.get(owner);
    // Only the head is waited for here: the limit must not end the body.
    const late = new AbortController();
    const reason = new Error(`nothing came for ${idleMs} ms`);
    const timer = setTimeout(() => late.abort(reason), idleMs);
    try {
      const response = await get(url, {
        headers: { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) },
        signal: signal === undefined ? late.signal : AbortSignal.any([late.signal, signal]),
      });
      if (token !== undefined || new Headers(headers).has("authorization"))
        SENT_TOKEN.add(response);
      if (url.protocol === "https:" && response.url !== "" && !response.url.startsWith("https:")) {
        await response.body?.cancel();
        throw invalidResponse(url, "it leads from https to something else");
      }
      return response;
    } finally {
      clearTimeout(timer);
    }
  }

  async #soon<T>(promise: Promise<T>): Promise<T> {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const { idleMs } = this.#options;
    const timer = setTimeout(() => reject(new Error(`nothing came for ${idleMs} ms`)), idleMs);
    try {
      return await Promise.race([promise, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Responses to requests that had a token. */
const SENT_TOKEN = new WeakSet<Response>();

/**
 * Rejects where the response is not a good one.
 *
 * @param owner the host whose credentials count, where that is not the one of the URL: services can be elsewhere
 */
export async function requireOk(
  url: URL,
  response: Response,
  owner: boolean | string = false,
): Promise<void> {
  if (response.ok) return;
  await response.body?.cancel();
  const { status } = response;
  if (status === 401 || status === 403) {
    const host = typeof owner === "string" ? owner : url.host;
    const text = SENT_TOKEN.has(response)
      ? `${host} rejected the credentials that were given for it (status ${status})`
      : `${host} wants credentials, and none are known for it (status ${status}); the command login, a block "credentials" of the CLI configuration or a variable TF_TOKEN_... give some`;
    throw new TfpluginError("TFPLUGIN_REGISTRY_UNAUTHORIZED", text);
  }
  throw invalidResponse(url, `status ${status}`);
}

export function invalidResponse(url: URL, why: string, cause?: unknown): TfpluginError {
  const text = `the response of ${withoutQuery(url)} cannot be used: ${why}`;
  return new TfpluginError("TFPLUGIN_REGISTRY_INVALID", text, { cause });
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A URL for messages: queries carry signatures. */
export function withoutQuery({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

function unavailable(url: URL, why: string, cause?: unknown): TfpluginError {
  const text = `${withoutQuery(url)} could not be downloaded: ${why}`;
  return new TfpluginError("TFPLUGIN_REGISTRY_UNAVAILABLE", text, { cause });
}

/** `fetch` says only "fetch failed"; its cause says why. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  // What OpenSSL and Node say of these names none of what the user can do.
  const { code = "" } = cause as NodeJS.ErrnoException;
  if (code === "ERR_SSL_WRONG_VERSION_NUMBER") return "what listens there answers without TLS";
  return UNTRUSTED.test(code)
    ? `its certificate is not trusted here (${code}); SSL_CERT_FILE names a file with that of its authority`
    : cause.message;
}

async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  const abort = (): void => reject(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}
