import type { Operations } from "@stackwright/client";
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
    // What is done is said also where the question about stacks fails.
    if (!json) terminal.write(`In quarantine: ${data.provider} ${version}\n`);
    const used = { kind: "provider", name: data.provider, version } as const;
    const { uses } = (await client.listUses(used, { signal })).data;
    const whole = `${JSON.stringify({ ...data, stacks: uses }, undefined, 2)}\n`;
    terminal.write(json ? whole : textOf(uses));
    return EXIT.ok;
  });
}

/** What became of the stacks whose objects were written with a version that is in quarantine now. */
function textOf(uses: Operations["ListUses"]["output"]["uses"]): string {
  if (uses.length === 0) return "No stack has objects of it under this address.\n";
  const [stacks, have] = uses.length === 1 ? ["stack", "has"] : ["stacks", "have"];
  const lines = uses.map(({ project, stack, resources = 0 }) =>
    printable(`  ${project}/${stack}: ${resources} ${resources === 1 ? "resource" : "resources"}`),
  );
  return `${uses.length} ${stacks} ${have} objects of it; runs that would start this version are refused:\n${lines.join("\n")}\n`;
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
