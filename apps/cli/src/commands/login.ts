import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { loginByBrowser } from "../session/browser-login.ts";
import { credentialsPath, storeToken } from "../session/host-credentials.ts";
import type { Fetch } from "../session/host-services.ts";

/** Obtains a token of a host by its service `login.v1` and stores it where the reference command does. */
export async function login(
  given: string,
  context: CommandContext,
  fetch: Fetch = globalThis.fetch,
): Promise<ExitCode> {
  const host = hostOf(given);
  const token = await loginByBrowser({ address: `https://${host}`, name: host }, context, fetch);
  const path = credentialsPath(context);
  await storeToken(path, host, token);
  context.terminal.write(`Stored the token of ${host} in "${path}".\n`);
  return EXIT.ok;
}

/** Removes the stored token of a host. The token itself stays valid. */
export async function logout(given: string, context: CommandContext): Promise<ExitCode> {
  const host = hostOf(given);
  const removed = await storeToken(credentialsPath(context), host, undefined);
  context.terminal.write(
    removed ? `Removed the token of ${host}.\n` : `No token of ${host} is stored.\n`,
  );
  return EXIT.ok;
}

function hostOf(text: string): string {
  const host = text.toLowerCase();
  if (/^[a-z0-9.-]+(?::\d+)?$/.test(host)) return host.replace(/:443$/, "");
  throw new CommandError(`Invalid host: "${text}".`, {
    advice: "Use a host name, for example registry.example.com. A server is named by --server URL.",
  });
}
