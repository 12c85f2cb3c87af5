import { createHash, randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { type Fetch, hostServices, isRecord, jsonOf, type LoginHost } from "./host-services.ts";

/** What a host offers under `login.v1`. */
interface LoginService {
  readonly client: string;
  readonly authz: URL;
  readonly token: URL;
  readonly ports: readonly [first: number, last: number];
}

/** A token that a host gives by its service `login.v1`, once the user has agreed in a browser. */
export async function loginByBrowser(
  host: LoginHost,
  context: CommandContext,
  fetch: Fetch,
): Promise<string> {
  const service = await discover(host, context, fetch);
  return authorize(host.name, service, context, fetch);
}

async function discover(
  given: LoginHost,
  context: CommandContext,
  fetch: Fetch,
): Promise<LoginService> {
  const { services, document } = await hostServices(given, context, fetch);
  const { name: host } = given;
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

function variableOf(host: string): string {
  return `TF_TOKEN_${host.replaceAll("-", "__").replaceAll(".", "_")}`;
}
