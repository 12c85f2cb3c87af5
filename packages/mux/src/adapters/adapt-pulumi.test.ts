import { Type, Value } from "@stackwright/cty";
import { createDetail, detailType, RpcError } from "@stackwright/proto/grpc";
import { structFromJson, structToJson } from "@stackwright/proto/property";
import {
  ConfigureResponse,
  CreateResponse,
  DiffResponse,
  DiffResponse_DiffChanges,
  ErrorResourceInitFailed,
  ReadResponse,
} from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import { beforeEach, describe, expect, it } from "vitest";
import type { ResourceProvider } from "../resource-provider.ts";
import type { LifecycleProvider, PlanReply } from "../router/lifecycle-provider.ts";
import { unimplementedProvider } from "../unimplemented-provider.ts";
import { adaptPulumiProvider } from "./adapt-pulumi.ts";

const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";
const secret = (value: unknown) => ({ [SIGNATURE]: SECRET, value });

const SCHEMA = JSON.stringify({
  name: "disk",
  config: { variables: { region: { type: "string" } } },
  resources: {
    "disk:index/volume:Volume": {
      inputProperties: {
        size: { type: "integer" },
        label: { type: "string" },
        tags: { type: "object", additionalProperties: { type: "string" } },
        key: { type: "string", secret: true },
      },
      requiredInputs: ["size"],
      properties: {
        size: { type: "integer" },
        label: { type: "string" },
        path: { type: "string" },
        token: { type: "string" },
      },
    },
  },
  functions: {
    "disk:index/getFree:getFree": {
      inputs: { properties: { region: { type: "string" } } },
      outputs: { properties: { bytes: { type: "number" } } },
    },
  },
});

const TYPE = "disk_volume";
const json = (struct: EncodedStruct | undefined) => structToJson(struct ?? new Uint8Array());

/** Providers in Go refuse a state with members that they do not have; the id is none of them. */
function refuseId(state: EncodedStruct | undefined): void {
  if ("id" in json(state)) throw new RpcError("UNKNOWN", "Unrecognized field 'id'");
}

/** A Pulumi provider that keeps volumes in memory. Changing the size replaces one. */
class Disk {
  readonly volumes = new Map<string, Record<string, unknown>>();
  readonly seen: [method: string, request: unknown][] = [];
  supportsPreview = true;
  acceptSecrets = true;
  createError: RpcError | undefined;

  readonly provider: ResourceProvider = {
    ...unimplementedProvider(),
    getSchema: () => Promise.resolve({ schema: SCHEMA }),
    checkConfig: async ({ news }) => {
      const bad = json(news).region === "nowhere";
      return { inputs: news, failures: bad ? [{ property: "region", reason: "unknown" }] : [] };
    },
    configure: async ({ args, variables }) => {
      this.seen.push(["configure", { args: json(args), variables: Object.fromEntries(variables) }]);
      const { supportsPreview, acceptSecrets } = this;
      return ConfigureResponse.create({ supportsPreview, acceptSecrets });
    },
    check: async ({ news, olds }) => {
      const inputs = json(news);
      this.seen.push(["check", { news: inputs, olds: json(olds) }]);
      if (inputs.size === -1) {
        return { inputs: news, failures: [{ property: "size", reason: "too small" }] };
      }
      return { inputs: structFromJson({ label: "unnamed", ...inputs }), failures: [] };
    },
    diff: async ({ olds, oldInputs, news }) => {
      refuseId(olds);
      const [before, after] = [json(oldInputs), json(news)];
      const same = JSON.stringify(before) === JSON.stringify(after);
      return DiffResponse.create({
        changes: same ? DiffResponse_DiffChanges.DIFF_NONE : DiffResponse_DiffChanges.DIFF_SOME,
        replaces: before.size === after.size ? [] : ["size"],
        stables: ["path"],
      });
    },
    create: async ({ properties, preview }) => {
      this.seen.push(["create", { properties: json(properties), preview }]);
      if (preview) return CreateResponse.create({ properties });
      if (this.createError !== undefined) throw this.createError;
      const id = `vol-${this.volumes.size + 1}`;
      const state = { ...json(properties), path: `/dev/${id}`, token: secret(`t-${id}`) };
      this.volumes.set(id, state);
      return CreateResponse.create({ id, properties: structFromJson(state) });
    },
    update: async ({ id, olds, news, oldInputs, preview }) => {
      refuseId(olds);
      this.seen.push(["update", { news: json(news), oldInputs: json(oldInputs), preview }]);
      const state = { ...this.volumes.get(id), ...json(news) };
      if (!preview) this.volumes.set(id, state);
      return { properties: structFromJson(state), refreshBeforeUpdate: false };
    },
    read: async ({ id, properties, inputs }) => {
      refuseId(properties);
      const state = this.volumes.get(id);
      if (state === undefined) return ReadResponse.create({});
      return ReadResponse.create({ id, properties: structFromJson(state), inputs });
    },
    delete: async ({ id, properties }) => {
      refuseId(properties);
      this.volumes.delete(id);
      return {};
    },
    invoke: async ({ tok, args }) => {
      this.seen.push(["invoke", { tok, args: json(args) }]);
      return { return: structFromJson({ bytes: 42 }), failures: [] };
    },
  };
}

let disk: Disk;
let lifted: LifecycleProvider;
const STRING = Type.string;

function volume(members: Record<string, Value> = {}): Value {
  return Value.object({
    size: Value.null(Type.number),
    label: Value.null(STRING),
    tags: Value.null(Type.map(STRING)),
    key: Value.null(STRING),
    path: Value.null(STRING),
    token: Value.null(STRING),
    id: Value.null(STRING),
    ...members,
  });
}

const ABSENT = Value.null(volume().type);
const OPERATION = { operationId: "op-1", epoch: 1n };

async function configure(members: Record<string, Value> = { region: Value.string("here") }) {
  const config = Value.object(members);
  return lifted.configure({ config, engineVersion: "0", deferralAllowed: false }, {});
}

function plan(
  config: Value,
  prior = ABSENT,
  priorPrivate: Uint8Array = new Uint8Array(),
): Promise<PlanReply> {
  const proposed = config;
  return lifted.plan(
    {
      type: TYPE,
      prior,
      config,
      proposed,
      priorPrivate,
      deferralAllowed: false,
      operation: OPERATION,
    },
    {},
  );
}

async function apply(config: Value, prior = ABSENT, priorPrivate: Uint8Array = new Uint8Array()) {
  const { planned = ABSENT, plannedPrivate, diagnostics } = await plan(config, prior, priorPrivate);
  expect(diagnostics).toEqual([]);
  const request = { type: TYPE, prior, config, planned, plannedPrivate, operation: OPERATION };
  return lifted.apply(request, {});
}

const contents = (value: Value | undefined) =>
  Object.fromEntries(
    [...(value ?? ABSENT).entries()].map(([name, member]) => {
      if (!member.isKnown) return [name, "unknown"];
      if (member.isNull) return [name, null];
      return [name, member.type.kind === "number" ? member.asNumber() : member.asString()];
    }),
  );

beforeEach(async () => {
  disk = new Disk();
  lifted = adaptPulumiProvider(disk.provider);
  await configure();
});

describe("the schema of a lifted provider", () => {
  it("names types after their tokens, and by their tokens", async () => {
    const { schema, diagnostics } = await lifted.schema({});
    expect([...schema.resources.keys()]).toEqual(["disk:index/volume:Volume", "disk_volume"]);
    expect([...schema.dataSources.keys()]).toEqual(["disk:index/getFree:getFree", "disk_get_free"]);
    expect(schema.tokens).toEqual({
      resources: new Map([["disk:index/volume:Volume", "disk_volume"]]),
      dataSources: new Map([["disk:index/getFree:getFree", "disk_get_free"]]),
    });
    expect(diagnostics).toEqual([]);
  });

  it("says who decides what", async () => {
    const { schema } = await lifted.schema({});
    const attributes = schema.resources.get(TYPE)?.block.attributes;
    const flags = (name: string) => {
      const { required, optional, computed, sensitive } = attributes?.get(name) ?? {};
      return { required, optional, computed, sensitive };
    };
    expect(flags("size")).toMatchObject({ required: true, computed: false });
    expect(flags("label")).toMatchObject({ optional: true, computed: true });
    expect(flags("key")).toMatchObject({ optional: true, computed: false, sensitive: true });
    expect(flags("path")).toMatchObject({ optional: false, computed: true });
    expect(flags("id")).toMatchObject({ optional: false, computed: true });
  });
});

describe("moving an object to another type of a lifted provider", () => {
  const box = { inputProperties: { size: { type: "integer" } }, properties: {} };
  const grown = adaptPulumiProvider(unimplementedProvider(), {
    schema: JSON.stringify({
      name: "disk",
      resources: { "disk:index:Box": box, "disk::Box": box, "disk:index:Lid": box },
    }),
  });
  const move = async (sourceType: string, targetType: string) =>
    grown.move(
      {
        sourceProvider: "stackwright.local/pulumi/disk",
        sourceType,
        source: { schemaVersion: 0, json: '{"id":"x","size":3}' },
        sourcePrivate: new Uint8Array([7]),
        targetType,
      },
      {},
    );

  it("works where it was called so before its package had others of that name", async () => {
    const { state, privateBytes, diagnostics } = await move("disk_box", "disk_index_box");
    expect(diagnostics).toEqual([]);
    expect(new Map(state?.entries()).get("size")?.asNumber()).toBe(3);
    expect(privateBytes).toEqual(new Uint8Array([7]));
  });

  it.each([
    ["disk_lid", "disk_index_box"],
    ["disk_index_box", "disk_lid"],
    ["other_box", "disk_index_box"],
  ])("does not make %s a %s", async (from, to) => {
    const { state, diagnostics } = await move(from, to);
    expect(state).toBeUndefined();
    expect(diagnostics).toMatchObject([
      { severity: "error", summary: "Move not possible", detail: `${from} cannot become ${to}.` },
    ]);
  });
});

describe("configuring a lifted provider", () => {
  it("passes the checked configuration on, also in the deprecated form", () => {
    expect(disk.seen).toEqual([
      ["configure", { args: { region: "here" }, variables: { "disk:config:region": "here" } }],
    ]);
  });

  it("reports what CheckConfig finds wrong, with the attribute", async () => {
    const { diagnostics } = await configure({ region: Value.string("nowhere") });
    expect(diagnostics).toMatchObject([{ severity: "error", detail: "unknown" }]);
    expect(diagnostics[0]?.attribute?.steps).toEqual([{ kind: "attribute", name: "region" }]);
  });
});

describe("planning with a lifted provider", () => {
  const config = volume({ size: Value.number(1), tags: Value.map({ a: Value.string("b") }) });

  it("shows checked inputs as known and what the provider decides as unknown", async () => {
    const { planned, requiresReplace, legacyTypeSystem } = await plan(config);
    expect(contents(new Map(planned?.entries()).get("tags"))).toEqual({ a: "b" });
    const { tags: _tags, ...rest } = Object.fromEntries(planned?.entries() ?? []);
    expect(contents(Value.object(rest))).toEqual({
      size: 1,
      label: "unnamed",
      key: null,
      path: "unknown",
      token: "unknown",
      id: "unknown",
    });
    expect([requiresReplace, legacyTypeSystem]).toEqual([[], true]);
    expect(disk.volumes.size).toBe(0);
  });

  it("asks for no preview of a provider that has none", async () => {
    disk.supportsPreview = false;
    await configure();
    disk.seen.length = 0;
    const { planned } = await plan(volume({ size: Value.number(1) }));
    expect(contents(planned)).toMatchObject({ size: 1, label: "unnamed", path: "unknown" });
    expect(disk.seen.map(([method]) => method)).toEqual(["check"]);
  });

  it("reports what Check finds wrong", async () => {
    const { diagnostics, planned } = await plan(volume({ size: Value.number(-1) }));
    expect(diagnostics).toMatchObject([{ severity: "error", detail: "too small" }]);
    expect(planned).toBeUndefined();
  });

  it("carries unknown values", async () => {
    await plan(volume({ size: Value.unknown(Type.number) }));
    expect(disk.seen.at(-2)).toEqual([
      "check",
      { news: { size: "3eeb2bf0-c639-47a8-9e75-3b44932eb421" }, olds: {} },
    ]);
  });

  it("refuses a number that the provider would round, with the attribute", async () => {
    const { diagnostics } = await plan(
      volume({ size: Value.parseNumber("12345678901234567890123") }),
    );
    expect(diagnostics[0]).toMatchObject({ severity: "error", summary: "Value not supported" });
    expect(diagnostics[0]?.attribute?.steps).toEqual([{ kind: "attribute", name: "size" }]);
  });

  it("plans nothing when Diff sees no change", async () => {
    const { state, privateBytes } = await apply(volume({ size: Value.number(1) }));
    const { planned } = await plan(volume({ size: Value.number(1) }), state, privateBytes);
    expect(planned?.rawEquals(state)).toBe(true);
  });

  it("keeps id and stable attributes in an update", async () => {
    disk.supportsPreview = false;
    await configure();
    const { state, privateBytes } = await apply(volume({ size: Value.number(1) }));
    const changed = volume({ size: Value.number(1), label: Value.string("b") });
    const { planned } = await plan(changed, state, privateBytes);
    expect(contents(planned)).toMatchObject({
      label: "b",
      id: "vol-1",
      path: "/dev/vol-1",
      token: "unknown",
    });
  });

  it("asks for a new object where Diff does", async () => {
    const { state, privateBytes } = await apply(volume({ size: Value.number(1) }));
    const changed = volume({ size: Value.number(2) });
    const reply = await plan(changed, state, privateBytes);
    expect(reply.requiresReplace.map((path) => path.steps)).toEqual([
      [{ kind: "attribute", name: "size" }],
    ]);
    expect(contents(reply.planned)).toMatchObject({ id: "unknown", path: "unknown" });
  });
});

describe("applying with a lifted provider", () => {
  it("creates, updates and deletes, with the inputs that the plan checked", async () => {
    const created = await apply(volume({ size: Value.number(1) }));
    expect(contents(created.state)).toMatchObject({
      id: "vol-1",
      path: "/dev/vol-1",
      label: "unnamed",
    });

    const changed = volume({ size: Value.number(1), label: Value.string("b") });
    const updated = await apply(changed, created.state, created.privateBytes);
    expect(contents(updated.state)).toMatchObject({ id: "vol-1", label: "b" });
    expect(disk.seen.at(-1)).toEqual([
      "update",
      {
        news: { label: "b", size: 1 },
        oldInputs: { label: "unnamed", size: 1 },
        preview: false,
      },
    ]);

    const gone = await apply(ABSENT, updated.state, updated.privateBytes);
    expect(gone.state.isNull).toBe(true);
    expect(disk.volumes.size).toBe(0);
  });

  it("says which parts are secret", async () => {
    const { state, sensitive } = await apply(volume({ size: Value.number(1) }));
    expect(contents(state).token).toBe("t-vol-1");
    expect(sensitive?.map((path) => path.steps)).toEqual([[{ kind: "attribute", name: "token" }]]);
  });

  it("keeps what a create that failed half-way made", async () => {
    const half = createDetail(
      detailType("pulumirpc.ErrorResourceInitFailed", ErrorResourceInitFailed),
      ErrorResourceInitFailed.create({
        id: "half-1",
        properties: structFromJson({ size: 1, path: "/dev/half" }),
        reasons: ["crash loop"],
      }),
    );
    disk.createError = new RpcError("UNKNOWN", "not healthy", { details: [half] });
    const { state, diagnostics } = await apply(volume({ size: Value.number(1) }));
    expect(contents(state)).toMatchObject({ id: "half-1", path: "/dev/half" });
    expect(diagnostics).toEqual([
      { severity: "error", summary: "not healthy", detail: "crash loop" },
    ]);
  });

  it("says that nothing is there after a refused create", async () => {
    disk.createError = new RpcError("INVALID_ARGUMENT", "quota");
    const { state, diagnostics } = await apply(volume({ size: Value.number(1) }));
    expect(state.isNull).toBe(true);
    expect(diagnostics[0]?.detail).toContain("quota");
  });

  it.each(["INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNKNOWN"] as const)(
    "rejects after %s, when nobody knows what is there",
    async (code) => {
      disk.createError = new RpcError(code, "lost");
      await expect(apply(volume({ size: Value.number(1) }))).rejects.toMatchObject({ code });
    },
  );

  it("gives secrets bare to a provider that takes none, and marks them again", async () => {
    disk.acceptSecrets = false;
    await configure();
    const { state } = await apply(volume({ size: Value.number(1), key: Value.string("k") }));
    expect(contents(state).key).toBe("k");
  });
});

describe("reading with a lifted provider", () => {
  it("sees drift, and that an object is gone", async () => {
    const { state, privateBytes } = await apply(volume({ size: Value.number(1) }));
    const request = { type: TYPE, state, privateBytes, deferralAllowed: false };
    disk.volumes.set("vol-1", { ...disk.volumes.get("vol-1"), label: "by hand" });
    expect(contents((await lifted.read(request, {})).state)).toMatchObject({ label: "by hand" });
    disk.volumes.clear();
    expect((await lifted.read(request, {})).state?.isNull).toBe(true);
  });

  it("imports by id", async () => {
    disk.volumes.set("vol-7", { size: 3 });
    const { objects } = await lifted.import(
      { type: TYPE, id: "vol-7", deferralAllowed: false },
      {},
    );
    expect(contents(objects[0]?.state)).toMatchObject({ id: "vol-7", size: 3 });
    const none = await lifted.import({ type: TYPE, id: "vol-8", deferralAllowed: false }, {});
    expect(none.diagnostics[0]?.summary).toBe("Object not found");
  });

  it("reads functions as data sources", async () => {
    const config = Value.object({ region: Value.string("x"), bytes: Value.null(Type.number) });
    const request = { type: "disk_get_free", config, deferralAllowed: false };
    const { state } = await lifted.readDataSource(request, {});
    expect(contents(state)).toEqual({ region: "x", bytes: 42 });
    expect(disk.seen.at(-1)).toEqual([
      "invoke",
      { tok: "disk:index/getFree:getFree", args: { region: "x" } },
    ]);
  });
});
