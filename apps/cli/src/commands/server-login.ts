import { type Clock, systemClock } from "@stackwright/base/clock";
import { isClientError } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import {
  credentialsPath,
  readCredentials,
  writeCredentials,
} from "../connection/server-credentials.ts";
import { trustHosts } from "../connection/trust-hosts.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { chooseAuthority } from "../runs/choose-authority.ts";
import { checkedAddress, clientOf, withServerErrors } from "../runs/open-server.ts";
import { loginByBrowser } from "../session/browser-login.ts";
import { loginByDevice, offersDeviceLogin } from "../session/device-login.ts";
import { printable } from "../terminal/printable.ts";

interface ServerLoginOptions {
  readonly server: string;
  /** Whether the user agrees in a browser of this machine. */
  readonly browser?: boolean | undefined;
  /** Whether the user agrees in a browser of another machine. */
  readonly device?: boolean | undefined;
  /** A file with the authority that its certificate is trusted by. */
  readonly caFile?: string | undefined;
  /** The most that the token of another machine's browser may do. */
  readonly role?: string | undefined;
}

/**
 * Checks a token with its server and stores it for the user. It is read from a prompt, or from standard input, or is one that the server
 * gives once the user has agreed in a browser.
 */
export async function serverLogin(
  options: ServerLoginOptions,
  context: CommandContext,
  clock: Clock = systemClock,
): Promise<ExitCode> {
  const { server: text } = options;
  const { terminal, env, signal } = context;
  const server = checkedAddress(text);
  const { hostname, protocol } = new URL(server);
  const isLoopback = /^(?:localhost|127\..*|\[::1\])$/.test(hostname);
  if (protocol === "http:" && !isLoopback) {
    terminal.writeError(
      "Warning: the connection is not encrypted; the token can be read on the network.\n",
    );
  }
  const path = credentialsPath(env);
  const stored = (await readCredentials(path)).servers[server]?.authority;
  const authority = await chooseAuthority(server, { caFile: options.caFile, stored }, context);
  if (authority !== undefined) trustHosts(new Map([[hostname, authority]]));
  const token = await tokenFor(server, options, context, clock);
  if (token === "") {
    throw new CommandError("No token was given.", {
      advice: `Type it at the prompt, or pass it on standard input: stackwright login --server ${server} < FILE`,
    });
  }
  const client = clientOf(server, token);
  const caller = await withServerErrors(server, async () => {
    // A token that is typed may be that of a worker; one that a user agreed to may have no role yet.
    const isTyped = options.browser !== true && options.device !== true;
    if (isTyped) await client.listProjects({}, { signal });
    return client.showCaller({}, { signal });
  }).catch((error: unknown) => {
    const { cause } = error as { readonly cause?: unknown };
    if (!isClientError(cause, "unauthenticated")) throw error;
    throw new CommandError(`${server} does not accept the token.`, {
      cause,
      advice: "Ask the server operator for a token. Nothing was stored.",
    });
  });
  const credential = { token, ...(authority !== undefined && { authority }) };
  // Another login may have ended while the user was asked.
  const { servers } = await readCredentials(path);
  await writeCredentials(path, { current: server, servers: { ...servers, [server]: credential } });
  // Whose token it is shows a login that another user agreed to.
  const { user } = caller.data;
  const as = user === undefined ? "" : ` as ${printable(user)}`;
  terminal.write(`Logged in to ${server}${as}. The token is stored in ${path}.\n`);
  if (authority !== undefined) {
    terminal.write(
      `Commands of this user trust its certificate for ${hostname}. Other programs, such as terraform, need SSL_CERT_FILE.\n`,
    );
  }
  return EXIT.ok;
}

async function tokenFor(
  server: string,
  { browser = false, device = false, role }: ServerLoginOptions,
  context: CommandContext,
  clock: Clock,
): Promise<string> {
  const host = { address: server, name: server };
  const { fetch } = globalThis;
  const isDevice =
    device || (browser && isRemote(context.env) && (await offersDeviceLogin(host, context, fetch)));
  if (isDevice) return loginByDevice(host, context, { role, clock, fetch });
  if (role !== undefined) {
    throw new CommandError("A role is chosen with --device alone.", {
      advice: "Make a token with: stackwright tokens create --role ROLE",
    });
  }
  return browser ? loginByBrowser(host, context, fetch) : givenToken(server, context);
}

/** Whether the user is at another machine, whose browser does not reach this one. */
function isRemote({ SSH_CONNECTION, DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv): boolean {
  return SSH_CONNECTION !== undefined && DISPLAY === undefined && WAYLAND_DISPLAY === undefined;
}

async function givenToken(server: string, { terminal, signal }: CommandContext): Promise<string> {
  // What is typed would be shown, and nothing would ask for it.
  if (terminal.typed && !terminal.interactive) {
    const [why, change] = terminal.mayAsk
      ? ["the output is not a terminal", "Leave the output as it is"]
      : ["TF_INPUT allows no questions", "Unset TF_INPUT"];
    throw new CommandError(`The token cannot be asked for: ${why}.`, {
      advice: `${change}, or pass the token on standard input: stackwright login --server ${server} < FILE`,
    });
  }
  const typed = terminal.interactive
    ? await terminal.ask(`Token for ${server}: `, { signal, hidden: true })
    : await terminal.readAll();
  return typed?.trim() ?? "";
}

/** Removes the token of a server from the credentials of the user. The server still accepts it. */
export async function serverLogout(
  { server: text }: { readonly server?: string },
  { terminal, env }: CommandContext,
): Promise<ExitCode> {
  const path = credentialsPath(env);
  const { current, servers } = await readCredentials(path);
  const server = text === undefined ? current : checkedAddress(text);
  if (server === undefined || servers[server] === undefined) {
    throw new CommandError(
      server === undefined ? "You are not logged in." : `You are not logged in to ${server}.`,
    );
  }
  const { [server]: _, ...rest } = servers;
  const next = current === server ? Object.keys(rest)[0] : current;
  await writeCredentials(path, { ...(next !== undefined && { current: next }), servers: rest });
  terminal.write(
    `Logged out of ${server}. The server accepts the token until an administrator revokes it.\n`,
  );
  return EXIT.ok;
}
