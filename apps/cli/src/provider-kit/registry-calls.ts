import { createHash, randomUUID } from "node:crypto";
import { isJsonObject } from "@stackwright/base/json";
import { CommandError } from "../command-error.ts";
import type { ServerAccess } from "../runs/open-server.ts";
import { printable } from "../terminal/printable.ts";

/** What a registry answered to a request. */
interface RegistryAnswer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
  /** What the server says beside an answer, such as who uses what was deleted. */
  readonly warning: string | undefined;
}

/** An upload is as long as its archive; a server that stands still is given up. */
const DEADLINE_MS = 120_000;
const MAX_ANSWER = 1024 * 1024;

/** Sends one request to the registry of a server. Errors are answers, too; `CommandError` where there is none. */
export async function callRegistry(
  { server, token }: ServerAccess,
  request: {
    readonly method: "GET" | "PUT" | "POST" | "PATCH" | "DELETE";
    /** With its prefix, encoded. */
    readonly path: string;
    readonly json?: object;
    readonly archive?: Uint8Array<ArrayBuffer>;
  },
  signal: AbortSignal,
): Promise<RegistryAnswer> {
  const { method, path, json, archive } = request;
  try {
    const answer = await fetch(server + path, {
      method,
      // A token is for one server.
      redirect: "manual",
      signal: AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]),
      headers: {
        authorization: `Bearer ${token}`,
        "client-request-id": randomUUID(),
        ...(json !== undefined && { "content-type": "application/json" }),
        ...(archive !== undefined && {
          "content-type": "application/zip",
          "x-sdk-content-sha256": createHash("sha256").update(archive).digest("hex"),
        }),
      },
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(archive !== undefined && { body: archive }),
    });
    const warning = answer.headers.get("x-rfs-warning") ?? undefined;
    return { status: answer.status, body: await objectOf(answer), warning };
  } catch (error) {
    signal.throwIfAborted();
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const text = cause instanceof Error ? cause.message : String(cause);
    throw new CommandError(`The server ${server} does not answer: ${printable(text)}.`, {
      cause: error,
      advice: "Check the address, and that the server runs.",
    });
  }
}

/** The error that an answer is, with what the user can do about it: by its status, as it is said here or by the caller. */
export function registryError(
  what: string,
  { status, body }: Pick<RegistryAnswer, "status" | "body">,
  { server }: Pick<ServerAccess, "server">,
  advices: Readonly<Record<number, string>> = {},
): CommandError {
  const error = isJsonObject(body["error"]) ? body["error"] : body;
  const code = textOf(error["code"]) ?? textOf(error["error_code"]);
  const message =
    textOf(error["message"]) ??
    textOf(error["error_msg"]) ??
    textOf(error["detail"]) ??
    "no reason was given";
  const advice = advices[status] ?? ADVICE[status];
  return new CommandError(
    `${what}: ${printable(message)} (${[status, code].filter(Boolean).join(", ")}, ${server}).`,
    advice === undefined ? {} : { advice },
  );
}

const ADVICE: Readonly<Record<number, string>> = {
  401: "Log in again: stackwright login --server URL",
  403: "Ask the server operator for a token with the role publisher; a namespace is claimed by an admin.",
  409: "A published version never changes. Raise the version in package.json, or name another with --version.",
};

async function objectOf(answer: Response): Promise<RegistryAnswer["body"]> {
  const announced = Number(answer.headers.get("content-length") ?? 0);
  if (announced > MAX_ANSWER) {
    await answer.body?.cancel();
    return {};
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER) break;
    chunks.push(chunk);
  }
  try {
    const json: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    return isJsonObject(json) ? json : {};
  } catch {
    return {};
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
