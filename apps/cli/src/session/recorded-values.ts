import type { RecordedValue, StateObject } from "@stackwright/core";
import { cutJsonParts, type JsonPath, jsonPathOf } from "@stackwright/core";
import {
  CtyError,
  decodeJson,
  decodeJsonImplied,
  Mark,
  Marks,
  markWithPaths,
  Path,
  type Value,
} from "@stackwright/cty";
import { type BlockSchema, typeOfBlock } from "@stackwright/mux/router";
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
  const typed = decodeTyped(value.json, schemaOf(object));
  if (typed === undefined) return impliedValue(value);
  return markWithPaths(
    typed,
    value.sensitive.map((path) => ({ path, marks: SENSITIVE })),
  );
}

const SENSITIVE = Marks.of(Mark.sensitive);

function decodeTyped(json: string, schema: BlockSchema | undefined): Value | undefined {
  if (schema === undefined) return undefined;
  try {
    return decodeJson(json, typeOfBlock(schema));
  } catch (error) {
    // Recorded under another version of the schema.
    if (error instanceof CtyError) return undefined;
    throw error;
  }
}

/** A path of the schema may not lead through the types that JSON has: the places of the text are marked instead. */
function impliedValue({ json, sensitive }: RecordedValue): Value {
  const { parts } = cutJsonParts(json, sensitive.map(jsonPathOf));
  return markWithPaths(
    decodeJsonImplied(json),
    parts.map(({ at }) => ({ path: impliedPath(at), marks: SENSITIVE })),
  );
}

function impliedPath(at: JsonPath): Path {
  return at.reduce<Path>(
    (path, step) => (typeof step === "string" ? path.attribute(step) : path.index(step)),
    Path.root,
  );
}
