import { existsSync } from "node:fs";
import { basename, join } from "node:path";
import { type PluginTransport, TfpluginError } from "@stackwright/tfplugin";
import { launchTerraformProvider, type ProviderLogEntry } from "@stackwright/tfplugin/launch";
import {
  openReloadingTransport,
  type ReloadingTransport,
  startReattachServer,
} from "@stackwright/tfplugin/serve";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { type DebuggerRelay, startDebuggerRelay } from "../provider-kit/debugger-relay.ts";
import { type ProviderProject, readProviderProject } from "../provider-kit/project-file.ts";
import { codeFolders, providerCommand } from "../provider-kit/provider-command.ts";
import { watchCode } from "../provider-kit/watch-code.ts";
import { printable, printableLines } from "../terminal/printable.ts";

export interface ProviderDevOptions {
  /** Starts the provider again when its code changes. */
  readonly watch: boolean;
  /** Port of the debugger; true for any free one. */
  readonly inspect?: string | true;
  /** Runs the provider as the function of this file, or of `functions.json`, in place of its program. */
  readonly function?: string | true;
}

/** As new projects have it. */
const FUNCTIONS_FILE = "functions.json";

/**
 * Keeps the provider of the folder running for templates, until it is stopped: prints how a template uses it, shows what it logs, and
 * starts it again when its code changes.
 */
export async function providerDev(
  options: ProviderDevOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal, forceSignal } = context;
  const project = await readProviderProject(context);
  await using provider =
    options.function === undefined
      ? await openProgram(project, options, context)
      : await openFunction(project, options, context);
  await using server = await startReattachServer({
    name: project.address.toString(),
    provider: provider.transport,
    onError: reporter(context, "A call failed"),
  });
  terminal.write(
    usageText(project, server.variable.TF_REATTACH_PROVIDERS, options.function !== undefined),
  );
  provider.watch();
  await Promise.race([aborted(signal), aborted(forceSignal)]);
  return EXIT.ok;
}

/** A provider that templates are connected to. */
interface DevelopedProvider extends AsyncDisposable {
  readonly transport: PluginTransport;
  /** From now on changes of the code start it again, where that is wanted; those of its start count as one. */
  watch(): void;
}

/** Shows an error with what it is about. */
function reporter({ terminal }: CommandContext, what: string): (error: unknown) => void {
  return (error) => {
    const text = error instanceof Error ? error.message : String(error);
    terminal.writeError(`${what}: ${printableLines(text)}\n`);
  };
}

/** The provider as a program. */
async function openProgram(
  project: ProviderProject,
  { watch, inspect }: ProviderDevOptions,
  context: CommandContext,
): Promise<DevelopedProvider> {
  const { terminal, signal } = context;
  await using cleanup = new AsyncDisposableStack();
  const relay = inspect === undefined ? undefined : await openRelay(project, inspect);
  if (relay !== undefined) cleanup.use(relay);
  const command = providerCommand(project.command, {
    ...context,
    nodeOptions: relay === undefined ? [] : ["--inspect=127.0.0.1:0"],
  });
  const start = async () => {
    let held: string[] | undefined = [];
    const showHeld = (): void => {
      for (const line of held ?? []) terminal.writeError(line);
      held = undefined;
    };
    try {
      const launched = await launchTerraformProvider({
        ...command,
        signal,
        onLog: (entry) => {
          if (relay?.follow(entry.message) === true || !isShown(entry)) return;
          const line = `${project.name}: ${printable(entry.message)}\n`;
          if (held === undefined) terminal.writeError(line);
          else held.push(line);
        },
      });
      showHeld();
      return launched.transport;
    } catch (error) {
      // The error of a program that has ended has its last lines.
      if (!TfpluginError.is(error, "TFPLUGIN_START_EXITED")) showHeld();
      throw error;
    }
  };
  // What changes of the code start again, from when on that is wanted; its code may change while it starts as well.
  let followed: ReloadingTransport | undefined;
  let hasChanged = false;
  const followChanges = async (): Promise<void> => {
    if (followed === undefined) {
      hasChanged = true;
      return;
    }
    if (await followed.reload())
      terminal.writeError(`${project.address.toString()} was started again\n`);
  };
  if (watch) {
    cleanup.use(
      watchCode(codeFolders(project.command, project.directory), {
        programs: new Set(project.command.map((word) => basename(word))),
        onChange: () => void followChanges(),
        onProblem: reporter(context, "Not all changes of the code are seen"),
      }),
    );
  }
  const transport = await openReloadingTransport({
    start,
    onProblem: reporter(context, "The changed provider was not started, the one from before stays"),
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    if (!(error instanceof TfpluginError)) throw error;
    throw new CommandError(`The provider does not start: ${printableLines(error.message)}`, {
      cause: error,
      advice: "Its command is in stackwright.provider.json; npm install brings its libraries.",
    });
  });
  if (relay !== undefined) {
    terminal.writeError(
      `Debuggers find the provider at 127.0.0.1:${relay.port}, also after changes\n`,
    );
  }
  const held = cleanup.move();
  return {
    transport,
    watch: () => {
      followed = transport;
      if (hasChanged) void followChanges();
    },
    [Symbol.asyncDispose]: async () => held.disposeAsync(),
  };
}

/** Whether an entry is for an author: what the provider logs from `info` on, and lines without a level, as `console.error` writes them. */
function isShown({ level, message, module, timestamp }: ProviderLogEntry): boolean {
  if (level !== "trace" && level !== "debug") return true;
  const isStructured = module !== undefined || timestamp !== undefined;
  return !isStructured && !/\[(?:TRACE|DEBUG)\]/.test(message);
}

/** The provider as a function: a local function runtime of its own runs it, and each call passes through the contract. */
async function openFunction(
  project: ProviderProject,
  { watch, inspect, function: file }: ProviderDevOptions,
  context: CommandContext,
): Promise<DevelopedProvider> {
  if (inspect !== undefined) {
    throw new CommandError("--inspect is for the program, and not for --function.", {
      advice: "Leave one of them out.",
    });
  }
  const { startDevelopedFunction } = await import("../provider-kit/developed-function.ts");
  return startDevelopedFunction(
    { path: join(project.directory, file === true ? FUNCTIONS_FILE : (file ?? "")), watch },
    context,
  );
}

function usageText(
  { address, directory, name }: ProviderProject,
  variable: string,
  isFunction: boolean,
): string {
  const source = address.toString();
  const bin = join(directory, "bin");
  const overrides =
    !isFunction && existsSync(join(bin, `terraform-provider-${name}`))
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
    `${source} is running${isFunction ? " as a function" : ""}. In the terminal that runs stackwright or terraform:`,
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

async function openRelay(
  { command }: ProviderProject,
  port: string | true,
): Promise<DebuggerRelay> {
  if (port !== true && (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)) {
    throw new CommandError(`--inspect takes a port, and not "${printable(port)}".`);
  }
  if (command[0] !== "node") {
    throw new CommandError("--inspect is for providers that Node runs.", {
      advice: 'The "command" in stackwright.provider.json begins with "node" then.',
    });
  }
  return startDebuggerRelay(port === true ? 0 : Number(port)).catch((cause: unknown) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CommandError(`--inspect cannot listen: ${printable(reason)}`, {
      cause,
      advice: "Name another port, or none for any free one.",
    });
  });
}

async function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener("abort", () => done(), { once: true });
  });
}
