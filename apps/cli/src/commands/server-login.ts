import { isClientError } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { checkedAddress, clientOf, withServerErrors } from "../runs/open-server.ts";
import { credentialsPath, readCredentials, writeCredentials } from "../runs/server-credentials.ts";
import { loginByBrowser } from "../session/browser-login.ts";

/**
 * Checks a token with its server and stores it for the user. It is read from a prompt, or from standard input, or is one that the server
 * gives once the user has agreed in a browser.
 */
export async function serverLogin(
  { server: text, browser = false }: { readonly server: string; readonly browser?: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, env, signal } = context;
  const server = checkedAddress(text);
  const { hostname, protocol } = new URL(server);
  const isLoopback = /^(?:localhost|127\..*|\[::1\])$/.test(hostname);
  if (protocol === "http:" && !isLoopback) {
    terminal.writeError(
      "Warning: the connection is not encrypted; the token can be read on the network.\n",
    );
  }
  const token = browser
    ? await loginByBrowser({ address: server, name: server }, context, globalThis.fetch)
    : await givenToken(server, context);
  if (token === "") {
    throw new CommandError("No token was given.", {
      advice: "Type it at the prompt, or pass it on standard input: stackwright login < FILE",
    });
  }
  const client = clientOf(server, token);
  await withServerErrors(server, async () => client.listProjects({}, { signal })).catch(
    (error: unknown) => {
      const { cause } = error as { readonly cause?: unknown };
      if (!isClientError(cause, "unauthenticated")) throw error;
      throw new CommandError(`${server} does not accept the token.`, {
        cause,
        advice: "Ask the server operator for a token. Nothing was stored.",
      });
    },
  );
  const path = credentialsPath(env);
  const { servers } = await readCredentials(path);
  await writeCredentials(path, { current: server, servers: { ...servers, [server]: { token } } });
  terminal.write(`Logged in to ${server}. The token is stored in ${path}.\n`);
  return EXIT.ok;
}

async function givenToken(server: string, { terminal, signal }: CommandContext): Promise<string> {
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
