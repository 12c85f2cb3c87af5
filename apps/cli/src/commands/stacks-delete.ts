import { isClientError } from "@stackwright/client";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { withServerErrors } from "../runs/open-server.ts";
import { openServerStack, type ServerStackOptions } from "../runs/run-place.ts";

/** Deletes a stack of a server: one without objects, or any by `force`, whose objects stay as they are. */
export async function stacksDelete(
  options: ServerStackOptions & { readonly stack: string; readonly force: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { client, place } = await openServerStack(options, context);
  const name = `${place.project}/${place.stack}`;
  const force = options.force ? ({ force: "true" } as const) : {};
  return withServerErrors(client.server, async () => {
    try {
      const { data } = await client.deleteStack({ ...place, ...force }, { signal: context.signal });
      context.terminal.write(
        options.json
          ? `${JSON.stringify(data, undefined, 2)}\n`
          : `The stack "${name}" is deleted.\n`,
      );
      return EXIT.ok;
    } catch (error) {
      if (!isClientError(error, "not_empty")) throw error;
      throw new CommandError(`The stack "${name}" has objects.`, {
        advice:
          "Destroy them first with a run (stackwright runs start --destroy), or delete it with --force: its objects stay in place, unmanaged from then on.",
        cause: error,
      });
    }
  });
}
