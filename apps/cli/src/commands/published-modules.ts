import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { PublishedModule, PublishedModuleVersion, UploadBody } from "@stackwright/client";
import { moduleCacheFolder } from "@stackwright/core";
import { ModuleError, parseModuleSource } from "@stackwright/lang";
import { isStrictVersion } from "@stackwright/provider-source";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openServer, withServerErrors } from "../runs/open-server.ts";
import { packConfiguration } from "../runs/pack-configuration.ts";
import { printable } from "../terminal/printable.ts";

/** Options of all commands about the private modules of a server. */
export interface PublishedModuleOptions {
  readonly server?: string;
  readonly json: boolean;
}

interface PublishOptions extends PublishedModuleOptions {
  readonly from?: string;
  readonly archive?: string;
}

/** A package to publish. */
interface Package {
  readonly body: UploadBody;
  readonly source?: string;
  readonly commit?: string;
  readonly withheld: readonly string[];
}

/** Publishes a version of a module: a folder, an archive, or what a source such as a tag of a git repository leads to. */
export async function modulesPublish(
  { address, version, folder }: { address: string; version: string; folder: string | undefined },
  options: PublishOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const module = moduleOf(address);
  if (!isStrictVersion(version)) {
    throw new CommandError(`"${printable(version)}" is not a version.`, {
      advice: "Write one with three numbers, such as 1.2.0.",
    });
  }
  const { from, archive, json, server } = options;
  if ([folder, from, archive].filter((one) => one !== undefined).length > 1) {
    throw new CommandError("Name one of a folder, --archive and --from.");
  }
  const client = await openServer(context, server);
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-publish-"));
  const { withheld, ...given } = await packageOf({ folder, from, archive }, scratch.path, context);
  return await withServerErrors(client.server, async () => {
    const request = { ...module, version, ...given };
    const { data, status } = await client.publishModule(request, { signal: context.signal });
    for (const path of withheld) {
      context.terminal.writeError(`Not published, as it may hold secrets: ${printable(path)}\n`);
    }
    const said = status === 201 ? "Published" : "Was published before:";
    const text = `${said} ${address} ${version}, digest ${data.digest}\n`;
    context.terminal.write(json ? `${JSON.stringify(data, undefined, 2)}\n` : text);
    return EXIT.ok;
  });
}

/** Lists the private modules of the account. */
export async function modulesList(
  { json, server }: PublishedModuleOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    const { modules } = (await client.listModules({}, { signal: context.signal })).data;
    if (json) context.terminal.write(`${JSON.stringify(modules, undefined, 2)}\n`);
    else if (modules.length === 0) context.terminal.writeError("The account has no modules.\n");
    else for (const module of modules) context.terminal.write(`${lineOf(module)}\n`);
    return EXIT.ok;
  });
}

/** Shows what a version of a module takes and gives, by default the latest. */
export async function modulesShow(
  { address, version }: { address: string; version: string | undefined },
  { json, server }: PublishedModuleOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const module = moduleOf(address);
  const { signal, terminal } = context;
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    const { versions, latest } = (await client.showModule(module, { signal })).data;
    const shown = version ?? latest ?? versions[0]?.version ?? "";
    const { data } = await client.showModuleVersion({ ...module, version: shown }, { signal });
    if (json) {
      terminal.write(`${JSON.stringify({ ...data, versions }, undefined, 2)}\n`);
      return EXIT.ok;
    }
    const lines = [`${address} ${shown}${stateOf(data.version)}`];
    lines.push(`versions: ${versions.map((one) => one.version + stateOf(one)).join(", ")}`);
    if (data.version.source !== undefined) lines.push(`source: ${data.version.source}`);
    for (const { path, inputs, outputs, providers } of data.modules) {
      lines.push("", path === "" ? "module" : path);
      for (const { name, source, version: wanted } of providers) {
        lines.push(`  provider ${name} ${source} ${wanted}`.trimEnd());
      }
      for (const input of inputs) {
        const value = input.default === undefined ? "required" : `default ${input.default}`;
        lines.push(
          `  input ${input.name} (${input.type}, ${value}) ${input.description}`.trimEnd(),
        );
      }
      for (const { name, description } of outputs) {
        lines.push(`  output ${name} ${description}`.trimEnd());
      }
    }
    terminal.write(lines.map((line) => `${printable(line)}\n`).join(""));
    return EXIT.ok;
  });
}

/** Withdraws a version of a module. */
export async function modulesWithdraw(
  { address, version }: { address: string; version: string },
  { json, server, reason }: PublishedModuleOptions & { readonly reason?: string },
  context: CommandContext,
): Promise<ExitCode> {
  const module = moduleOf(address);
  const client = await openServer(context, server);
  return withServerErrors(client.server, async () => {
    const request = { ...module, version, ...(reason !== undefined && { reason }) };
    const { data } = await client.withdrawModule(request, { signal: context.signal });
    const isKept = reason !== undefined && data.withdrawn_reason !== reason;
    const text = isKept
      ? `Was withdrawn before: ${address} ${version}${stateOf(data)}. Its reason stays.`
      : `Withdrew ${address} ${version}. The number stays taken.`;
    context.terminal.write(
      json ? `${JSON.stringify(data, undefined, 2)}\n` : `${printable(text)}\n`,
    );
    return EXIT.ok;
  });
}

function moduleOf(address: string): { namespace: string; name: string; system: string } {
  const [namespace = "", name = "", system = "", ...more] = address.split("/");
  if (namespace !== "" && name !== "" && system !== "" && more.length === 0) {
    return { namespace, name, system };
  }
  throw new CommandError(`"${address}" does not name a module.`, {
    advice: "Use NAMESPACE/NAME/SYSTEM, for example acme/network/aws.",
  });
}

async function packageOf(
  given: {
    readonly folder: string | undefined;
    readonly from: string | undefined;
    readonly archive: string | undefined;
  },
  scratch: string,
  context: CommandContext,
): Promise<Package> {
  const { signal, workingDirectory } = context;
  const { from, archive, folder = "." } = given;
  if (archive !== undefined) {
    const path = resolve(workingDirectory, archive);
    const body = await readFile(path, { signal }).catch((cause: unknown) => {
      throw new CommandError(`The archive "${archive}" cannot be read.`, { cause });
    });
    return { body, withheld: [] };
  }
  if (from !== undefined) return fetched(from, scratch, context);
  const { content, withheld } = await packConfiguration(resolve(workingDirectory, folder), signal);
  return { body: content, withheld };
}

/** The package that a module source leads to, such as `git::https://example.com/net.git?ref=v1.2.0`. */
async function fetched(from: string, scratch: string, context: CommandContext): Promise<Package> {
  const { env, signal, directory } = context;
  const [{ PackageFetcher }, { loadCliConfiguration }] = await Promise.all([
    import("@stackwright/core/modules"),
    import("@stackwright/tfplugin/install"),
  ]);
  const { hideCredentials } = await import("@stackwright/lang");
  try {
    const source = parseModuleSource(from);
    if (source.kind !== "remote") {
      throw new CommandError(`"${from}" is not the address of a package.`, {
        advice: "Use the address of a repository or an archive, such as git::URL?ref=v1.2.0.",
      });
    }
    const configuration = await loadCliConfiguration({ env, cwd: directory });
    const cache = moduleCacheFolder(env);
    const fetcher = await PackageFetcher.open({ cache, env, configuration, signal });
    const found = await fetcher.resolve(source, undefined, undefined);
    const place = join(scratch, "package");
    if (!(await fetcher.copy(found, place)))
      throw new CommandError("The package changed; try again.");
    const { content, withheld } = await packConfiguration(join(place, source.folder), signal);
    return {
      body: content,
      withheld,
      source: hideCredentials(from),
      ...(found.commit !== undefined && { commit: found.commit }),
    };
  } catch (error) {
    if (!(error instanceof ModuleError)) throw error;
    throw new CommandError(`${error.summary}: ${error.message}`, { cause: error });
  }
}

function lineOf({ namespace, name, system, latest, versions }: PublishedModule): string {
  const count = versions.filter((one) => one.withdrawn_at === undefined).length;
  const offered = `${count} ${count === 1 ? "version" : "versions"}`;
  return printable(`${namespace}/${name}/${system}: ${latest ?? "none"}, ${offered}`);
}

function stateOf({ withdrawn_at: at, withdrawn_reason: reason }: PublishedModuleVersion): string {
  if (at === undefined) return "";
  return reason === undefined ? " (withdrawn)" : ` (withdrawn: ${reason})`;
}
