import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "@stackwright/base/json";
import { MuxError } from "../errors.ts";
import type { PackageSchema } from "./package-schema.ts";

/**
 * Which server answers for which token. Servers are numbered by their place in the list of the mux.
 *
 * `listResources` absent: resources are listed by their owner; present, even if empty: only what it
 * names can be listed.
 */
export interface DispatchTable {
  readonly resources: ReadonlyMap<string, number>;
  readonly functions: ReadonlyMap<string, number>;
  readonly listResources?: ReadonlyMap<string, number> | undefined;
  /** Configuration keys per server; `undefined` for a server that is shown every key. */
  readonly configKeys?: readonly (ReadonlySet<string> | undefined)[] | undefined;
  /** {@link hashSchemas} of the schemas that the table was made from. */
  readonly schemaHash?: string | undefined;
}

/**
 * The table as JSON: `{resources, functions, listResources?, configKeys?, schemaHash?}` with tokens
 * sorted, so that equal tables give equal texts.
 */
export function dispatchTableToJson(table: DispatchTable): JsonObject {
  return {
    resources: toObject(table.resources),
    functions: toObject(table.functions),
    ...(table.listResources && { listResources: toObject(table.listResources) }),
    ...(table.configKeys && {
      configKeys: table.configKeys.map((keys) =>
        keys === undefined ? null : [...keys].toSorted(),
      ),
    }),
    ...(table.schemaHash !== undefined && { schemaHash: table.schemaHash }),
  };
}

function toObject(map: ReadonlyMap<string, number>): JsonObject {
  return Object.fromEntries([...map].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Reads what {@link dispatchTableToJson} wrote. `MUX_TABLE_INVALID` names what is malformed. */
export function dispatchTableFromJson(json: unknown): DispatchTable {
  const object = record(json, "the table");
  const { listResources, configKeys, schemaHash } = object;
  if (schemaHash !== undefined && typeof schemaHash !== "string") {
    throw malformed("schemaHash must be a string");
  }
  return {
    resources: toMap(object.resources ?? {}, "resources"),
    functions: toMap(object.functions ?? {}, "functions"),
    ...(listResources !== undefined && { listResources: toMap(listResources, "listResources") }),
    ...(configKeys !== undefined && { configKeys: toKeySets(configKeys) }),
    ...(schemaHash !== undefined && { schemaHash }),
  };
}

function toMap(value: unknown, part: string): ReadonlyMap<string, number> {
  return new Map(
    Object.entries(record(value, part)).map(([token, index]) => {
      if (typeof index !== "number" || !Number.isInteger(index) || index < 0) {
        throw malformed(`${part} maps "${token}" to a value that is not a server number`);
      }
      return [token, index];
    }),
  );
}

function toKeySets(value: unknown): readonly (ReadonlySet<string> | undefined)[] {
  if (!Array.isArray(value)) throw malformed("configKeys must be a list");
  return value.map((keys: unknown) => {
    if (keys === null) return undefined;
    if (!Array.isArray(keys) || !keys.every((key) => typeof key === "string")) {
      throw malformed("configKeys must hold lists of keys, or null");
    }
    return new Set(keys);
  });
}

function record(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw malformed(`${what} must be an object`);
  }
  return value as Readonly<Record<string, unknown>>;
}

function malformed(what: string): MuxError {
  return new MuxError("MUX_TABLE_INVALID", `malformed dispatch table: ${what}`);
}

/** `MUX_TABLE_INVALID`, naming a token, when the table speaks of servers that are not there. */
export function checkServerNumbers(table: DispatchTable, servers: number): void {
  for (const part of ["resources", "functions", "listResources"] as const) {
    for (const [token, index] of table[part] ?? []) {
      if (index >= servers) {
        throw new MuxError(
          "MUX_TABLE_INVALID",
          `the dispatch table gives ${token} to server ${index}, and there are only ${servers} servers`,
          { token },
        );
      }
    }
  }
  if ((table.configKeys?.length ?? 0) > servers) {
    throw malformed(`configKeys is for more than the ${servers} servers there are`);
  }
}

/**
 * A digest of schemas, in server order, that does not depend on the order of object members or on white
 * space: `sha256:` and 64 hex digits.
 */
export function hashSchemas(schemas: readonly PackageSchema[]): string {
  const hash = createHash("sha256");
  for (const schema of schemas) hash.update(canonical(schema)).update("\n");
  return `sha256:${hash.digest("hex")}`;
}

function canonical(value: JsonValue | undefined): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value ?? null);
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  const object = value as JsonObject;
  const members = Object.keys(object)
    .toSorted()
    .filter((key) => object[key] !== undefined)
    .map((key) => `${JSON.stringify(key)}:${canonical(object[key])}`);
  return `{${members.join(",")}}`;
}
