import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { isIP } from "node:net";
import { Readable } from "node:stream";
import type { AddressGuard } from "@stackwright/fg-bridge";
import type { Fetch } from "@stackwright/tfplugin/install";

const MAX_REDIRECTS = 5;

/**
 * A `fetch` that reaches the networks of a guard alone: the check is made on the address that a connection is opened to, and again for
 * each redirect. Without TLS only this machine is reached.
 */
export function guardedFetch(guard: AddressGuard): Fetch {
  return async (url, init) => {
    const first = new Headers(init.headers);
    let target = url;
    for (let redirects = 0; ; redirects += 1) {
      const headers = new Headers(first);
      // A token is for the host that it was given for.
      if (target.host !== url.host) headers.delete("authorization");
      const answer = await send(guard, target, headers, init.signal ?? undefined);
      const { statusCode: status = 0, headers: given } = answer;
      const { location } = given;
      if (status < 300 || status >= 400 || location === undefined) return responseOf(answer);
      answer.destroy();
      if (redirects >= MAX_REDIRECTS) throw new Error(`more than ${MAX_REDIRECTS} redirects`);
      const next = new URL(location, target);
      if (target.protocol === "https:" && next.protocol !== "https:") {
        throw new Error("a redirect leads away from TLS");
      }
      target = next;
    }
  };
}

async function send(
  guard: AddressGuard,
  url: URL,
  headers: Headers,
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new Error(`${url.protocol} is not supported`);
  }
  const isPlain = url.protocol === "http:";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  // A literal address is connected to without a look-up.
  if (isIP(host) !== 0) await guard.resolve(host, isPlain);
  const open = isPlain ? httpRequest : httpsRequest;
  return new Promise((resolve, reject) => {
    const options = {
      headers: { "user-agent": "stackwright", ...Object.fromEntries(headers) },
      lookup: guard.lookup(isPlain),
      agent: false,
      ...(signal !== undefined && { signal }),
    };
    const request = open(url, options, resolve);
    request.once("error", reject);
    request.end();
  });
}

function responseOf(answer: IncomingMessage): Response {
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headers)) {
    if (value !== undefined) headers.set(name, String(value));
  }
  const status = answer.statusCode ?? 500;
  const isEmpty = status === 204 || status === 304;
  if (isEmpty) answer.resume();
  return new Response(isEmpty ? null : (Readable.toWeb(answer) as ReadableStream<Uint8Array>), {
    status,
    headers,
  });
}
