import type { Operations } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerProject, type ServerProjectOptions } from "../runs/run-place.ts";
import { writeResult } from "../runs/write-result.ts";
import { printable } from "../terminal/printable.ts";

type Hook = Operations["ListDriftHooks"]["output"]["hooks"][number];

/** Options of the command that creates a hook. */
export interface DriftHookOptions extends ServerProjectOptions {
  /** Patterns of names of stacks. */
  readonly for: readonly string[];
}

/** Creates a hook by which another system asks for checks of stacks of a project. */
export async function driftHook(
  name: string,
  options: DriftHookOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  return withServerErrors(client.server, async () => {
    const body = { name, stacks: [...options.for] };
    const { data } = await client.createDriftHook({ project, body }, { signal: context.signal });
    const text = [
      `Created ${lineOf(data)}`,
      `Webhook: ${new URL(data.webhook_path, client.server).href}`,
      `Secret:  ${data.webhook_secret}`,
      "The secret is not shown again.",
    ];
    writeResult(context, options, data, text.join("\n"));
    return EXIT.ok;
  });
}

/** Lists the hooks of a project. */
export async function driftHooks(
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  return withServerErrors(client.server, async () => {
    const { hooks } = (await client.listDriftHooks({ project }, { signal: context.signal })).data;
    const none = `The project ${project} has no drift hooks.`;
    const text = hooks.length === 0 ? none : hooks.map(lineOf).join("\n");
    writeResult(context, options, hooks, text);
    return EXIT.ok;
  });
}

/** Deletes a hook. */
export async function driftUnhook(
  name: string,
  options: ServerProjectOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  return withServerErrors(client.server, async () => {
    await client.deleteDriftHook({ project, hook: name }, { signal: context.signal });
    writeResult(context, options, {}, `Deleted the drift hook ${name}.`);
    return EXIT.ok;
  });
}

function lineOf({ name, stacks, actor }: Hook): string {
  const of = stacks.length === 0 ? "all stacks of the project" : stacks.join(", ");
  return printable(`${name}: ${of}, by ${actor}`);
}
