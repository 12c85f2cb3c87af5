import type { JsonObject, JsonValue } from "@stackwright/base/json";
import { MuxError } from "../errors.ts";

/**
 * A Pulumi package schema as `GetSchema` returns it, with the parts that merging reads. All that
 * else is in it is carried along untouched.
 */
export interface PackageSchema extends JsonObject {
  readonly name?: string;
  readonly version?: string;
  readonly config?: { readonly variables?: JsonObject; readonly defaults?: readonly JsonValue[] };
  readonly provider?: JsonObject;
  readonly resources?: JsonObject;
  readonly functions?: JsonObject;
  readonly types?: JsonObject;
}

/** Whether the definition of a resource has inputs of List, so that its server can list it. */
export function isListable(definition: JsonValue | undefined): boolean {
  const { listInputs } = asObject(definition);
  return listInputs !== undefined && listInputs !== null;
}

/** A schema with the name of the server that it came from. */
export interface NamedSchema {
  readonly server: string;
  readonly schema: PackageSchema;
}

/**
 * Parses what a server answered to GetSchema. `MUX_SCHEMA_INVALID`, naming the server, when the text is
 * not JSON or a part that merging needs has the wrong form.
 */
export function parsePackageSchema(server: string, text: string): PackageSchema {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new MuxError("MUX_SCHEMA_INVALID", `the schema of server ${server} is not JSON`, {
      server,
      cause,
    });
  }
  const schema = requireObject(server, "schema", value);
  for (const part of ["config", "provider", "resources", "functions", "types"]) {
    if (schema[part] !== undefined && schema[part] !== null) {
      requireObject(server, part, schema[part]);
    }
  }
  const variables = asObject(schema.config).variables;
  if (variables !== undefined && variables !== null) {
    requireObject(server, "config.variables", variables);
  }
  return schema;
}

function requireObject(server: string, what: string, value: unknown): JsonObject {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new MuxError(
      "MUX_SCHEMA_INVALID",
      `the schema of server ${server} is malformed: ${what} must be an object`,
      { server },
    );
  }
  return value as JsonObject;
}

/** The object that a member of a schema is, or an empty one. */
export function asObject(value: JsonValue | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {};
}

/** The strings that a member of a schema lists, or none. */
export function readStringArray(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** Deep equality of JSON values; the order of object members does not matter. */
export function equalJson(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  if (left === right) return true;
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) {
    return false;
  }
  if (Array.isArray(left) || Array.isArray(right)) {
    return (
      Array.isArray(left) &&
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((item, index) => equalJson(item, right[index]))
    );
  }
  const a = left as JsonObject;
  const b = right as JsonObject;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && equalJson(a[key], b[key]))
  );
}

/** The keys that a server accepts as configuration: its config variables and provider inputs. */
export function configKeysOf(schema: PackageSchema): ReadonlySet<string> {
  return new Set([
    ...Object.keys(asObject(asObject(schema.config).variables)),
    ...Object.keys(asObject(asObject(schema.provider).inputProperties)),
  ]);
}
