import { Readable, Writable } from "node:stream";
import { createDirectoryFiles, type Diagnostic } from "@stackwright/lang";
import { type LanguageHost, type ProviderSchemas, serveLanguage } from "@stackwright/lang-server";
import type { CommandContext } from "../command-context.ts";
import { commandVersion } from "../command-version.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openModules } from "../session/modules.ts";
import { openEngine } from "../session/open-engine.ts";
import { loadProject } from "../session/project.ts";
import { createTerminal, type TerminalStreams } from "../terminal/terminal.ts";

export interface LspOptions {
  /** Providers are programs, and a folder can bring its own: they are started only where this is true. */
  readonly providers: boolean;
}

/** Serves one editor until it ends the server. Nothing is installed: what is there is used. */
export async function lsp(
  { providers }: LspOptions,
  { input, output }: Pick<TerminalStreams, "input" | "output">,
  context: CommandContext,
): Promise<ExitCode> {
  await using server = serveLanguage({
    input,
    output,
    version: commandVersion(),
    host: languageHost(context, providers),
  });
  const aborted = new Promise<1>((resolve) => {
    context.signal.addEventListener("abort", () => resolve(1), { once: true });
  });
  const code = await Promise.race([server.ended, aborted]);
  // An editor that keeps its end open must not keep the process.
  input.destroy();
  return code === 0 ? EXIT.ok : EXIT.failed;
}

/** What the language server gets of the command: installed modules and providers. */
function languageHost(context: CommandContext, providers: boolean): LanguageHost {
  const packages = installedPackages(context);
  return providers ? { packages, ...installedProviders(context) } : { packages };
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
): Required<Pick<LanguageHost, "schemas" | "validate">> {
  return {
    schemas: async (folder, signal) => {
      const of = contextOf(context, folder, signal);
      const project = await loadProject(of, undefined, UNCHANGED);
      await using engine = await openEngine(project, of, { asInstalled: true });
      const found = new Map<string, ProviderSchemas>();
      for (const [source, requirement] of project.configuration.resolution.requirements) {
        const { address, constraints } = requirement;
        try {
          const version = await engine.catalog.select({ address, constraints });
          const [opened] = await engine.catalog.open({ source, version, alias: "" });
          await using provider = opened.provider;
          found.set(source, (await provider.schema({ signal })).schema);
        } catch {
          // One that is not installed is asked again when a file is saved.
          signal.throwIfAborted();
        }
      }
      return found;
    },
    validate: async (folder, signal): Promise<readonly Diagnostic[]> => {
      const of = contextOf(context, folder, signal);
      const project = await loadProject(of, undefined, UNCHANGED);
      await using engine = await openEngine(project, of, { asInstalled: true });
      const { configuration } = project;
      return (await engine.validate({ configuration, signal })).diagnostics;
    },
  };
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
