import {
  CtyError,
  decodeJson,
  decodeJsonImplied,
  Mark,
  Marks,
  markWithPaths,
  type Value,
} from "@stackwright/cty";
import { typeOfBlock } from "@stackwright/mux/router";
import type { StateObject } from "../state/state-object.ts";
import type { CommandContext } from "./command-context.ts";
import type { SchemaOf } from "./display/plan-text.ts";
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
    await using engine = await openEngine(project, context);
    return await schemasOfProviders(engine, providers);
  } catch {
    // Without an installation, what is recorded can be looked at all the same.
    return () => undefined;
  }
}

/** What is recorded, marked; by the schema, or where that is not known, by the types that JSON has. */
export function recordedValue(object: StateObject, schemaOf: SchemaOf): Value | undefined {
  const { value } = object;
  if (value === undefined) return undefined;
  const marks = Marks.of(Mark.sensitive);
  return markWithPaths(
    decode(value.json, object, schemaOf),
    value.sensitive.map((path) => ({ path, marks })),
  );
}

function decode(json: string, object: StateObject, schemaOf: SchemaOf): Value {
  const schema = schemaOf(object);
  if (schema === undefined) return decodeJsonImplied(json);
  try {
    return decodeJson(json, typeOfBlock(schema));
  } catch (error) {
    // Recorded under another version of the schema.
    if (error instanceof CtyError) return decodeJsonImplied(json);
    throw error;
  }
}
