import { openProgramMux, type ProgramMux, type ProviderLog } from "@stackwright/core";
import { runProvider } from "@stackwright/mux/host";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { openProgramEngine } from "../session/program-engine.ts";
import { providerLogs } from "../session/provider-logs.ts";
import type { MuxOptions } from "./mux.ts";

/**
 * Makes this process a provider of Pulumi's protocol: the programs of the file as one. Standard output has the port alone.
 *
 * @param argv what engines give to a provider: flags, and the address of the engine
 */
export async function muxServe(
  argv: readonly string[],
  options: MuxOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { terminal, signal } = context;
  const ownLog = providerLogs(context, "info");
  let toEngine: ((entry: ProviderLog) => void) | undefined;
  await using opened = await openProgramEngine(options, context, {
    onLog: (entry) => (toEngine ?? ownLog)(entry),
    restarts: true,
  });
  const { source, entry, engine } = opened;
  let running: ProgramMux | undefined;
  try {
    await runProvider(
      async (host) => {
        toEngine = ({ severity, message, urn }) => {
          if (!host.isAttached) ownLog({ provider: source, severity, message });
          else if (severity !== "debug") {
            // An engine that is gone drops it.
            void host.log({ severity, message, ...(urn !== undefined && { urn }) });
          }
        };
        const programs = await openProgramMux(source, entry, {
          origins: engine.programOrigins,
          host,
          signal,
        });
        running = programs;
        for (const { name, health, reason = "" } of programs.mux.status.servers) {
          if (health !== "absent") continue;
          const text = `The program "${name}" of ${source} is absent and tried again: ${reason}`;
          terminal.writeError(`Warning: ${text}\n`);
          await host.log({ severity: "warning", message: text });
        }
        return programs.provider;
      },
      {
        argv,
        announce: (line) => terminal.write(`${line}\n`),
        stopSignals: [],
        signal,
      },
    );
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MUX_ENGINE_UNREACHABLE") {
      throw new CommandError(error.message, {
        cause: error,
        advice: "Give the address of an engine that runs, or none: mux serve -- HOST:PORT",
      });
    }
    throw error;
  } finally {
    await running?.close();
  }
  return EXIT.ok;
}
