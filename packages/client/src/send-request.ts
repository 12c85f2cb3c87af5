import { sleep } from "@stackwright/base/clock";
import { retryDelayMs } from "@stackwright/base/retry";
import { ClientError, isClientError } from "./errors.ts";
import type { UploadBody } from "./gen/api.ts";
import type { ResolvedServerClientOptions } from "./options.ts";
import { errorOfAnswer } from "./problem.ts";

/** A request before it is sent. */
export interface ClientRequest {
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: UploadBody | string | undefined;
  /** Whether a request whose outcome is unknown may be sent again. */
  readonly isRepeatable: boolean;
}

/**
 * Sends a request until it is answered, and reads its answer: a failure that may be repeated is repeated by the policy. A request that
 * is not repeatable is sent again only where the server refused it before it did anything.
 */
export async function sendRequest<T>(
  options: ResolvedServerClientOptions,
  request: ClientRequest,
  signal: AbortSignal,
  read: (answer: Response) => Promise<T>,
): Promise<T> {
  const { retry, clock, random } = options;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await read(await attemptOnce(options, request, signal));
    } catch (thrown) {
      const error = errorOf(thrown, options.server, signal);
      if (attempt >= retry.maxAttempts || !mayRepeat(error, request)) throw error;
      const pauseMs = retryDelayMs(retry, attempt, random);
      await sleep(clock, Math.max(pauseMs, error.retryAfterMs ?? 0), signal);
    }
  }
}

async function attemptOnce(
  { fetch, server, token, userAgent }: ResolvedServerClientOptions,
  { method, target, headers, body }: ClientRequest,
  signal: AbortSignal,
): Promise<Response> {
  const answer = await fetch(server + target, {
    method,
    // A token is for one server.
    redirect: "manual",
    signal,
    headers: {
      ...headers,
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      "user-agent": userAgent,
    },
    ...bodyOf(body),
  });
  if (answer.ok) return answer;
  throw await errorOfAnswer(answer);
}

function bodyOf(body: ClientRequest["body"]): RequestInit {
  if (body === undefined) return {};
  if (typeof body === "string") return { body };
  if (typeof body !== "function") return { body: body as Uint8Array<ArrayBuffer> };
  // Half duplex: the answer is read after the upload.
  const upload: RequestInit & { readonly duplex: "half" } = {
    body: streamOf(body()),
    duplex: "half",
  };
  return upload;
}

function streamOf(content: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = content[Symbol.asyncIterator]();
  return new ReadableStream({
    pull: async (controller) => {
      const step = await reader.next();
      if (step.done === true) controller.close();
      else controller.enqueue(step.value);
    },
    cancel: async () => {
      await reader.return?.();
    },
  });
}

/** What a failed attempt means. The reason of an aborted signal is thrown as it is. */
function errorOf(thrown: unknown, server: string, signal: AbortSignal): ClientError {
  if (signal.aborted) throw signal.reason;
  if (isClientError(thrown)) return thrown;
  const { cause } = thrown as { readonly cause?: { readonly code?: string; message?: string } };
  const why = cause?.code ?? cause?.message ?? (thrown as Error).message;
  return new ClientError("CLIENT_UNREACHABLE", `the server ${server} cannot be reached: ${why}`, {
    cause: thrown,
  });
}

function mayRepeat(error: ClientError, { isRepeatable }: ClientRequest): boolean {
  if (!error.retryable) return false;
  if (isRepeatable) return true;
  const { cause } = (error.cause ?? {}) as { readonly cause?: { readonly code?: string } };
  return error.status === 429 || cause?.code === "ECONNREFUSED";
}
