import { randomUUID } from "node:crypto";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest, type RequestOptions } from "node:https";
import { type Clock, sleep } from "@stackwright/base/clock";
import { type SigningCredentials, signRequest } from "@stackwright/request-signing";
import { RegistryError } from "../errors.ts";

/** Where a registry is, and who asks it. */
interface ExchangeOptions {
  /** Origin of the registry: `https`, or `http` to this machine. */
  readonly url: string;
  readonly key: SigningCredentials;
  /** Authorities of its certificate, in PEM. @default those of the system */
  readonly ca?: string | undefined;
  /** Longest time of one attempt, in milliseconds. @default 10_000 */
  readonly attemptMs?: number | undefined;
  /** Longest time of a call with all its attempts, in milliseconds. @default 30_000 */
  readonly deadlineMs?: number | undefined;
  readonly clock: Clock;
}

export interface ExchangeRequest {
  readonly method: "GET" | "PUT" | "DELETE";
  /** Path and query. */
  readonly target: string;
  readonly body?: object | undefined;
}

export interface ExchangeReply {
  readonly status: number;
  /** What the answer holds; undefined where it holds no JSON. */
  readonly body: unknown;
  /** By how much the clock of the registry is ahead of ours; undefined where it does not say. */
  readonly aheadMs: number | undefined;
}

interface Failed {
  readonly error: RegistryError;
  readonly retryAfterMs?: number;
}

const MAX_BYTES = 1024 * 1024;
const FIRST_PAUSE_MS = 200;
/** What a registry says when it may answer the next time. */
const PASSING: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

/**
 * Sends signed requests to one registry. Attempts that find the registry unreachable or overloaded are repeated until
 * the deadline, each with a new signature. All requests may be repeated: they read, or set a final state.
 */
export class SignedExchange {
  readonly origin: string;
  readonly #options: ExchangeOptions;

  /** Throws `REGISTRY_INVALID_FIELD` for what is no address of a registry. */
  constructor(options: ExchangeOptions) {
    const url = URL.parse(options.url);
    const secure = url?.protocol === "https:";
    const near = url?.protocol === "http:" && LOOPBACK.has(url.hostname);
    const bare = url !== null && /^\/?$/.test(url.pathname) && url.search === "" && !url.username;
    if (!bare || !(secure || near)) {
      throw new RegistryError(
        "REGISTRY_INVALID_FIELD",
        "the address of a registry is https://HOST[:PORT], or http:// on this machine",
        { details: { field: "url", problem: "pattern" } },
      );
    }
    this.origin = url.origin;
    this.#options = options;
  }

  /** Rejects with `REGISTRY_UNREACHABLE`, `REGISTRY_RATE_LIMITED`, `REGISTRY_ANSWER_INVALID`; the reason of the signal. */
  async send(request: ExchangeRequest, signal?: AbortSignal): Promise<ExchangeReply> {
    const { clock, attemptMs = 10_000, deadlineMs = 30_000 } = this.#options;
    const deadline = clock.monotonicMs() + deadlineMs;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
      const leftMs = deadline - clock.monotonicMs();
      const found = await this.#attempt(request, Math.min(attemptMs, leftMs), signal);
      if (!("error" in found)) return found;
      const waitMs = found.retryAfterMs ?? pauseMs;
      if (clock.monotonicMs() + waitMs >= deadline) throw found.error;
      await sleep(clock, waitMs, signal);
    }
  }

  async #attempt(
    request: ExchangeRequest,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<ExchangeReply | Failed> {
    const timeout = AbortSignal.timeout(Math.max(1, Math.ceil(timeoutMs)));
    const both = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    let response: IncomingMessage;
    let text: string;
    try {
      response = await this.#open(request, both);
      text = await readText(response);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof RegistryError) throw error;
      const why = timeout.aborted
        ? `it did not answer within ${Math.ceil(timeoutMs / 1000)} s`
        : reasonOf(error);
      const failed = this.#unreachable(why, error);
      if (isDistrust(error)) throw failed;
      return { error: failed };
    }
    const { statusCode: status = 0, headers } = response;
    if (PASSING.has(status)) {
      const after = Number(headers["retry-after"]);
      return {
        error:
          status === 429
            ? new RegistryError("REGISTRY_RATE_LIMITED", `the registry ${this.origin} is busy`)
            : this.#unreachable(`it answered with status ${status}`),
        ...(Number.isFinite(after) && { retryAfterMs: after * 1000 }),
      };
    }
    const date = Date.parse(headers.date ?? "");
    const aheadMs = Number.isNaN(date) ? undefined : date - this.#options.clock.wallMs();
    return { status, body: parsed(text), aheadMs };
  }

  #open({ method, target, body }: ExchangeRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const url = new URL(target, this.origin);
    const headers = signRequest(
      {
        method,
        target,
        headers: [
          ["host", url.host],
          // Two equal requests within a second would otherwise have one signature, which counts once.
          ["client-request-id", randomUUID()],
          ...(bytes === undefined ? [] : [["content-type", "application/json"] as const]),
        ],
        body: bytes ?? new Uint8Array(),
      },
      this.#options.key,
      { timeMs: this.#options.clock.wallMs() },
    );
    const { ca } = this.#options;
    const options: RequestOptions = {
      method,
      headers: {
        ...Object.fromEntries(headers),
        ...(bytes !== undefined && { "content-length": String(bytes.length) }),
      },
      signal,
      ...(ca !== undefined && { ca }),
    };
    return new Promise((resolve, reject) => {
      const send = url.protocol === "https:" ? httpsRequest : httpRequest;
      const sent = send(url, options, resolve);
      sent.on("error", reject);
      sent.end(bytes);
    });
  }

  #unreachable(why: string, cause?: unknown): RegistryError {
    const text = `the registry ${this.origin} cannot be asked: ${why}`;
    return new RegistryError("REGISTRY_UNREACHABLE", text, { cause });
  }
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES) {
      response.destroy();
      throw new RegistryError("REGISTRY_ANSWER_INVALID", "the registry's answer is too large");
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What is wrong with a certificate is so the next time. */
function isDistrust(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return /^(?:CERT_|DEPTH_ZERO|EPROTO|ERR_SSL|ERR_TLS|SELF_SIGNED|UNABLE_TO)/.test(code ?? "");
}

/** Connections to a name with several addresses fail with one error for each. */
function reasonOf(error: unknown): string {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [error];
  return first instanceof Error ? first.message : String(first);
}
