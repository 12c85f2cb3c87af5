import type { Diagnostic } from "@stackwright/lang";
import type { CommandContext } from "./command-context.ts";
import type { Project } from "./project.ts";

/** Everything that is wrong with a configuration, as far as that can be known without values. */
export async function validateProject(
  { configuration }: Project,
  _context: CommandContext,
): Promise<readonly Diagnostic[]> {
  return configuration.diagnostics;
}
