import { isIP } from "node:net";
import { VcsError } from "./vcs-provider.ts";

/** A call of another server. */
interface OutgoingCall {
  readonly method: string;
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

const TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 2 * 1024 * 1024;

/** Calls a server: no redirect is followed, time and answer are bounded. Rejects with a {@link VcsError} where there is no answer. */
export async function boundedFetch({ method, address, headers, body, signal }: OutgoingCall) {
  const until = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const where = `${method} ${new URL(address).origin}${new URL(address).pathname}`;
  try {
    const answer = await fetch(address, {
      method,
      headers: { "user-agent": "stackwright", ...headers },
      ...(body !== undefined && { body }),
      redirect: "manual",
      signal: until,
    });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of (answer.body ?? []) as AsyncIterable<Uint8Array>) {
      size += chunk.byteLength;
      if (size > MAX_ANSWER_BYTES) {
        throw new VcsError(`${where}: the answer is too large`, answer.status);
      }
      chunks.push(chunk);
    }
    return { status: answer.status, text: Buffer.concat(chunks).toString("utf8") };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof VcsError) throw error;
    const { cause = error } = error as { cause?: unknown };
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new VcsError(`${where}: ${reason}`, 0, { cause: error });
  }
}

/** Whether tokens and texts may be sent to an address: over TLS, or within this machine. */
export function isPrivateAddress(address: URL): boolean {
  if (address.protocol === "https:") return true;
  const host = address.hostname.replace(/^\[|\]$/g, "");
  const isLoopback =
    host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
  return address.protocol === "http:" && isLoopback;
}
