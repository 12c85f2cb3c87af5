import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { QuarantineServerOptions } from "./quarantine.ts";

export interface EvictOptions extends QuarantineServerOptions {
  readonly all: boolean;
  readonly toMib?: string;
}

/** Lists the packages of upstream providers that a server keeps, least recently used first. */
export async function providersMirrored(
  { json, server }: QuarantineServerOptions,
  { signal, terminal, ...context }: CommandContext,
): Promise<ExitCode> {
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    write(terminal, (await client.listCachedPackages({}, { signal })).data, json);
    return EXIT.ok;
  });
}

/** Drops packages from the cache of a server; the next who asks for one makes the server fetch it again. */
export async function providersEvict(
  {
    source,
    version,
  }: { readonly source: string | undefined; readonly version: string | undefined },
  { all, toMib, json, server }: EvictOptions,
  { signal, terminal, ...context }: CommandContext,
): Promise<ExitCode> {
  if ([source !== undefined, all, toMib !== undefined].filter(Boolean).length !== 1) {
    throw new CommandError("Name a provider, or give one of --all and --to-mib.");
  }
  const mib = toMib === undefined ? 0 : Number(toMib);
  if (!Number.isInteger(mib) || mib < 0) {
    throw new CommandError(`--to-mib "${toMib}" is not a number of MiB.`);
  }
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    const body = {
      maxBytes: mib * 1024 ** 2,
      ...(source !== undefined && { provider: source }),
      ...(version !== undefined && { version }),
    };
    write(terminal, (await client.evictPackages({ body }, { signal })).data, json);
    return EXIT.ok;
  });
}

type CachedPackages = Awaited<
  ReturnType<Awaited<ReturnType<typeof openServer>>["listCachedPackages"]>
>["data"];

function write(terminal: Terminal, { packages, bytes }: CachedPackages, json: boolean): void {
  if (json) {
    terminal.write(`${JSON.stringify({ packages, bytes }, undefined, 2)}\n`);
    return;
  }
  for (const { provider, version, platform, bytes: size, usedAt } of packages) {
    terminal.write(`${provider} ${version} ${platform}, ${mibOf(size)}, used at ${usedAt}\n`);
  }
  const noun = packages.length === 1 ? "package" : "packages";
  terminal.writeError(`${packages.length} ${noun}, ${mibOf(bytes)}\n`);
}

function mibOf(bytes: number): string {
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
