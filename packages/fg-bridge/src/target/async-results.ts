import { type Clock, sleep } from "@stackwright/base/clock";
import { type SigningCredentials, signRequest } from "@stackwright/request-signing";
import { sanitizeRemoteText } from "../envelope/grpc-text.ts";
import { FgBridgeError } from "../errors.ts";
import { decodeStoredResult, type GatewayReply } from "./gateway-event.ts";
import type { FunctionHttpClient } from "./http-exchange.ts";

/** Where the platform leaves the results of asynchronous invocations: a bucket, as a rule. */
export interface AsyncResultReader {
  /** The object of this invocation, or `undefined` while there is none. */
  read(
    requestId: string,
    options: { readonly signal?: AbortSignal },
  ): Promise<Uint8Array | undefined>;
}

export interface HttpResultsOptions {
  readonly client: FunctionHttpClient;
  /** The id of the request becomes the last segment of the path. */
  readonly baseUrl: string;
  /** For the storage's own authentication. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Signs the requests, where the storage takes the platform's own signatures. */
  readonly credentials?: SigningCredentials;
  /** @default 64 MiB */
  readonly maxBytes?: number;
}

/** Results as objects under a URL, one per request; 404 means that there is none yet. */
export function createHttpResults(options: HttpResultsOptions): AsyncResultReader {
  const { client, headers = {}, credentials, maxBytes = 64 * 1024 * 1024 } = options;
  const base = options.baseUrl.replace(/\/$/, "");
  return {
    async read(requestId, { signal }) {
      const url = new URL(`${base}/${encodeURIComponent(requestId)}`);
      const response = await client.exchange({
        url,
        method: "GET",
        headers: credentials === undefined ? headers : sign(url, headers, credentials),
        timeouts: { connectMs: 3000, firstByteMs: 10_000, totalMs: 30_000 },
        maxResponseBytes: maxBytes,
        ...(signal === undefined ? {} : { signal }),
      });
      if (response.status === 200) return response.body;
      if (response.status === 404) return undefined;
      throw new FgBridgeError(
        "FG_ASYNC_FAILED",
        `the storage of results answered with status ${response.status}`,
        { httpStatus: response.status },
      );
    },
  };
}

function sign(
  url: URL,
  headers: Readonly<Record<string, string>>,
  credentials: SigningCredentials,
): Record<string, string> {
  const signed = signRequest(
    {
      method: "GET",
      target: `${url.pathname}${url.search}`,
      headers: [["host", url.host], ...Object.entries(headers)],
      body: new Uint8Array(),
    },
    credentials,
  );
  return Object.fromEntries(signed);
}

interface PollOptions {
  readonly requestId: string;
  readonly results: AsyncResultReader;
  readonly clock: Clock;
  /** On the clock. */
  readonly deadline: number;
  /** First and longest pause. */
  readonly pauses: readonly [number, number];
  readonly target: string;
  readonly signal?: AbortSignal;
  /** Asks for the state; `undefined` when there is none to be had. */
  readonly status?: () => Promise<{ readonly state: string; readonly text: string } | undefined>;
}

/** How long a result may lag behind the state that announces it. */
const RESULT_LAG_MS = 30_000;

/**
 * Waits for the result of an asynchronous invocation. Trouble of single polls is waited out until the
 * deadline: the invocation runs on meanwhile, and giving up early would only lose its result.
 *
 * @throws FgBridgeError `FG_ASYNC_FAILED` (a discarded invocation never ran: `not-applied`), `FG_TIMEOUT`
 */
export async function pollResult(options: PollOptions): Promise<GatewayReply> {
  const { requestId, results, clock, deadline, pauses, status, signal, target } = options;
  let pause = pauses[0];
  let succeededAt: number | undefined;
  for (;;) {
    const trouble = (error: unknown) => {
      signal?.throwIfAborted();
      if (!(error instanceof FgBridgeError) || error.code === "FG_CLOSED") throw error;
    };
    let stored: Uint8Array | undefined;
    try {
      stored = await results.read(requestId, signal === undefined ? {} : { signal });
    } catch (error) {
      trouble(error);
    }
    if (stored !== undefined) return decodeStoredResult(stored);
    try {
      const found = await status?.();
      checkState(found, target);
      if (found?.state === "SUCCESS") succeededAt ??= clock.monotonicMs();
    } catch (error) {
      if (error instanceof FgBridgeError && error.code === "FG_ASYNC_FAILED") throw error;
      trouble(error);
    }
    const now = clock.monotonicMs();
    const lost = succeededAt !== undefined && now - succeededAt > RESULT_LAG_MS;
    if (lost || now + pause > deadline) {
      const text = lost ? "left no result" : "did not end in time";
      const code = lost ? "FG_ASYNC_FAILED" : "FG_TIMEOUT";
      throw new FgBridgeError(code, `the asynchronous invocation ${requestId} ${text}`, { target });
    }
    await sleep(clock, pause, signal);
    pause = Math.min(pause * 2, pauses[1]);
  }
}

function checkState(
  found: { readonly state: string; readonly text: string } | undefined,
  target: string,
): void {
  if (found?.state !== "FAIL" && found?.state !== "DISCARD") return;
  const reason = found.text === "" ? "" : `: ${sanitizeRemoteText(found.text, 500)}`;
  throw new FgBridgeError(
    "FG_ASYNC_FAILED",
    `the asynchronous invocation ended as ${found.state}${reason}`,
    { target, outcome: found.state === "DISCARD" ? "not-applied" : "unknown" },
  );
}
