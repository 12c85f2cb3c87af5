import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { VcsError } from "./vcs-provider.ts";

/** A call of another server. */
interface OutgoingCall {
  readonly method: string;
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** How its host is resolved. @default by the system */
  readonly lookup: LookupFunction | undefined;
  readonly signal: AbortSignal;
  /** @default 15,000 */
  readonly timeoutMs?: number;
  /** Bytes of the answer that are read; of a longer one, the rest is not. @default a longer answer than 2 MiB is refused */
  readonly cutAnswerBytes?: number;
}

const TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 2 * 1024 * 1024;

/** Calls a server: no redirect is followed, time and answer are bounded. Rejects with a {@link VcsError} where there is no answer. */
export async function boundedFetch(call: OutgoingCall) {
  const { method, address, signal, timeoutMs = TIMEOUT_MS, cutAnswerBytes } = call;
  const until = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const where = `${method} ${new URL(address).origin}${new URL(address).pathname}`;
  try {
    const answer = await send({ ...call, signal: until });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of answer as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      if (cutAnswerBytes !== undefined && size >= cutAnswerBytes) {
        chunks.push(chunk.subarray(0, chunk.byteLength - (size - cutAnswerBytes)));
        break;
      }
      if (size > MAX_ANSWER_BYTES) {
        throw new VcsError(`${where}: the answer is too large`, answer.statusCode ?? 0);
      }
      chunks.push(chunk);
    }
    return { status: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString("utf8") };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof VcsError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new VcsError(`${where}: ${reason}`, 0, { cause: error });
  }
}

async function send({ method, address, headers, body, lookup, signal }: OutgoingCall) {
  const url = new URL(address);
  const answered = Promise.withResolvers<IncomingMessage>();
  const settings = {
    method,
    headers: { "user-agent": "stackwright", ...headers },
    signal,
    // A connection of its own: a kept one may be to an address that was not checked.
    agent: false,
    ...(lookup !== undefined && { lookup }),
  } as const;
  const request = url.protocol === "https:" ? secureRequest : plainRequest;
  const outgoing = request(url, settings, answered.resolve);
  outgoing.on("error", answered.reject);
  // Without a listener the socket of such an answer is destroyed, and nothing is said of it.
  outgoing.on("upgrade", (_answer, socket) => {
    socket.destroy();
    answered.reject(new Error("the server changed the protocol, which was not asked for"));
  });
  outgoing.end(body);
  return answered.promise;
}

/** Whether tokens and texts may be sent to an address: over TLS, or within this machine. */
export function isPrivateAddress(address: URL): boolean {
  if (address.protocol === "https:") return true;
  const host = address.hostname.replace(/^\[|\]$/g, "");
  const isLoopback =
    host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
  return address.protocol === "http:" && isLoopback;
}
