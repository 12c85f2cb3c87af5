import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { RunHooks } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerProject, type ServerProjectOptions } from "../runs/run-place.ts";
import { writeResult } from "../runs/write-result.ts";
import { printable } from "../terminal/printable.ts";

/** Options of all commands about hooks: those of a project, or of one of its stacks. */
export interface HookOptions extends ServerProjectOptions {
  readonly stack?: string;
}

/** Shows the hooks of a project or a stack. */
export async function hooksShow(options: HookOptions, context: CommandContext): Promise<ExitCode> {
  const { client, project } = await openServerProject(options, context);
  const { stack } = options;
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const { data } =
      stack === undefined
        ? await client.showProjectHooks({ project }, { signal })
        : await client.showStackHooks({ project, stack }, { signal });
    writeResult(context, options, { hooks: data.hooks }, textOf(data, project, stack));
    return EXIT.ok;
  });
}

/** Sets the hooks of a project or a stack to those of a file, which is what `hooks show --json` writes. */
export async function hooksSet(
  file: string,
  options: HookOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const body = await readHooks(resolve(context.directory, file));
  const { client, project } = await openServerProject(options, context);
  const { stack } = options;
  const { signal } = context;
  return withServerErrors(client.server, async () => {
    const given = { body, ifMatch: "*" };
    const { data } =
      stack === undefined
        ? await client.setProjectHooks({ project, ...given }, { signal })
        : await client.setStackHooks({ project, stack, ...given }, { signal });
    writeResult(context, options, { hooks: data.hooks }, textOf(data, project, stack));
    return EXIT.ok;
  });
}

async function readHooks(path: string): Promise<Pick<RunHooks, "hooks">> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new CommandError(`The file "${path}" cannot be read.`, { cause });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new CommandError(`The file "${path}" is not valid JSON.`, { cause });
  }
  // The server checks each of them.
  if (typeof value === "object" && value !== null && "hooks" in value) {
    const { hooks } = value;
    if (Array.isArray(hooks)) return { hooks: hooks as RunHooks["hooks"] };
  }
  throw new CommandError(`The file "${path}" has no list of hooks.`, {
    advice: 'It is {"hooks": [{"name": "scan", "stage": "after_plan", "script": "..."}]}.',
  });
}

function textOf({ hooks }: RunHooks, project: string, stack: string | undefined): string {
  const place = stack === undefined ? `The project ${project}` : `The stack ${project}/${stack}`;
  if (hooks.length === 0) return printable(`${place} has no hooks.`);
  return hooks
    .map(({ name, stage, command, script = "", timeout_seconds: seconds, on_failure: failure }) => {
      const [line = ""] = script.split("\n");
      const what = command === undefined ? line : command.join(" ");
      const more = script.includes("\n") ? " …" : "";
      const mark = failure === "warn" ? ", only warns" : "";
      return printable(`${name}: ${stage}, at most ${seconds} s${mark}: ${what}${more}`);
    })
    .join("\n");
}
