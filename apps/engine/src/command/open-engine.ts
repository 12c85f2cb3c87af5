import { createEngine, type Engine } from "../engine.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import type { CommandContext } from "./command-context.ts";
import type { Project } from "./project.ts";

/** An engine with the providers that the folder of a command has. */
export async function openEngine(_project: Project, _context: CommandContext): Promise<Engine> {
  return createEngine({ origins: [builtinOrigin()] });
}
