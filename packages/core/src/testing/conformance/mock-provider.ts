import { decodeJson, Path, Type, Value } from "@stackwright/cty";
import {
  type ApplyReply,
  type ApplyResourceRequest,
  type AttributeSchema,
  type BlockSchema,
  type LifecycleProvider,
  type PlanReply,
  type PlanResourceRequest,
  type ProviderSchema,
  typeOfBlock,
} from "@stackwright/mux/router";

/** An attribute of the mock: its type, and who sets it. */
function attribute(
  type: Type,
  who: Partial<
    Pick<AttributeSchema, "required" | "optional" | "computed" | "sensitive" | "writeOnly">
  >,
): AttributeSchema {
  return {
    type,
    required: false,
    optional: false,
    computed: false,
    sensitive: false,
    writeOnly: false,
    deprecated: false,
    description: "",
    ...who,
  };
}

const block = (attributes: Readonly<Record<string, AttributeSchema>>): BlockSchema => ({
  attributes: new Map(Object.entries(attributes)),
  blocks: new Map(),
  deprecated: false,
  description: "",
});

const THING = block({
  id: attribute(Type.string, { computed: true }),
  name: attribute(Type.string, { required: true }),
  value: attribute(Type.string, { optional: true }),
  /** Decided by the provider unless configured. */
  size: attribute(Type.number, { optional: true, computed: true }),
  /** A change needs a new object. */
  zone: attribute(Type.string, { optional: true }),
  tags: attribute(Type.map(Type.string), { optional: true }),
  secret: attribute(Type.string, { optional: true, sensitive: true }),
  /** Told to the cloud, and never kept. */
  token_wo: attribute(Type.string, { optional: true, writeOnly: true }),
  token_version: attribute(Type.number, { optional: true }),
  /** Which call is to go wrong: `create`, `create-partly`, `update`, `delete`, `plan`, `lie`. */
  fail: attribute(Type.string, { optional: true }),
  /** Follows the value. */
  out: attribute(Type.string, { computed: true }),
});

const LOOK = block({
  query: attribute(Type.string, { required: true }),
  result: attribute(Type.string, { computed: true }),
});

const LEASE = block({
  name: attribute(Type.string, { required: true }),
  /** Renewed whenever so long has passed. */
  renew_ms: attribute(Type.number, { optional: true }),
  /** Which call is to go wrong: `open`, `renew`, `close`. */
  fail: attribute(Type.string, { optional: true }),
  note: attribute(Type.string, { optional: true }),
  secret: attribute(Type.string, { computed: true, sensitive: true }),
});

const SCHEMA: ProviderSchema = {
  provider: block({
    region: attribute(Type.string, { optional: true }),
    token: attribute(Type.string, { optional: true, sensitive: true }),
  }),
  resources: new Map([
    ["mock_thing", { version: 1, block: THING }],
    ["mock_other", { version: 0, block: THING }],
    // Its id is its name, and known before it exists.
    ["mock_named", { version: 0, block: THING }],
  ]),
  dataSources: new Map([["mock_look", { version: 0, block: LOOK }]]),
  ephemeralResources: new Map([["mock_lease", { version: 0, block: LEASE }]]),
  functions: new Map(),
};

const THING_TYPE = typeOfBlock(THING);
const NO_BYTES = new Uint8Array();

/** What the mock manages, which outlives its instances. */
export class MockCloud {
  readonly objects = new Map<string, Value>();
  /** What was done, in order: `create a`, `read a`, `look q`. */
  readonly calls: string[] = [];
  /** Write-only values by the name of the thing they were told for, and values that providers were configured with. */
  readonly told = new Map<string, string>();
  readonly configured: string[] = [];
  /** Names of leases that are open. */
  readonly leases = new Set<string>();
  /** What data sources say before the query. */
  answer = "found";
  /** Whether objects of other types can become ones of these. */
  moves = true;
  /** Milliseconds since 1970, for when leases are to be renewed. */
  now: () => number = Date.now;
  /** Called before an apply does anything, and after it did it and before it answers; may wait, or reject. */
  beforePlan: (() => void) | undefined;
  beforeApply: ((name: string, signal: AbortSignal | undefined) => Promise<void>) | undefined;
  afterApply: ((name: string, signal: AbortSignal | undefined) => Promise<void>) | undefined;
  #ids = 0;

  nextId(): string {
    this.#ids += 1;
    return `id-${this.#ids}`;
  }

  /** Changes an attribute behind everybody's back; undefined: the object goes. */
  drift(name: string, change: Readonly<Record<string, Value>> | undefined): void {
    for (const [id, object] of this.objects) {
      if (textAt(object, "name") !== name) continue;
      if (change === undefined) this.objects.delete(id);
      else this.objects.set(id, withAttributes(object, change));
    }
  }
}

function textAt(object: Value, name: string): string | undefined {
  for (const [key, value] of object.entries()) {
    if (key === name && value.isKnown && !value.isNull) return value.asString();
  }
  return undefined;
}

function withAttributes(object: Value, change: Readonly<Record<string, Value>>): Value {
  return Value.object([...object.entries()].map(([name, value]) => [name, change[name] ?? value]));
}

function failsAt(object: Value, step: string): boolean {
  return !object.isNull && textAt(object, "fail") === step;
}

const error = (summary: string) => ({ severity: "error" as const, summary, detail: "" });

/** A provider over a cloud that records what it is asked to do. Simple on purpose: what is tested is the engine. */
export function createMockProvider(cloud: MockCloud): LifecycleProvider {
  const ok = async () => Promise.resolve({ diagnostics: [] });
  const refuse = async (): Promise<never> => Promise.reject(new Error("the mock has none"));
  const close = async (): Promise<void> => Promise.resolve();
  return {
    schema: async () =>
      Promise.resolve({
        schema: SCHEMA,
        capabilities: { planDestroy: false, moveState: cloud.moves, failedCreateIsClean: true },
        diagnostics: [],
      }),
    validateProvider: ok,
    validateResource: ok,
    validateDataSource: ok,
    validateEphemeral: ok,
    configure: async ({ config }) => {
      const token = textAt(config, "token");
      if (token !== undefined) cloud.configured.push(token);
      return ok();
    },
    upgrade: async ({ json }) =>
      Promise.resolve({ diagnostics: [], state: decodeJson(json, THING_TYPE) }),
    move: async ({ source }) =>
      Promise.resolve({ diagnostics: [], state: decodeJson(source.json, THING_TYPE) }),
    read: async ({ state }) => {
      const name = textAt(state, "name") ?? textAt(state, "id") ?? "";
      cloud.calls.push(`read ${name}`);
      const found = cloud.objects.get(textAt(state, "id") ?? "");
      return Promise.resolve({ diagnostics: [], state: found ?? Value.null(THING_TYPE) });
    },
    plan: async (request) => {
      cloud.beforePlan?.();
      return Promise.resolve(planThing(request));
    },
    apply: async (request, { signal }) => {
      const object = request.planned.isNull ? request.prior : request.planned;
      const name = textAt(object, "name") ?? "";
      await cloud.beforeApply?.(name, signal);
      const reply = applyThing(cloud, request);
      await cloud.afterApply?.(name, signal);
      return reply;
    },
    import: async ({ type, id }) => {
      cloud.calls.push(`import ${id}`);
      const state = Value.object(
        THING_TYPE.names.map((name, at) => {
          const known = name === "id" ? Value.string(id) : undefined;
          return [name, known ?? Value.null(THING_TYPE.types[at] ?? Type.string)] as const;
        }),
      );
      return Promise.resolve({
        diagnostics: [],
        objects: [{ type, state, privateBytes: NO_BYTES }],
      });
    },
    readDataSource: async ({ config }) => {
      const query = textAt(config, "query") ?? "";
      cloud.calls.push(`look ${query}`);
      if (query === "fail") return Promise.resolve({ diagnostics: [error("Cannot look")] });
      const state = withAttributes(config, { result: Value.string(`${cloud.answer} ${query}`) });
      return Promise.resolve({ diagnostics: [], state });
    },
    openEphemeral: async ({ config }) => {
      const name = textAt(config, "name") ?? "";
      cloud.calls.push(`open ${name}`);
      if (failsAt(config, "open")) return { diagnostics: [error("Cannot open")] };
      cloud.leases.add(name);
      const result = withAttributes(config, { secret: Value.string(`secret-of-${name}`) });
      const held = leaseOf(config);
      return { diagnostics: [], result, privateBytes: encodeLease(held), ...renewAt(cloud, held) };
    },
    renewEphemeral: async ({ privateBytes }) => {
      const held = decodeLease(privateBytes);
      cloud.calls.push(`renew ${held.name}`);
      if (held.fail === "renew") return { diagnostics: [error("Cannot renew")] };
      return { diagnostics: [], privateBytes, ...renewAt(cloud, held) };
    },
    closeEphemeral: async ({ privateBytes }) => {
      const { name, fail } = decodeLease(privateBytes);
      cloud.calls.push(`close ${name}`);
      cloud.leases.delete(name);
      return { diagnostics: fail === "close" ? [error("Cannot close")] : [] };
    },
    callFunction: refuse,
    stop: async () => Promise.resolve(),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** What an open lease remembers. */
interface Lease {
  readonly name: string;
  readonly renewMs: number;
  readonly fail: string;
}

function leaseOf(config: Value): Lease {
  const renewMs = attributeOf(config, "renew_ms");
  return {
    name: textAt(config, "name") ?? "",
    renewMs: renewMs === undefined || renewMs.isNull ? 0 : renewMs.asNumber(),
    fail: textAt(config, "fail") ?? "",
  };
}

const encodeLease = (lease: Lease): Uint8Array => new TextEncoder().encode(JSON.stringify(lease));
const decodeLease = (bytes: Uint8Array): Lease =>
  JSON.parse(new TextDecoder().decode(bytes)) as Lease;
const renewAt = (cloud: MockCloud, { renewMs }: Lease) =>
  renewMs > 0 ? { renewAtMs: cloud.now() + renewMs } : {};

function planThing({ type, prior, config, proposed }: PlanResourceRequest): PlanReply {
  const base = {
    diagnostics: [],
    requiresReplace: [],
    plannedPrivate: NO_BYTES,
    legacyTypeSystem: false,
  };
  if (config.isNull) return { ...base, planned: config };
  if (failsAt(config, "plan")) return { ...base, diagnostics: [error("Cannot plan")] };
  const name = attributeOf(config, "name") ?? Value.unknown(Type.string);
  const id = type === "mock_named" ? name : Value.unknown(Type.string);
  const unknown = { id, out: Value.unknown(Type.string) };
  const silent = { token_wo: Value.null(Type.string) };
  if (prior.isNull) {
    const size = attributeOf(config, "size");
    return {
      ...base,
      planned: withAttributes(proposed, {
        ...unknown,
        ...silent,
        ...(size?.isNull === true && { size: Value.unknown(Type.number) }),
      }),
    };
  }
  const same = sameAt(prior, proposed, "value");
  return {
    ...base,
    planned: withAttributes(proposed, same ? silent : { ...silent, out: unknown.out }),
    requiresReplace: sameAt(prior, proposed, "zone") ? [] : [Path.root.attribute("zone")],
  };
}

function attributeOf(object: Value, name: string): Value | undefined {
  for (const [key, value] of object.entries()) if (key === name) return value;
  return undefined;
}

function sameAt(a: Value, b: Value, name: string): boolean {
  const other = attributeOf(b, name);
  return other !== undefined && attributeOf(a, name)?.rawEquals(other) === true;
}

function applyThing(
  cloud: MockCloud,
  { type, prior, planned, config }: ApplyResourceRequest,
): ApplyReply {
  const base = { diagnostics: [], privateBytes: NO_BYTES, legacyTypeSystem: false };
  if (planned.isNull) {
    cloud.calls.push(`delete ${textAt(prior, "name")}`);
    if (failsAt(prior, "delete"))
      return { ...base, state: prior, diagnostics: [error("Cannot delete")] };
    cloud.objects.delete(textAt(prior, "id") ?? "");
    return { ...base, state: planned };
  }
  const creates = prior.isNull;
  const name = textAt(planned, "name");
  cloud.calls.push(`${creates ? "create" : "update"} ${name}`);
  const told = textAt(config, "token_wo");
  if (told !== undefined) cloud.told.set(name ?? "", told);
  if (creates && failsAt(planned, "create")) {
    return { ...base, state: Value.null(planned.type), diagnostics: [error("Cannot create")] };
  }
  if (!creates && failsAt(planned, "update")) {
    return { ...base, state: prior, diagnostics: [error("Cannot update")] };
  }
  const fresh = (): string => (type === "mock_named" ? (name ?? "") : cloud.nextId());
  const id = creates ? fresh() : (textAt(prior, "id") ?? "");
  const size = attributeOf(planned, "size");
  const value = failsAt(planned, "lie") ? Value.string("a lie") : attributeOf(planned, "value");
  const state = withAttributes(planned, {
    id: Value.string(id),
    ...(value && { value }),
    out: Value.string(`out of ${textAt(planned, "value") ?? "nothing"}`),
    ...(size?.isKnown === false && { size: Value.number(7) }),
  });
  cloud.objects.set(id, state);
  const partly = creates && failsAt(planned, "create-partly");
  return { ...base, state, diagnostics: partly ? [error("Created half of it")] : [] };
}
