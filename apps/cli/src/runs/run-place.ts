import { isClientError, type Run, type ServerClient } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { stackName } from "../session/stack-name.ts";
import { openServer } from "./open-server.ts";

/** Options of all commands about runs of a server. */
export interface ServerStackOptions {
  readonly server?: string;
  /** `STACK` or `PROJECT/STACK`. */
  readonly stack?: string;
  readonly project?: string;
  readonly json: boolean;
}

/** Options of all commands about a project of a server. */
export type ServerProjectOptions = Omit<ServerStackOptions, "stack">;

/** A stack of a server. */
interface StackPlace {
  readonly project: string;
  readonly stack: string;
}

/** What a command about the runs of a stack works with. */
export interface ServerStack {
  readonly client: ServerClient;
  readonly place: StackPlace;
  readonly context: CommandContext;
}

/** Opens the server and names the stack of a command. */
export async function openServerStack(
  options: ServerStackOptions,
  context: CommandContext,
): Promise<ServerStack> {
  const place = stackPlaceOf(options, context);
  return { client: await openServer(context, options.server), place, context };
}

/** Opens the server and names the project of a command. */
export async function openServerProject(
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<{ readonly client: ServerClient; readonly project: string }> {
  const project = options.project ?? (context.env["STACKWRIGHT_PROJECT"] || "default");
  return { client: await openServer(context, options.server), project };
}

/** The stack that the options, the environment and the directory name. */
export function stackPlaceOf(
  { stack, project }: Pick<ServerStackOptions, "stack" | "project">,
  context: Pick<CommandContext, "env" | "directory">,
): StackPlace {
  const given = stack ?? context.env["STACKWRIGHT_STACK"] ?? "";
  const [, inProject, inStack] = /^([^/]*)\/(.*)$/.exec(given) ?? [];
  if (inProject !== undefined && project !== undefined && inProject !== project) {
    throw new CommandError(
      `The stack "${given}" is of another project than --project "${project}".`,
    );
  }
  const named = inProject ?? project ?? (context.env["STACKWRIGHT_PROJECT"] || "default");
  const name = inStack ?? stackName(context, stack === undefined ? {} : { stack });
  if (named === "" || name === "") {
    throw new CommandError(`"${given}" does not name a stack.`, {
      advice: "Use --stack STACK or --stack PROJECT/STACK, for example --stack web/production.",
    });
  }
  return { project: named, stack: name };
}

/** The run of an argument: its ID, its number in the stack, or without one the latest that compares no plans. */
export async function findRun(
  { client, place, context }: ServerStack,
  text: string | undefined,
): Promise<Run> {
  const { signal } = context;
  const isNumber = text === undefined || /^[0-9]{1,9}$/.test(text);
  if (!isNumber) {
    try {
      return (await client.showRun({ ...place, run: text }, { signal })).data;
    } catch (error) {
      if (!isClientError(error, "not_found", "CLIENT_INVALID_ARGUMENT")) throw error;
      throw notFound(place, `"${text}"`);
    }
  }
  let found: Run | undefined;
  for await (const run of client.each("ListRuns", { ...place, limit: 200 }, { signal })) {
    const isWanted =
      text === undefined
        ? run.number > (found?.number ?? -1) && run.shadow_of === undefined
        : run.number === Number(text);
    if (isWanted) found = run;
  }
  if (found !== undefined) return found;
  throw text === undefined
    ? new CommandError(`The stack "${place.project}/${place.stack}" has no runs.`)
    : notFound(place, text);
}

function notFound({ project, stack }: StackPlace, run: string): CommandError {
  return new CommandError(`The stack "${project}/${stack}" has no run ${run}.`, {
    advice: `List its runs: stackwright runs list --stack ${project}/${stack}`,
  });
}
