import { basename } from "node:path";
import type { LifecycleProvider } from "@stackwright/mux/router";
import { createPluginClient } from "@stackwright/tfplugin";
import { launchTerraformProvider, type ProviderLogEntry } from "@stackwright/tfplugin/launch";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { providerCommand } from "./provider-command.ts";

/** What a provider is reached by. */
export type ProviderTarget =
  | { readonly kind: "terraform" | "pulumi"; readonly words: readonly string[] }
  | { readonly kind: "function"; readonly url: string };

/** A provider under test: every call of `open` is a process, or a connection, of its own. */
interface TestedProvider extends AsyncDisposable {
  readonly open: (options: { readonly signal: AbortSignal }) => Promise<LifecycleProvider>;
  /** What it has logged, as far as it is kept; undefined where its log stays elsewhere. */
  readonly logs: (() => readonly string[]) | undefined;
}

/** A provider decides how much it logs; beyond this, older lines are dropped. */
const MAX_LINES = 20_000;
const MAX_LINE = 16 * 1024;

/** Prepares the start of a provider of any kind. */
export async function openTestedProvider(
  target: ProviderTarget,
  { directory, env }: Pick<CommandContext, "directory" | "env">,
  options: { readonly timeoutMs: number },
): Promise<TestedProvider> {
  if (target.kind === "function") return functionProvider(target.url, options);
  const lines: string[] = [];
  const keep = (line: string): void => {
    lines.push(line.slice(0, MAX_LINE));
    if (lines.length > MAX_LINES) lines.splice(0, MAX_LINES / 2);
  };
  const command = providerCommand(target.words, { directory, env });
  const common = { logs: () => lines, [Symbol.asyncDispose]: async () => Promise.resolve() };
  if (target.kind === "pulumi") {
    const { pulumiOrigin } = await import("@stackwright/core");
    const name = basename(command.command).replace(/^pulumi-resource-/, "");
    const origin = pulumiOrigin({
      providers: { [name]: { command: command.command, args: command.args, env: command.env } },
      onLog: ({ message }) => keep(message),
    });
    return {
      ...common,
      open: async ({ signal }) => {
        const reference = { source: `stackwright.local/pulumi/${name}`, version: "", alias: "" };
        const [opened] = await origin.open(reference, { signal });
        return opened.provider;
      },
    };
  }
  return {
    ...common,
    open: async ({ signal }) => {
      const launched = await launchTerraformProvider({
        ...command,
        signal,
        startTimeoutMs: options.timeoutMs,
        onLog: (entry) => keep(textOf(entry)),
      });
      return createPluginClient(launched.transport);
    },
  };
}

/** The command may call any address: its user names it. */
async function functionProvider(
  url: string,
  { timeoutMs }: { readonly timeoutMs: number },
): Promise<TestedProvider> {
  const { FunctionCaller, FunctionTargetTable, isFgBridgeError } = await import(
    "@stackwright/fg-bridge"
  );
  const project = "0".repeat(32);
  const urn = `urn:fss:local:${project}:function:default:tested:latest`;
  try {
    const targets = new FunctionTargetTable({
      functions: { [urn]: { url } },
      guard: { allow: ["0.0.0.0/0", "::/0"] },
    });
    const target = targets.resolve(urn, { projects: [project] });
    const caller = new FunctionCaller({
      timeouts: { connectMs: 3000, firstByteMs: timeoutMs, totalMs: timeoutMs },
    });
    return {
      open: async () => createPluginClient(caller.transport({ target })),
      logs: undefined,
      [Symbol.asyncDispose]: async () => targets[Symbol.asyncDispose](),
    };
  } catch (error) {
    if (!isFgBridgeError(error)) throw error;
    throw new CommandError(`The function at ${url} cannot be called: ${error.message}.`, {
      cause: error,
      advice: "A function has an address such as http://127.0.0.1:8000.",
    });
  }
}

function textOf({ message, fields }: ProviderLogEntry): string {
  const more = Object.keys(fields).length === 0 ? "" : ` ${JSON.stringify(fields)}`;
  return message + more;
}
