import { ProviderAddress } from "@stackwright/provider-source";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import { printable } from "../terminal/printable.ts";

export interface QuarantineServerOptions {
  readonly server?: string;
  readonly json: boolean;
}

export interface QuarantineOptions extends QuarantineServerOptions {
  readonly reason: string;
  /** Offers the version again. */
  readonly lift: boolean;
}

/** Puts a version of a provider that a server mirrors into quarantine, or takes it out. */
export async function providersQuarantine(
  { source, version }: { readonly source: string; readonly version: string },
  { lift, reason, json, server }: QuarantineOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { host, namespace, type } = addressOf(source);
  const client = await openServer(context, server);
  const at = { host, namespace, type, version };
  const { signal, terminal } = context;
  return withServerErrors(client.server, async () => {
    if (lift) {
      await client.releaseVersion(at, { signal });
      terminal.write(json ? "{}\n" : `Out of quarantine: ${source} ${version}\n`);
      return EXIT.ok;
    }
    const { data } = await client.quarantineVersion({ ...at, body: { reason } }, { signal });
    const text = `In quarantine: ${data.provider} ${version}\n`;
    terminal.write(json ? `${JSON.stringify(data, undefined, 2)}\n` : text);
    return EXIT.ok;
  });
}

/** Lists the versions that are in quarantine. */
export async function providersQuarantined(
  { json, server }: QuarantineServerOptions,
  { signal, terminal, ...context }: CommandContext,
): Promise<ExitCode> {
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    const { versions } = (await client.listQuarantined({}, { signal })).data;
    if (json) terminal.write(`${JSON.stringify(versions, undefined, 2)}\n`);
    else if (versions.length === 0) terminal.writeError("No version is in quarantine.\n");
    else {
      for (const { provider, version, reason, at, actor } of versions) {
        const why = reason === "" ? "" : `: ${reason}`;
        terminal.write(`${printable(`${provider} ${version}, since ${at} by ${actor}${why}`)}\n`);
      }
    }
    return EXIT.ok;
  });
}

function addressOf(source: string): ProviderAddress {
  try {
    return ProviderAddress.parse(source);
  } catch (error) {
    throw new CommandError(`"${source}" does not name a provider.`, { cause: error });
  }
}
