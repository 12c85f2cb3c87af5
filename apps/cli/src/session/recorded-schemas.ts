import type { StateObject } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import type { SchemaOf } from "../render/plan-text.ts";
import { openEngine } from "./open-engine.ts";
import type { Project } from "./project.ts";
import { schemasOfProviders } from "./schemas-of.ts";

/** The schemas of recorded objects, from their providers; objects of a provider that is not here have none. */
export async function recordedSchemas(
  objects: Iterable<StateObject>,
  project: Project,
  context: CommandContext,
): Promise<SchemaOf> {
  const providers = [...objects].map(({ provider }) => provider);
  if (providers.length === 0) return () => undefined;
  try {
    await using engine = await openEngine(project, context, { remembersDigests: true });
    return await schemasOfProviders(engine, providers);
  } catch {
    // The state can be inspected without an installation as well.
    return () => undefined;
  }
}
