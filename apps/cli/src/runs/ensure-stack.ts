import { isClientError } from "@stackwright/client";
import { CommandError } from "../command-error.ts";
import type { ServerStack } from "./run-place.ts";

/** Creates the stack of a command on its server, where there is none. */
export async function ensureStack(
  { client, place, context }: ServerStack,
  json: boolean,
): Promise<void> {
  const { signal, terminal } = context;
  try {
    await client.showStack(place, { signal });
    return;
  } catch (error) {
    if (!isClientError(error, "not_found")) throw error;
  }
  const { project, stack } = place;
  try {
    await client.createStack({ project, body: { name: stack } }, { signal });
  } catch (error) {
    if (isClientError(error, "name_taken")) return;
    if (!isClientError(error, "forbidden")) throw error;
    throw new CommandError(`The stack "${project}/${stack}" does not exist on ${client.server}.`, {
      cause: error,
      advice: "Your token is not allowed to create it: ask an administrator, or check --stack.",
    });
  }
  if (!json) terminal.write(`Created the stack ${project}/${stack}.\n`);
}
