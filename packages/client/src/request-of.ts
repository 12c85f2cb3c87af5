import { ClientError } from "./errors.ts";
import type { OperationRow, UploadBody } from "./gen/api.ts";
import { isKeyedOnAllServers } from "./keyed-operations.ts";
import type { ClientRequest } from "./send-request.ts";

/** The request of an operation: its input in path, query, headers and body. */
export function requestOf(
  name: string,
  { method, path, query, headers, upload }: OperationRow,
  input: Readonly<Record<string, unknown>> & { readonly body?: UploadBody | object },
  nextKey: () => string,
): ClientRequest {
  const target = path.replace(/\{([^}]+)\}/g, (_text, part: string) =>
    pathSegment(part, textOf(input[part])),
  );
  const search = new URLSearchParams();
  for (const part of query) {
    if (input[part] !== undefined) search.set(part, textOf(input[part]));
  }
  const { body, ifMatch } = input;
  const takesKey = headers.includes("idempotency-key");
  const { idempotencyKey = takesKey ? nextKey() : undefined } = input;
  return {
    method,
    target: search.size === 0 ? target : `${target}?${search.toString()}`,
    headers: {
      accept: "application/json",
      ...(body !== undefined && { "content-type": upload ?? "application/json" }),
      ...(takesKey && { "idempotency-key": textOf(idempotencyKey) }),
      ...(ifMatch !== undefined && { "if-match": textOf(ifMatch) }),
    },
    body: upload === undefined ? body && JSON.stringify(body) : (body as UploadBody),
    // An upload is named by its content: the same one again is the same.
    isRepeatable: method === "GET" || isKeyedOnAllServers(name) || upload !== undefined,
  };
}

/** A parameter in a path. Some texts would make it another path: `CLIENT_INVALID_ARGUMENT`. */
export function pathSegment(name: string, text: string): string {
  if (!/^\.{0,2}$/.test(text)) return encodeURIComponent(text);
  throw new ClientError("CLIENT_INVALID_ARGUMENT", `"${text}" is not a valid ${name}`);
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
