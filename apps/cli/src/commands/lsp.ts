import { resolve } from "node:path";
import { Readable, Writable } from "node:stream";
import { builtinOrigin, createEngine, type Engine } from "@stackwright/core";
import { createDirectoryFiles, type Diagnostic } from "@stackwright/lang";
import { type LanguageHost, type ProviderSchemas, serveLanguage } from "@stackwright/lang-server";
import type { CommandContext } from "../command-context.ts";
import { commandVersion } from "../command-version.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { commandProvisioners } from "../session/command-provisioners.ts";
import { portOf, withListenErrors } from "../session/listen-error.ts";
import { openModules } from "../session/modules.ts";
import { openEngine } from "../session/open-engine.ts";
import { plannedChanges } from "../session/planned-changes.ts";
import { loadProject, type Project } from "../session/project.ts";
import { acceptSingleClient } from "../session/single-client.ts";
import { TrustedFolders } from "../session/trusted-folders.ts";
import { createTerminal, type TerminalStreams } from "../terminal/terminal.ts";

export interface LspOptions {
  /** Providers are programs, and a folder can bring its own: they are started only where this is true. */
  readonly providers: boolean;
  /** A folder whose providers may be started from now on. */
  readonly trust?: string;
  /** A folder that is asked about again. */
  readonly forget?: string;
  /** Port of loopback for one client, instead of standard input and output. */
  readonly port?: string;
}

/** A client that starts the command for itself connects at once. */
const CLIENT_TIMEOUT_MS = 300_000;

/**
 * Serves one editor until it ends the server. Nothing is installed: what is there is used. With a folder to trust or to forget, it
 * keeps that and ends.
 */
export async function lsp(
  { providers, trust, forget, port }: LspOptions,
  { input, output }: Pick<TerminalStreams, "input" | "output">,
  context: CommandContext,
): Promise<ExitCode> {
  const trusted = new TrustedFolders(context.env);
  if (trust !== undefined || forget !== undefined) {
    const decide = async (folder: string | undefined, decision: "trusted" | undefined) => {
      if (folder === undefined) return;
      await trusted.remember(resolve(context.directory, folder), decision);
    };
    await decide(forget, undefined);
    await decide(trust, "trusted");
    return EXIT.ok;
  }
  if (port !== undefined) return serveSingleClient(portOf(port), providers, trusted, context);
  return serveStreams({ input, output }, providers, trusted, context);
}

async function serveSingleClient(
  port: number,
  providers: boolean,
  trusted: TrustedFolders,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const socket = await withListenErrors(async () =>
    acceptSingleClient({
      port,
      onListening: (address) =>
        terminal.write(`The language server waits for one client at ${address}\n`),
      timeoutMs: CLIENT_TIMEOUT_MS,
      signal,
    }),
  );
  // A connection that breaks ends the server as one that ends.
  socket.on("error", () => socket.destroy());
  return serveStreams({ input: socket, output: socket }, providers, trusted, context);
}

async function serveStreams(
  { input, output }: { readonly input: Readable; readonly output: Writable },
  providers: boolean,
  trusted: TrustedFolders,
  context: CommandContext,
): Promise<ExitCode> {
  await using server = serveLanguage({
    input,
    output,
    version: commandVersion(),
    host: languageHost(context, providers, trusted),
  });
  const aborted = new Promise<1>((end) => {
    context.signal.addEventListener("abort", () => end(1), { once: true });
  });
  const code = await Promise.race([server.ended, aborted]);
  // An editor that keeps its end open must not keep the process.
  input.destroy();
  return code === 0 ? EXIT.ok : EXIT.failed;
}

/** What the language server gets of the command: installed modules and providers. */
function languageHost(
  context: CommandContext,
  providers: boolean,
  trust: TrustedFolders,
): LanguageHost {
  const host = { packages: installedPackages(context), withoutPrograms: builtinProviders(context) };
  return providers ? { ...host, trust, ...installedProviders(context) } : host;
}

function installedPackages(context: CommandContext): Required<LanguageHost>["packages"] {
  return (folder) => ({
    locate: async (request) => {
      const of = contextOf(context, folder);
      const files = createDirectoryFiles(folder, {
        machine: { workingDirectory: folder, home: of.env.HOME ?? "" },
      });
      const { packages } = await openModules(files, of, { mode: "never", offline: true });
      return packages.locate(request);
    },
  });
}

function installedProviders(
  context: CommandContext,
): Required<Pick<LanguageHost, "schemas" | "validate" | "plan">> {
  const asInstalled = async (project: Project, of: CommandContext) =>
    openEngine(project, of, { asInstalled: true });
  return {
    schemas: async (folder, signal) => {
      const of = contextOf(context, folder, signal);
      const project = await loadProject(of, undefined, UNCHANGED);
      await using engine = await asInstalled(project, of);
      return await schemasOf(project, engine, signal);
    },
    validate: async (folder, signal) => {
      const of = contextOf(context, folder, signal);
      const project = await loadProject(of, undefined, UNCHANGED);
      await using engine = await asInstalled(project, of);
      return await diagnosticsOf(project, engine, signal);
    },
    plan: async (folder, signal) => {
      const of = contextOf(context, folder, signal);
      return plannedChanges(await loadProject(of, undefined, UNCHANGED), of);
    },
  };
}

/** What is known without a program: such an engine starts none, whatever a folder brings. */
function builtinProviders(context: CommandContext): Required<LanguageHost>["withoutPrograms"] {
  const load = async (folder: string, signal: AbortSignal) => {
    const of = contextOf(context, folder, signal);
    const project = await loadProject(of, undefined, UNCHANGED);
    const builtin = builtinOrigin();
    const engine = createEngine({
      origins: [builtin],
      stacks: async () => Promise.resolve(undefined),
      provisioners: commandProvisioners(of),
    });
    return { project, builtin, engine };
  };
  return {
    suffices: async (folder, signal) => {
      const { project, builtin } = await load(folder, signal);
      const { requirements } = project.configuration.resolution;
      return [...requirements.values()].every(({ address }) => builtin.handles(address));
    },
    schemas: async (folder, signal) => {
      const { project, engine } = await load(folder, signal);
      return schemasOf(project, engine, signal);
    },
    validate: async (folder, signal) => {
      const { project, engine } = await load(folder, signal);
      return diagnosticsOf(project, engine, signal);
    },
  };
}

async function schemasOf(
  project: Project,
  { catalog }: Engine,
  signal: AbortSignal,
): Promise<Map<string, ProviderSchemas>> {
  const found = new Map<string, ProviderSchemas>();
  for (const [source, requirement] of project.configuration.resolution.requirements) {
    const { address, constraints } = requirement;
    try {
      const version = await catalog.select({ address, constraints });
      const [opened] = await catalog.open({ source, version, alias: "" });
      await using provider = opened.provider;
      found.set(source, (await provider.schema({ signal })).schema);
    } catch {
      // One that is not installed is asked again when a file is saved.
      signal.throwIfAborted();
    }
  }
  return found;
}

async function diagnosticsOf(
  { configuration }: Project,
  engine: Engine,
  signal: AbortSignal,
): Promise<readonly Diagnostic[]> {
  return (await engine.validate({ configuration, signal })).diagnostics;
}

const UNCHANGED = { mode: "never", offline: true, quiet: true } as const;

/** A command in a folder of the editor's workspace, which writes nothing: the output is the protocol's. */
function contextOf(
  context: CommandContext,
  folder: string,
  signal: AbortSignal = context.signal,
): CommandContext {
  const { env } = context;
  const nothing = new Writable({ write: (_chunk, _encoding, done) => done() });
  return {
    ...context,
    directory: folder,
    workingDirectory: folder,
    signal: AbortSignal.any([signal, context.signal]),
    terminal: createTerminal({ input: Readable.from([]), output: nothing, error: nothing, env }),
  };
}
