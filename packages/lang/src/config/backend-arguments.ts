import { append } from "@stackwright/base/append";
import { encodeJson } from "@stackwright/cty";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import { parseJson } from "../syntax/json-parser.ts";
import { parseFile } from "../syntax/parse.ts";
import {
  type ConfigBody,
  type ContentAttribute,
  jsonRootBody,
  readAttributes,
  readBody,
} from "./body-content.ts";
import type { BackendConfig } from "./module-config.ts";
import { StaticReader, withoutEarlyValues } from "./static-reader.ts";

/** The arguments of a backend, as JSON; nested blocks are objects. */
export interface BackendArgumentValues {
  readonly values: Readonly<Record<string, unknown>>;
  /** What is not a constant, or not readable. */
  readonly diagnostics: readonly Diagnostic[];
}

/** The blocks that the known backends have. */
const BLOCKS = [
  "assume_role",
  "assume_role_with_web_identity",
  "endpoints",
  "exec",
  "workspaces",
] as const;

/** Reads all arguments of a `backend` or `cloud` block: constants, and what is known before anything is planned. */
export function backendArguments({
  body,
  early,
}: Pick<BackendConfig, "body" | "early">): BackendArgumentValues {
  const reader = new StaticReader(
    [],
    early && ((expression) => early.evaluate(expression, "the backend")),
  );
  const values = valuesOf(body, reader, early !== undefined);
  const { diagnostics } = reader;
  return { values, diagnostics: early ? diagnostics : diagnostics.map(withoutEarlyValues) };
}

/** Reads a file of `-backend-config`: arguments in the form of a variables file. */
export function backendFileArguments(file: {
  readonly name: string;
  readonly text: string | Uint8Array;
}): BackendArgumentValues {
  const diagnostics: Diagnostic[] = [];
  if (file.name.endsWith(".json")) {
    const { root, diagnostics: found } = parseJson(file);
    append(diagnostics, found);
    const reader = new StaticReader(diagnostics);
    const read = readAttributes(jsonRootBody(root, diagnostics), diagnostics, { literals: true });
    return { values: attributeValues(read.values(), reader), diagnostics };
  }
  const { body, diagnostics: found } = parseFile(file);
  append(diagnostics, found);
  return { values: valuesOf(body, new StaticReader(diagnostics)), diagnostics };
}

function valuesOf(body: ConfigBody, reader: StaticReader, early = false): Record<string, unknown> {
  const blocks = Object.fromEntries(BLOCKS.map((name) => [name, []]));
  const nested = readBody(body, { blocks }, [], { ignore: true }).blocks;
  // The blocks were read before, and are no arguments here; what a JSON file writes as one is read as a block.
  const names = new Set(nested.map(({ type }) => type));
  const options = early ? {} : { literals: true as const };
  const attributes = [...readAttributes(body, [], options).values()].filter(
    ({ name }) => !names.has(name),
  );
  const values = attributeValues(attributes, reader);
  for (const { type, body: inner } of nested) values[type] = valuesOf(inner, reader, early);
  return values;
}

function attributeValues(
  attributes: Iterable<ContentAttribute>,
  reader: StaticReader,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const { name, expression } of attributes) {
    const value = reader.literal(expression);
    if (value === undefined) continue;
    values[name] = JSON.parse(encodeJson(value, value.type)) as unknown;
  }
  return values;
}
