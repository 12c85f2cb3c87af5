import type { ServerClient } from "@stackwright-tools/containers";

const LIMIT_MS = 30_000;

/** Calls an API of the server with its first token; gives what it answers, and rejects where it does not succeed. */
export async function callServer<T>(
  { url, credentials }: ServerClient,
  method: string,
  path: string,
  body?: object,
): Promise<T> {
  const isBytes = body instanceof Uint8Array;
  const answer = await fetch(url + path, {
    method,
    headers: {
      authorization: `Bearer ${credentials.token}`,
      ...(body !== undefined && {
        "content-type": isBytes ? "application/gzip" : "application/json",
      }),
    },
    ...(body !== undefined && {
      body: isBytes ? (body as Uint8Array<ArrayBuffer>) : JSON.stringify(body),
    }),
    signal: AbortSignal.timeout(LIMIT_MS),
  });
  const said = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${said}`);
  return (said === "" ? undefined : JSON.parse(said)) as T;
}
