import { selectedWorkspace } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";

/**
 * Returns the name of the stack that a command is about: that of `--stack`, `STACKWRIGHT_STACK` or `TF_WORKSPACE`, else the
 * workspace that was selected with `terraform workspace select`, else `default`. `CommandError` where `TF_WORKSPACE` selects
 * another one than the first two.
 */
export function stackName(
  { env, directory }: Pick<CommandContext, "env" | "directory">,
  options: { readonly stack?: string },
): string {
  const fromEnvironment = env["STACKWRIGHT_STACK"] === "" ? undefined : env["STACKWRIGHT_STACK"];
  const named = options.stack ?? fromEnvironment;
  const selected = selectedWorkspace({ env, directory });
  if (named === undefined) return selected?.name ?? "default";
  if (selected?.by === "TF_WORKSPACE" && selected.name !== named) {
    throw new CommandError(
      `TF_WORKSPACE selects "${selected.name}", and the command is about the stack "${named}".`,
      { advice: "Unset TF_WORKSPACE, or name the same stack with --stack." },
    );
  }
  return named;
}
