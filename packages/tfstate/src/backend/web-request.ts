import { request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { TfstateError } from "../errors.ts";
import { CALL_DEADLINE_MS, withDeadline } from "./deadline.ts";
import { foreignText } from "./foreign-text.ts";
import { MAX_STATE_BYTES } from "./state-bytes.ts";

/** What protects a connection. */
interface WebSecurity {
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Accept any certificate. */
  readonly insecure?: boolean | undefined;
  /** Name that the certificate has to have. @default the host of the address */
  readonly serverName?: string | undefined;
}

interface WebRequest {
  readonly method: string;
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
  readonly security?: WebSecurity;
  readonly signal?: AbortSignal | undefined;
  /** Attempts after a failed connection or an answer of 500 and above. @default 2 */
  readonly retries?: number;
  /** For each attempt with its whole answer. @default 5 minutes */
  readonly deadlineMs?: number;
  /** Of the answer. @default 512 MiB */
  readonly maxBytes?: number | undefined;
}

export interface WebAnswer {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

const TIMEOUT_MS = 60_000;
const RETRY_MS = 500;
/** Of an answer that is shown as a reason; longer ones are pages or states. */
const MAX_REASON_BYTES = 300;

/**
 * Sends a request and reads the whole answer; any method, as backends need `LOCK` and `UNLOCK`. Requests that may be repeated
 * are; `TFSTATE_BACKEND_UNAVAILABLE` names the host, never the path or the query.
 */
export async function sendRequest(request: WebRequest): Promise<WebAnswer> {
  const { retries = 2, signal } = request;
  for (let attempt = 0; ; attempt += 1) {
    signal?.throwIfAborted();
    try {
      const limits = { signal, ms: request.deadlineMs ?? CALL_DEADLINE_MS };
      const answer = await withDeadline(new URL(request.url).host, limits, async (until) =>
        send({ ...request, signal: until }),
      );
      if (answer.status < 500 || attempt >= retries) return answer;
    } catch (error) {
      if (signal?.aborted === true) throw signal.reason;
      if (error instanceof LargeAnswer) {
        const { host } = new URL(request.url);
        throw new TfstateError("TFSTATE_BACKEND_UNAVAILABLE", `${host}: ${error.message}`);
      }
      if (attempt >= retries) throw unavailable(request.url, error);
    }
    await delay(RETRY_MS * 2 ** attempt, undefined, signal === undefined ? {} : { signal }).catch(
      () => signal?.throwIfAborted(),
    );
  }
}

/** Of which another attempt would get as much. */
class LargeAnswer extends Error {}

async function send({
  method,
  url,
  headers,
  body,
  security,
  signal,
  maxBytes = MAX_STATE_BYTES,
}: WebRequest): Promise<WebAnswer> {
  const target = new URL(url);
  const secure = target.protocol === "https:";
  const options = {
    method,
    headers: {
      ...headers,
      ...(body !== undefined && { "Content-Length": String(Buffer.byteLength(body)) }),
    },
    timeout: TIMEOUT_MS,
    ...(signal !== undefined && { signal }),
    ...(secure && {
      rejectUnauthorized: security?.insecure !== true,
      ...(security?.serverName !== undefined && { servername: security.serverName }),
      ...(security?.ca !== undefined && { ca: security.ca }),
      ...(security?.cert !== undefined && { cert: security.cert }),
      ...(security?.key !== undefined && { key: security.key }),
    }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = (secure ? secureRequest : plainRequest)(target, options, (incoming) => {
      const parts: Buffer[] = [];
      let size = 0;
      incoming.on("data", (part: Buffer) => {
        size += part.length;
        if (size > maxBytes)
          incoming.destroy(new LargeAnswer(`the answer is larger than ${maxBytes} bytes`));
        else parts.push(part);
      });
      incoming.on("error", reject);
      incoming.on("end", () => {
        const found = Object.entries(incoming.headers).map(
          ([name, value]) =>
            [name, Array.isArray(value) ? value.join(", ") : (value ?? "")] as const,
        );
        resolve({
          status: incoming.statusCode ?? 0,
          headers: new Map(found),
          body: Buffer.concat(parts),
        });
      });
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error("no answer in 60 seconds")));
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/**
 * The failure of an answer that is not the expected one, with the reason where the server gives a short one.
 *
 * @param secrets values of the request: a reason that repeats one of them, in whatever form, is not shown
 */
export function answerError(
  place: string,
  what: string,
  { status, body }: WebAnswer,
  secrets: Iterable<string> = [],
): TfstateError {
  const permission = status === 401 || status === 403 ? ": permission denied" : "";
  const reason =
    body.length < MAX_REASON_BYTES && status >= 400 ? body.toString("utf8").trim() : "";
  const isShown = reason !== "" && ![...secrets].some((secret) => repeats(reason, secret));
  const detail = isShown ? ` (${foreignText(reason)})` : "";
  return new TfstateError(
    "TFSTATE_BACKEND_UNAVAILABLE",
    `${place}: ${what} failed: HTTP status ${status}${permission}${detail}`,
  );
}

/** Whether a text has a value as it is, or as addresses, JSON and headers write it. */
function repeats(text: string, value: string): boolean {
  if (value === "") return false;
  const forms = [
    value,
    encodeURIComponent(value),
    JSON.stringify(value).slice(1, -1),
    Buffer.from(value).toString("base64"),
  ];
  return forms.some((form) => text.includes(form));
}

function unavailable(url: string, error: unknown): TfstateError {
  const cause = error instanceof Error ? error : new Error(String(error));
  const code = (cause as NodeJS.ErrnoException).code;
  const reason = cause.message === "" ? (code ?? "unknown error") : cause.message;
  return new TfstateError(
    "TFSTATE_BACKEND_UNAVAILABLE",
    `cannot reach ${new URL(url).host}: ${reason}`,
    { cause },
  );
}
