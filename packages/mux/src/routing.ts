import { type ConfigFilter, createConfigFilter } from "./core/config-filter.ts";
import { checkServerNumbers, type DispatchTable, hashSchemas } from "./core/dispatch-table.ts";
import { type MergePolicy, mergeSchemas, type SchemaConflict } from "./core/merge-schemas.ts";
import {
  isListable,
  type NamedSchema,
  type PackageSchema,
  parsePackageSchema,
} from "./core/package-schema.ts";
import { MuxError } from "./errors.ts";
import type { ServerHandle } from "./server-handle.ts";

/** A schema that a server gained by being parameterized. */
export interface SubpackageSchema {
  readonly server: ServerHandle;
  readonly name: string;
  readonly version: string;
  readonly text: string;
}

/**
 * Everything that calls are routed by, as one immutable whole: it is replaced in one step when servers come and
 * go, and a call that began keeps the one it began with.
 */
export interface Routing {
  readonly servers: readonly ServerHandle[];
  readonly table: DispatchTable;
  /** Whether the table was given, and not made from the schemas. */
  readonly isTableGiven: boolean;
  /** Text of the merged schema. */
  readonly schema: string;
  readonly filter: ConfigFilter | undefined;
  readonly conflicts: readonly SchemaConflict[];
  readonly subpackages: readonly SubpackageSchema[];
  /** Schema of each server, where it was asked for it. */
  readonly schemas: ReadonlyMap<ServerHandle, PackageSchema>;
}

interface RoutingInput {
  readonly servers: readonly ServerHandle[];
  readonly merge: MergePolicy;
  readonly configFilter: boolean;
  readonly subpackages: readonly SubpackageSchema[];
  /** Given from outside, for the servers in this order. */
  readonly table: DispatchTable | undefined;
  readonly schema: string | undefined;
  readonly schemas: ReadonlyMap<ServerHandle, PackageSchema>;
}

/** Whether making the routing needs the schemas of the servers. */
export function needsSchemas({ table, schema }: Pick<RoutingInput, "table" | "schema">): boolean {
  return table === undefined || schema === undefined || table.schemaHash !== undefined;
}

/**
 * Makes the routing: from the table and schema that were given, and from the servers' own schemas for what was
 * not. `MUX_TABLE_INVALID`, `MUX_TABLE_STALE`, `MUX_SCHEMA_CONFLICT`.
 */
export function createRouting(input: RoutingInput): Routing {
  const { servers, schemas, subpackages } = input;
  const named: NamedSchema[] = servers.flatMap((server) => {
    const schema = schemas.get(server);
    return schema === undefined ? [] : [{ server: server.name, schema }];
  });
  const complete = named.length === servers.length;
  const merged =
    complete && (input.table === undefined || input.schema === undefined)
      ? mergeSchemas(named, input.merge)
      : undefined;
  const base = input.table ?? merged?.dispatchTable;
  if (base === undefined) {
    throw new MuxError("MUX_SCHEMA_UNAVAILABLE", "not every server has given its schema");
  }
  checkServerNumbers(base, servers.length);
  if (input.table?.schemaHash !== undefined && complete) {
    const hash = hashSchemas(named.map(({ schema }) => schema));
    if (hash !== input.table.schemaHash) {
      throw new MuxError(
        "MUX_TABLE_STALE",
        `the dispatch table is stale: it was made from other schemas (${input.table.schemaHash}) than the servers have (${hash}); compute it again`,
      );
    }
  }
  const table = withSubpackages(base, servers, subpackages);
  return {
    servers,
    table,
    isTableGiven: input.table !== undefined,
    schema: input.schema ?? JSON.stringify(merged?.schema ?? {}),
    filter: input.configFilter ? createConfigFilter(table.configKeys ?? []) : undefined,
    conflicts: merged?.conflicts ?? [],
    subpackages,
    schemas,
  };
}

/** Tokens of subpackages belong to the server that was parameterized. */
function withSubpackages(
  table: DispatchTable,
  servers: readonly ServerHandle[],
  subpackages: readonly SubpackageSchema[],
): DispatchTable {
  if (subpackages.length === 0) return table;
  const resources = new Map(table.resources);
  const functions = new Map(table.functions);
  const listResources = table.listResources && new Map(table.listResources);
  for (const { server, text } of subpackages) {
    const index = servers.indexOf(server);
    if (index === -1) continue;
    const schema = parsePackageSchema(server.name, text);
    for (const [token, resource] of Object.entries(schema.resources ?? {})) {
      resources.set(token, index);
      if (isListable(resource)) listResources?.set(token, index);
      else listResources?.delete(token);
    }
    for (const token of Object.keys(schema.functions ?? {})) functions.set(token, index);
  }
  return { ...table, resources, functions, ...(listResources && { listResources }) };
}
