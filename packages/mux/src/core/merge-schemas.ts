import type { JsonObject, JsonValue } from "@stackwright/base/json";
import { MuxError } from "../errors.ts";
import { type DispatchTable, hashSchemas } from "./dispatch-table.ts";
import {
  asObject,
  configKeysOf,
  equalJson,
  isListable,
  type NamedSchema,
  type PackageSchema,
  readStringArray,
} from "./package-schema.ts";

/** What to do when several servers define one name. */
export type ConflictPolicy = "first-wins" | "last-wins" | "error";

export interface MergePolicy {
  /** For resources and functions. @default "first-wins", as the seed has it */
  readonly tokens?: ConflictPolicy;
  /** For types that are defined differently; equal definitions never conflict. @default "first-wins" */
  readonly types?: ConflictPolicy;
  /** The name of the server that gets a token, against the policy. A server that does not define it gets nothing. */
  readonly owners?: ReadonlyMap<string, string> | ((token: string) => string | undefined);
}

/** One name that several servers define, and who got it. Equal type definitions are not listed. */
export interface SchemaConflict {
  readonly kind: "resource" | "function" | "type";
  readonly token: string;
  readonly owner: string;
  /** The other servers that define it, in server order. */
  readonly others: readonly string[];
}

export interface MergedSchemas {
  readonly schema: PackageSchema;
  readonly dispatchTable: DispatchTable;
  readonly conflicts: readonly SchemaConflict[];
}

/**
 * Makes one schema of several, and the table that says who answers for what.
 *
 * - Package-level fields are those of the first server.
 * - A resource or function is defined, and served, by one server: the policy decides.
 * - A resource can be listed by the owner of its definition when that has `listInputs`, else by the
 *   server that wins, by the same policy, among those that have them. Its `listInputs` are then added to
 *   the definition: the merged schema has them exactly for what can be listed.
 * - Types are united; configuration variables, and the members of the provider resource, are united with
 *   the first server winning per key; lists are unions in order of first appearance.
 *
 * Pure and deterministic: equal schemas in equal order give equal results, down to the order of members.
 * Linear in the size of the schemas. `MUX_SCHEMA_CONFLICT` lists everything that the policy "error" does
 * not allow.
 */
export function mergeSchemas(
  schemas: readonly NamedSchema[],
  policy: MergePolicy = {},
): MergedSchemas {
  const [first] = schemas;
  if (first === undefined) {
    throw new MuxError("MUX_NO_SERVERS", "there is no server whose schema could be merged");
  }
  const { tokens = "first-wins", types = "first-wins", owners } = policy;
  const conflicts: SchemaConflict[] = [];
  const pick = { schemas, owners, conflicts };
  const resources = mergeNames({ ...pick, kind: "resource", part: "resources", policy: tokens });
  const functions = mergeNames({ ...pick, kind: "function", part: "functions", policy: tokens });
  const mergedTypes = mergeNames({ ...pick, kind: "type", part: "types", policy: types });
  refuseConflicts(conflicts, tokens, types);
  const listers = listOwners(schemas, resources.owner, tokens);
  let schemaHash: string | undefined;

  return {
    schema: {
      ...withoutMergedParts(first.schema),
      config: mergeConfig(schemas),
      ...(mergedTypes.owner.size > 0 && { types: mergedTypes.definitions }),
      provider: mergeProvider(schemas),
      ...(resources.owner.size > 0 && {
        resources: withListInputs(resources, listers, schemas),
      }),
      ...(functions.owner.size > 0 && { functions: functions.definitions }),
    },
    dispatchTable: {
      resources: resources.owner,
      functions: functions.owner,
      listResources: listers,
      configKeys: schemas.map(({ schema }) => configKeysOf(schema)),
      // Costs more than all the rest, and is wanted only by who stores the table.
      get schemaHash() {
        schemaHash ??= hashSchemas(schemas.map(({ schema }) => schema));
        return schemaHash;
      },
    },
    conflicts,
  };
}

interface NameMerge {
  readonly schemas: readonly NamedSchema[];
  readonly kind: SchemaConflict["kind"];
  readonly part: "resources" | "functions" | "types";
  readonly policy: ConflictPolicy;
  readonly owners: MergePolicy["owners"];
  readonly conflicts: SchemaConflict[];
}

interface MergedNames {
  readonly owner: ReadonlyMap<string, number>;
  readonly definitions: JsonObject;
}

function mergeNames({ schemas, kind, part, policy, owners, conflicts }: NameMerge): MergedNames {
  const candidates = new Map<string, number[]>();
  for (const [index, { schema }] of schemas.entries()) {
    for (const token of Object.keys(asObject(schema[part]))) {
      const servers = candidates.get(token);
      if (servers === undefined) candidates.set(token, [index]);
      else servers.push(index);
    }
  }
  const definition = (index: number, token: string): JsonValue =>
    asObject(schemas[index]?.schema[part])[token] ?? {};
  const owner = new Map<string, number>();
  const definitions: [string, JsonValue][] = [];
  for (const [token, servers] of candidates) {
    const [earliest = 0] = servers;
    const wanted = typeof owners === "function" ? owners(token) : owners?.get(token);
    const forced =
      wanted === undefined ? undefined : servers.find((index) => schemas[index]?.server === wanted);
    const winner = forced ?? (policy === "last-wins" ? (servers.at(-1) ?? earliest) : earliest);
    owner.set(token, winner);
    definitions.push([token, definition(winner, token)]);
    const rivals = servers.filter((index) => index !== winner);
    const differ =
      kind !== "type" ||
      rivals.some((index) => !equalJson(definition(index, token), definition(winner, token)));
    if (rivals.length > 0 && differ && forced === undefined) {
      const others = rivals.map((index) => schemas[index]?.server ?? "");
      conflicts.push({ kind, token, owner: schemas[winner]?.server ?? "", others });
    }
  }
  return { owner, definitions: Object.fromEntries(definitions) };
}

function refuseConflicts(
  conflicts: readonly SchemaConflict[],
  tokens: ConflictPolicy,
  types: ConflictPolicy,
): void {
  const refused = conflicts.filter(({ kind }) => (kind === "type" ? types : tokens) === "error");
  if (refused.length === 0) return;
  const lines = refused.map(
    ({ kind, token, owner, others }) => `${kind} ${token}: ${[owner, ...others].join(", ")}`,
  );
  throw new MuxError(
    "MUX_SCHEMA_CONFLICT",
    `several servers define the same names:\n${lines.join("\n")}`,
    { ...(refused[0] && { token: refused[0].token }) },
  );
}

function listOwners(
  schemas: readonly NamedSchema[],
  owners: ReadonlyMap<string, number>,
  policy: ConflictPolicy,
): ReadonlyMap<string, number> {
  const listers = new Map<string, number>();
  const canList = (index: number, token: string) =>
    isListable(asObject(schemas[index]?.schema.resources)[token]);
  for (const [index, { schema }] of schemas.entries()) {
    for (const token of Object.keys(asObject(schema.resources))) {
      if (!canList(index, token)) continue;
      if (policy === "last-wins" || !listers.has(token)) listers.set(token, index);
    }
  }
  for (const [token, owner] of owners) if (canList(owner, token)) listers.set(token, owner);
  return listers;
}

/** The definitions, with the list inputs of the servers that list what another one owns. */
function withListInputs(
  { owner, definitions }: MergedNames,
  listers: ReadonlyMap<string, number>,
  schemas: readonly NamedSchema[],
): JsonObject {
  const separate = [...listers].filter(([token, lister]) => owner.get(token) !== lister);
  if (separate.length === 0) return definitions;
  const completed = separate.map(([token, lister]): [string, JsonValue] => {
    const listed = asObject(asObject(schemas[lister]?.schema.resources)[token]);
    return [token, { ...asObject(definitions[token]), listInputs: listed.listInputs ?? {} }];
  });
  return { ...definitions, ...Object.fromEntries(completed) };
}

function withoutMergedParts(schema: PackageSchema): JsonObject {
  const { config: _c, types: _t, provider: _p, resources: _r, functions: _f, ...rest } = schema;
  return rest;
}

function mergeConfig(schemas: readonly NamedSchema[]): JsonObject {
  const configs = schemas.map(({ schema }) => asObject(schema.config));
  const variables = firstPerKey(configs.map((config) => asObject(config.variables)));
  const defaults = union(configs.map((config) => readStringArray(config.defaults)));
  return {
    ...(Object.keys(variables).length > 0 && { variables }),
    ...(defaults.length > 0 && { defaults }),
  };
}

/** Members of the provider resource by how they are united; all others are the first server's. */
const PROVIDER_TEXTS = ["description", "type", "deprecationMessage"];
const PROVIDER_MAPS = ["properties", "inputProperties", "language", "methods"];
const PROVIDER_LISTS = ["required", "plain", "requiredInputs", "plainInputs", "aliases"];

function mergeProvider(schemas: readonly NamedSchema[]): JsonObject {
  const providers = schemas.map(({ schema }) => asObject(schema.provider));
  const merged: Record<string, JsonValue> = { ...providers[0] };
  for (const key of PROVIDER_TEXTS) {
    const text = providers.map((provider) => provider[key]).find((value) => Boolean(value));
    if (text !== undefined) merged[key] = text;
  }
  for (const key of PROVIDER_MAPS) {
    const united = firstPerKey(providers.map((provider) => asObject(provider[key])));
    if (Object.keys(united).length > 0) merged[key] = united;
  }
  for (const key of PROVIDER_LISTS) {
    const united = uniteLists(providers.map((provider) => provider[key]));
    if (united.length > 0) merged[key] = united;
  }
  const stateInputs = providers.map((provider) => asObject(provider.stateInputs));
  const stateProperties = firstPerKey(stateInputs.map((inputs) => asObject(inputs.properties)));
  if (Object.keys(stateProperties).length > 0) {
    const required = union(stateInputs.map((inputs) => readStringArray(inputs.required)));
    merged.stateInputs = {
      ...firstPerKey(stateInputs),
      properties: stateProperties,
      ...(required.length > 0 && { required }),
    };
  }
  return merged;
}

function firstPerKey(objects: readonly JsonObject[]): JsonObject {
  const united = new Map<string, JsonValue>();
  for (const object of objects) {
    for (const [key, value] of Object.entries(object)) {
      if (!united.has(key)) united.set(key, value);
    }
  }
  return Object.fromEntries(united);
}

function union(lists: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(lists.flat())];
}

/** A union by value: aliases are objects, the other lists hold strings. */
function uniteLists(lists: readonly (JsonValue | undefined)[]): readonly JsonValue[] {
  const united = new Map<string, JsonValue>();
  for (const item of lists.flatMap((list) => (Array.isArray(list) ? (list as JsonValue[]) : []))) {
    const key = JSON.stringify(item);
    if (!united.has(key)) united.set(key, item);
  }
  return [...united.values()];
}
