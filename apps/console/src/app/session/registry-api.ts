import { ClientError } from "@stackwright/client";

/** Calls of the registry's API, whose errors have another form than those of the API of runs. */
export interface RegistryApi {
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  send<T>(method: "POST" | "PUT" | "DELETE", path: string, body?: object): Promise<T>;
}

interface RegistryFailure {
  readonly error?: { readonly code?: string; readonly message?: string };
  readonly error_msg?: string;
  readonly detail?: string;
}

const TIMEOUT_MS = 60_000;

/** The value of an answer; undefined where it has none, as that of a proxy with a page of its own. */
function parsedOf(text: string): unknown {
  try {
    return text === "" ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The registry of a server, as the owner of a token sees it; without one, as whom `fetcher` sends the credential of. */
export function createRegistryApi(token: string | undefined, fetcher: typeof fetch): RegistryApi {
  const call = async <T>(
    method: string,
    path: string,
    {
      body,
      signal,
    }: { readonly body?: object | undefined; readonly signal?: AbortSignal | undefined },
  ): Promise<T> => {
    const timeout = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await fetcher(path, {
      method,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      headers: {
        ...(token !== undefined && { "x-auth-token": token }),
        "client-request-id": crypto.randomUUID(),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      if (signal?.aborted === true) throw error;
      throw new ClientError(
        "CLIENT_UNREACHABLE",
        `the server cannot be reached: ${String(error)}`,
        {
          cause: error,
        },
      );
    });
    const text = await answer.text();
    const parsed = parsedOf(text);
    if (answer.ok && (parsed !== undefined || text === "")) return parsed as T;
    const failure = (parsed ?? {}) as RegistryFailure;
    const message =
      failure.error?.message ?? failure.error_msg ?? failure.detail ?? `status ${answer.status}`;
    throw new ClientError("CLIENT_UNEXPECTED_ANSWER", message, {
      status: answer.status,
      retryable: answer.status === 429 || answer.status >= 500,
    });
  };
  return {
    get: async (path, signal) => call("GET", path, { signal }),
    send: async (method, path, body) => call(method, path, { body }),
  };
}
