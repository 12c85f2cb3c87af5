import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { TfpluginError } from "@stackwright/tfplugin";
import { launchTerraformProvider } from "@stackwright/tfplugin/launch";
import { openReloadingTransport, startReattachServer } from "@stackwright/tfplugin/serve";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type ProviderProject, readProviderProject } from "../provider-kit/project-file.ts";
import { codeFolders, providerCommand } from "../provider-kit/provider-command.ts";
import { watchCode } from "../provider-kit/watch-code.ts";
import { printable } from "../terminal/printable.ts";

export interface ProviderDevOptions {
  /** Starts the provider again when its code changes. */
  readonly watch: boolean;
  /** Port of the debugger; true for any free one. */
  readonly inspect?: string | true;
}

/**
 * Keeps the provider of the folder running for templates, until it is stopped: prints how a template uses it, shows what it logs, and
 * starts it again when its code changes.
 */
export async function providerDev(
  { watch, inspect }: ProviderDevOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal, forceSignal } = context;
  const project = await readProviderProject(context);
  const source = project.address.toString();
  const command = providerCommand(project.command, {
    ...context,
    nodeOptions: inspect === undefined ? [] : [inspectOption(inspect)],
  });
  const problem = (what: string) => (error: unknown) => {
    const text = error instanceof Error ? error.message : String(error);
    terminal.writeError(`${what}: ${printable(text)}\n`);
  };
  const start = async () => {
    const launched = await launchTerraformProvider({
      ...command,
      signal,
      onLog: ({ level, message }) => {
        if (level === "trace" || level === "debug") return;
        terminal.writeError(`${project.name}: ${printable(message)}\n`);
      },
    });
    return launched.transport;
  };
  const transport = await openReloadingTransport({
    start,
    onProblem: problem("The changed provider was not started, the one from before stays"),
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    if (!(error instanceof TfpluginError)) throw error;
    throw new CommandError(`The provider does not start: ${printable(error.message)}`, {
      cause: error,
      advice: "Its command is in stackwright.provider.json; npm install brings its libraries.",
    });
  });
  await using server = await startReattachServer({
    name: source,
    provider: transport,
    onError: problem("A call failed"),
  });
  const reloaded = async (): Promise<void> => {
    if (await transport.reload()) terminal.writeError(`${source} was started again\n`);
  };
  terminal.write(usageText(project, server.variable.TF_REATTACH_PROVIDERS));
  using _watching = watch
    ? watchCode(codeFolders(project.command, project.directory), {
        programs: new Set(project.command.map((word) => basename(word))),
        onChange: () => {
          void reloaded();
        },
        onProblem: problem("Not all changes of the code are seen"),
      })
    : undefined;
  await Promise.race([aborted(signal), aborted(forceSignal)]);
  return EXIT.ok;
}

function usageText({ address, directory, name }: ProviderProject, variable: string): string {
  const source = address.toString();
  const bin = join(directory, "bin");
  const overrides = existsSync(join(bin, `terraform-provider-${name}`))
    ? [
        "",
        "Or start it with each run instead, by the file that TF_CLI_CONFIG_FILE names:",
        "",
        "  provider_installation {",
        "    dev_overrides {",
        `      ${JSON.stringify(source)} = ${JSON.stringify(bin)}`,
        "    }",
        "    direct {}",
        "  }",
      ]
    : [];
  return [
    `${source} is running. In the terminal that runs stackwright or terraform:`,
    "",
    `  export TF_REATTACH_PROVIDERS='${variable.replaceAll("'", "'\\''")}'`,
    ...overrides,
    "",
    "In the template:",
    "",
    `  terraform { required_providers { ${name} = { source = ${JSON.stringify(source)} } } }`,
    "",
    "",
  ].join("\n");
}

function inspectOption(port: string | true): string {
  if (port === true) return "--inspect=127.0.0.1:0";
  if (/^\d{1,5}$/.test(port) && Number(port) < 65_536) return `--inspect=127.0.0.1:${port}`;
  throw new CommandError(`--inspect takes a port, and not "${printable(port)}".`);
}

async function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });
}
