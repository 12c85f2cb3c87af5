import {
  type ClientError,
  createServerClient,
  isClientError,
  type ServerClient,
  serverAddress,
} from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { credentialsPath, readCredentials } from "../connection/server-credentials.ts";
import { releaseAdvice } from "./release-advice.ts";

/** A server with the token of the user for it. */
export interface ServerAccess {
  readonly server: string;
  readonly token: string;
}

/** Opens the server that a command is about, with the token for it. */
export async function openServer(
  context: Pick<CommandContext, "env">,
  named: string | undefined,
): Promise<ServerClient> {
  const { server, token } = await serverAccess(context, named);
  return clientOf(server, token);
}

/** The server that a command is about, and the token for it: as they are named, else those of the last login. */
export async function serverAccess(
  { env }: Pick<CommandContext, "env">,
  named: string | undefined,
): Promise<ServerAccess> {
  const stored = await readCredentials(credentialsPath(env));
  const text = named ?? (env["STACKWRIGHT_SERVER"] || undefined) ?? stored.current;
  if (text === undefined) {
    throw new CommandError("No server is named, and you are not logged in to one.", {
      advice: "Log in with stackwright login --server URL, or set --server or STACKWRIGHT_SERVER.",
    });
  }
  const server = checkedAddress(text);
  const token = (env["STACKWRIGHT_TOKEN"] || undefined) ?? stored.servers[server]?.token;
  if (token === undefined) {
    throw new CommandError(`You are not logged in to ${server}.`, {
      advice: `Log in with stackwright login --server ${server}, or set STACKWRIGHT_TOKEN.`,
    });
  }
  return { server, token };
}

/** The address of a server in its one form. `CommandError` for other texts. */
export function checkedAddress(text: string): string {
  return checked(() => serverAddress(text));
}

/** A client for one command. `CommandError` for a token that a header cannot carry. */
export function clientOf(server: string, token: string): ServerClient {
  return checked(() => createServerClient({ server, token, userAgent: "stackwright" }));
}

function checked<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!isClientError(error)) throw error;
    throw new CommandError(`Invalid server: ${error.message}.`, { cause: error });
  }
}

/** Passes a result on, and the error of a server with what the user can do about it. */
export async function withServerErrors<T>(server: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (!isClientError(error)) throw error;
    const advice =
      adviceOfConnection(error) ?? (await releaseAdvice(error, server)) ?? ADVICE[error.code];
    const options = advice === undefined ? { cause: error } : { cause: error, advice };
    throw new CommandError(messageOf(error, server), options);
  }
}

const ADVICE: Readonly<Partial<Record<ClientError["code"], string>>> = {
  unauthenticated: "Log in again: stackwright login --server URL",
  forbidden: "Ask the server operator for a token with this role.",
  plan_stale: "The state was changed since the plan was made. Plan again: stackwright runs retry",
  plan_changed: "The run has another plan now. Read it and decide again: stackwright runs show",
  queue_full: "Wait until runs of the stack have ended, or cancel some: stackwright runs list",
  CLIENT_UNREACHABLE: "Check the address, and that the server runs.",
};

/** Codes of certificates that are not trusted, of Node and of OpenSSL. */
const UNTRUSTED =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_.*|CERT_.*|ERR_TLS_CERT_ALTNAME_INVALID)$/;

/** What the reason of a connection that was not made says about what to do. */
function adviceOfConnection({ code, cause }: ClientError): string | undefined {
  if (code !== "CLIENT_UNREACHABLE") return undefined;
  const reason = (cause as { readonly cause?: { readonly code?: unknown } } | undefined)?.cause
    ?.code;
  if (typeof reason !== "string") return undefined;
  if (reason === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return "The certificate of the server is for another name. Use the name that it is for.";
  }
  if (UNTRUSTED.test(reason)) {
    return "The certificate of the server is not trusted here. Log in with stackwright login --server URL --ca-file FILE, which has that of its authority, or name the file in SSL_CERT_FILE.";
  }
  if (reason === "ERR_SSL_WRONG_VERSION_NUMBER" || reason === "ERR_SSL_PACKET_LENGTH_TOO_LONG") {
    return "The server has no TLS there: its address begins with http://.";
  }
  if (reason === "UND_ERR_SOCKET" || reason === "ECONNRESET") {
    return "What answers there closed the connection. The address of a server with TLS begins with https://.";
  }
  return undefined;
}

function messageOf({ code, message, problem }: ClientError, server: string): string {
  const sentence = `${message.charAt(0).toUpperCase()}${message.slice(1)}`.replace(/\.$/, "");
  const details = (problem?.errors ?? []).map(({ pointer, detail }) => `\n  ${pointer}: ${detail}`);
  return `${sentence} (${code}, ${server}).${details.join("")}`;
}
