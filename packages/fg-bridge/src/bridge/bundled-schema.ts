import { readFields, writeField } from "../envelope/wire.ts";

/** Fields of `GetProviderSchema.Response`. */
const FIELD = {
  resources: 2,
  dataSources: 3,
  capabilities: 6,
  functions: 7,
  ephemeral: 8,
  list: 9,
  actions: 11,
} as const;

/** What the contract has no methods for, and a provider must not announce through it. */
const NOT_CARRIED: ReadonlySet<number> = new Set([
  FIELD.functions,
  FIELD.ephemeral,
  FIELD.list,
  FIELD.actions,
]);
const MAPS: ReadonlySet<number> = new Set([FIELD.resources, FIELD.dataSources]);

/** Fields of `ServerCapabilities`. */
const PLAN_DESTROY = 1;

/**
 * The schema of a provider as it is given through the contract: without the types that the contract has no methods for,
 * and with entries in order. Programs in Go write maps in any order, but an archive must have the same bytes each time.
 *
 * Everything else passes as it is.
 */
export function bundleSchema(response: Uint8Array): Uint8Array | undefined {
  const fields = readFields(response);
  if (fields === undefined) return undefined;
  const kept = fields.flatMap(({ number, bytes }) =>
    bytes === undefined || NOT_CARRIED.has(number) || number === FIELD.capabilities
      ? []
      : [{ number, bytes }],
  );
  const keyOf = (entry: Uint8Array) =>
    Buffer.from(readFields(entry)?.find(({ number }) => number === 1)?.bytes ?? []);
  const sorted = kept.toSorted(
    (a, b) =>
      a.number - b.number ||
      (MAPS.has(a.number) ? Buffer.compare(keyOf(a.bytes), keyOf(b.bytes)) : 0),
  );
  return Buffer.concat([
    ...sorted.map(({ number, bytes }) => writeField(number, bytes)),
    writeField(FIELD.capabilities, capabilities(fields)),
  ]);
}

/** Whether deletes are planned is for the provider to say; every process of the bridge has the schema at hand. */
function capabilities(fields: NonNullable<ReturnType<typeof readFields>>): Uint8Array {
  const own = fields.find(({ number }) => number === FIELD.capabilities)?.bytes;
  const planDestroy = readFields(own ?? new Uint8Array())?.some(
    ({ number, value }) => number === PLAN_DESTROY && value === 1,
  );
  const schemaOptional = [0x10, 1];
  return Buffer.from([...(planDestroy === true ? [0x08, 1] : []), ...schemaOptional]);
}
