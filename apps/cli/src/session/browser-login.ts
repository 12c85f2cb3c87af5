import { createHash, randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";

export type Fetch = (url: URL, init?: RequestInit) => Promise<Response>;

/** What a host offers under `login.v1`. */
interface LoginService {
  readonly client: string;
  readonly authz: URL;
  readonly token: URL;
  readonly ports: readonly [first: number, last: number];
}

/**
 * A token that a host gives by its service `login.v1`, once the user has agreed in a browser.
 *
 * @param address of the host, such as `https://registry.example.com`
 * @param name of the host, as messages call it
 */
export async function loginByBrowser(
  { address, name }: { readonly address: string; readonly name: string },
  context: CommandContext,
  fetch: Fetch,
): Promise<string> {
  const service = await discover(address, name, context, fetch);
  return authorize(name, service, context, fetch);
}

async function discover(
  address: string,
  host: string,
  { signal }: CommandContext,
  fetch: Fetch,
): Promise<LoginService> {
  const document = new URL("/.well-known/terraform.json", address);
  const services = await jsonOf(document, { signal }, fetch).catch((error: unknown) => {
    throw new CommandError(`The services of ${host} are not available: ${messageOf(error)}.`, {
      cause: error,
      advice: "Check the name of the host.",
    });
  });
  const service = services["login.v1"];
  if (!isRecord(service)) {
    throw new CommandError(`The host ${host} does not offer a login.`, {
      advice: `Create a token there, and set it as ${variableOf(host)}.`,
    });
  }
  const { client, authz, token, ports, grant_types: grants } = service;
  if (Array.isArray(grants) && !grants.includes("authz_code")) {
    throw new CommandError(`The login of ${host} requires a grant that is not supported.`, {
      advice: `Create a token there, and set it as ${variableOf(host)}.`,
    });
  }
  if (typeof client !== "string" || typeof authz !== "string" || typeof token !== "string") {
    throw new CommandError(`The login service of ${host} is not complete.`);
  }
  const [first, last] = Array.isArray(ports) ? (ports as unknown[]).map(Number) : [];
  const range = [first ?? 1024, last ?? 65_535] as const;
  return { client, authz: new URL(authz, document), token: new URL(token, document), ports: range };
}

/** The authorization code grant with a proof key; the browser returns to a server of this process. */
async function authorize(
  host: string,
  service: LoginService,
  { terminal, signal }: CommandContext,
  fetch: Fetch,
): Promise<string> {
  const state = randomBytes(16).toString("hex");
  const verifier = randomBytes(32).toString("base64url");
  const answered = Promise.withResolvers<string>();
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    const isLogin = url.pathname === "/login" && url.searchParams.get("state") === state;
    const code = url.searchParams.get("code");
    if (!isLogin || code === null) {
      response.writeHead(404).end();
      return;
    }
    response.end("The login is complete. Return to the terminal.\n");
    answered.resolve(code);
  });
  const stop = (): void => answered.reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    const redirect = `http://localhost:${await listen(server, service.ports)}/login`;
    const url = new URL(service.authz);
    const challenge = createHash("sha256").update(verifier).digest("base64url");
    for (const [name, value] of Object.entries({
      client_id: service.client,
      code_challenge: challenge,
      code_challenge_method: "S256",
      redirect_uri: redirect,
      response_type: "code",
      state,
    })) {
      url.searchParams.set(name, value);
    }
    terminal.write(`Open this address in a browser to log in to ${host}:\n\n  ${url.href}\n\n`);
    const code = await answered.promise;
    const body = new URLSearchParams({
      client_id: service.client,
      code,
      code_verifier: verifier,
      grant_type: "authorization_code",
      redirect_uri: redirect,
    });
    const { access_token: token } = await jsonOf(
      service.token,
      { method: "POST", body, signal },
      fetch,
    );
    if (typeof token === "string" && token !== "") return token;
    throw new CommandError(`The host ${host} returned no token.`);
  } finally {
    signal.removeEventListener("abort", stop);
    server.closeAllConnections();
    server.close();
  }
}

/** Listens on the first free port of a range. */
async function listen(server: Server, [first, last]: LoginService["ports"]): Promise<number> {
  for (let port = first; port <= last; port++) {
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    server.removeAllListeners("error");
    if (isFree) return (server.address() as AddressInfo).port;
  }
  throw new CommandError(`No port from ${first} to ${last} is free for the login.`);
}

async function jsonOf(
  url: URL,
  init: RequestInit,
  fetch: Fetch,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(url, init);
  if (!response.ok) throw new Error(`status ${response.status} of ${url.origin}${url.pathname}`);
  const value: unknown = await response.json();
  return isRecord(value) ? value : {};
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function variableOf(host: string): string {
  return `TF_TOKEN_${host.replaceAll("-", "__").replaceAll(".", "_")}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
