import { JOINED_PROVIDERS_FILE, type JoinedProvider, type ProviderLog } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { type CommandEngine, openEngine } from "./open-engine.ts";
import { loadProject, type Project } from "./project.ts";
import { openReader } from "./session.ts";

export interface ProgramEngineOptions {
  /** A source of the file, or its last part. */
  readonly provider?: string;
  readonly store?: string;
  readonly registry?: string;
}

/** A provider of several programs with the engine that knows where they come from. */
interface ProgramEngine extends AsyncDisposable {
  readonly source: string;
  readonly entry: JoinedProvider;
  readonly engine: CommandEngine;
}

/**
 * Chooses a provider of the file of joined providers, and installs what its programs need. Where it may start without some of
 * them, a failed installation is a warning.
 */
export async function openProgramEngine(
  options: ProgramEngineOptions,
  context: CommandContext,
  how: { readonly onLog?: (entry: ProviderLog) => void; readonly restarts?: boolean } = {},
): Promise<ProgramEngine> {
  const project = await loadProject(context);
  const [source, entry] = chosen(project, options.provider);
  const session = await openReader(context, options);
  try {
    const environment = { ...how, session, registry: options.registry, sources: [source] };
    const open = async (): Promise<CommandEngine> => {
      try {
        return await openEngine(project, context, environment);
      } catch (error) {
        if (!entry.served.degradedStart) throw error;
        context.signal.throwIfAborted();
        const why = error instanceof Error ? error.message : String(error);
        context.terminal.writeError(`Warning: not all programs can be installed: ${why}\n`);
        return openEngine(project, context, { ...environment, asInstalled: true });
      }
    };
    const engine = await open();
    return {
      source,
      entry,
      engine,
      [Symbol.asyncDispose]: async () => {
        await engine[Symbol.asyncDispose]();
        await session?.[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await session?.[Symbol.asyncDispose]();
    throw error;
  }
}

function chosen(
  { joined, directory }: Project,
  name: string | undefined,
): readonly [string, JoinedProvider] {
  const entries = [...joined];
  const sources = entries.map(([source]) => source).join(", ");
  if (entries.length === 0) {
    throw new CommandError(`There is no provider in "${directory}" that is made of programs.`, {
      advice: `List its programs in ${JOINED_PROVIDERS_FILE}.`,
    });
  }
  const found =
    name === undefined
      ? entries
      : entries.filter(([source]) => source === name || source.endsWith(`/${name}`));
  const [only] = found;
  if (only !== undefined && found.length === 1) return only;
  throw new CommandError(
    name === undefined
      ? `${JOINED_PROVIDERS_FILE} has several providers.`
      : `${found.length === 0 ? "No provider" : "More than one provider"} of ${JOINED_PROVIDERS_FILE} is "${name}".`,
    { advice: `Name one with --provider: ${sources}` },
  );
}
