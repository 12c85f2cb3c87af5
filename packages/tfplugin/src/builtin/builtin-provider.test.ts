import { encodeJson, Path, refine, Type, Value } from "@stackwright/cty";
import { proposeState, typeOfBlock } from "@stackwright/mux/router";
import { describeLifecycleProvider } from "@stackwright/mux/testing";
import { describe, expect, it } from "vitest";
import { createBuiltinProvider } from "./builtin-provider.ts";
import { DATA_BLOCK } from "./declarations.ts";

const NO_BYTES = new Uint8Array();
const TYPE = typeOfBlock(DATA_BLOCK);
const NOTHING = Value.null(TYPE);
const DEFERRAL = { deferralAllowed: false };

function provider(ids: readonly string[] = ["first", "second"]) {
  const left = [...ids];
  return createBuiltinProvider({
    readTfvars: () => new Map(),
    randomId: () => left.shift() ?? "spent",
  });
}

function object(members: Readonly<Record<string, Value>>): Value {
  return Value.object(
    TYPE.names.map((name, i) => [name, members[name] ?? Value.null(TYPE.types[i] ?? Type.dynamic)]),
  );
}

async function plan(prior: Value, config: Value) {
  const proposed = proposeState(DATA_BLOCK, prior, config);
  const request = { type: "terraform_data", prior, config, proposed, priorPrivate: NO_BYTES };
  return provider().plan({ ...request, ...DEFERRAL }, {});
}

const text = (content: string) => Value.string(content);
const unknownId = refine(Value.unknown(Type.string), { notNull: true });

describeLifecycleProvider(
  "terraform_data as a lifecycle provider",
  async () => {
    const built = createBuiltinProvider({ readTfvars: () => new Map() });
    return Promise.resolve({
      provider: built,
      [Symbol.asyncDispose]: async () => built.close(),
    });
  },
  {
    type: "terraform_data",
    observable: false,
    config: { input: text("a"), triggers_replace: Value.tuple([Value.number(1)]) },
    changed: {
      input: Value.object({ b: text("c") }),
      triggers_replace: Value.tuple([Value.number(1)]),
    },
    replaced: { input: text("a"), triggers_replace: Value.tuple([Value.number(2)]) },
  },
);

describe("terraform_data", () => {
  it.each<[string, Value, Value, Value, boolean]>([
    ["creates", NOTHING, object({}), object({ id: unknownId }), false],
    [
      "creates with an input",
      NOTHING,
      object({ input: text("x") }),
      object({ id: unknownId, input: text("x"), output: Value.unknown(Type.string) }),
      false,
    ],
    [
      "creates with an unknown input",
      NOTHING,
      object({ input: Value.dynamic }),
      object({ id: unknownId, input: Value.dynamic, output: Value.dynamic }),
      false,
    ],
    [
      "keeps what did not change",
      object({ id: text("1"), input: text("x"), output: text("x") }),
      object({ input: text("x") }),
      object({ id: text("1"), input: text("x"), output: text("x") }),
      false,
    ],
    [
      "updates the output with the input",
      object({ id: text("1"), input: text("x"), output: text("x") }),
      object({ input: Value.number(2) }),
      object({ id: text("1"), input: Value.number(2), output: Value.unknown(Type.number) }),
      false,
    ],
    [
      "takes the output back with the input",
      object({ id: text("1"), input: text("x"), output: text("x") }),
      object({}),
      object({ id: text("1") }),
      false,
    ],
    [
      "replaces for another trigger, also one of another type",
      object({ id: text("1"), triggers_replace: text("1"), input: text("x"), output: text("x") }),
      object({ triggers_replace: Value.number(1), input: text("x") }),
      object({
        id: unknownId,
        triggers_replace: Value.number(1),
        input: text("x"),
        output: Value.unknown(Type.string),
      }),
      true,
    ],
  ])("%s", async (_name, prior, config, expected, replaces) => {
    const { planned, requiresReplace } = await plan(prior, config);
    expect(planned?.rawEquals(expected)).toBe(true);
    const trigger = Path.root.attribute("triggers_replace");
    expect(requiresReplace.map(String)).toEqual(replaces ? [String(trigger)] : []);
  });

  it("makes the id and the output when it is applied", async () => {
    const planned = object({ id: unknownId, input: text("x"), output: Value.unknown(Type.string) });
    const request = { type: "terraform_data", prior: NOTHING, config: NOTHING, planned };
    const built = provider(["one", "two"]);
    for (const id of ["one", "two"]) {
      const { state } = await built.apply({ ...request, plannedPrivate: NO_BYTES }, {});
      const expected = object({ id: text(id), input: text("x"), output: text("x") });
      expect(state.rawEquals(expected)).toBe(true);
    }
  });

  it.each(["id", "output"])("does not let %s be configured", async (name) => {
    const request = { type: "terraform_data", writeOnlyAllowed: true };
    const config = object({ [name]: text("x") });
    const { diagnostics } = await provider().validateResource({ ...request, config }, {});
    expect(diagnostics.map(({ attribute }) => String(attribute))).toEqual([`.${name}`]);
  });

  it("is imported by its id", async () => {
    const request = { type: "terraform_data", id: "abc", ...DEFERRAL };
    const { objects } = await provider().import(request, {});
    expect(objects[0]?.state.rawEquals(object({ id: text("abc") }))).toBe(true);
  });

  it("reads a stored object with exact numbers, and without attributes that it does not have", async () => {
    const big = Value.parseNumber("12345678901234567890123");
    const stored = object({ id: text("1"), input: big, output: big });
    const json = encodeJson(stored, TYPE).replace("{", '{"gone":{"a":[1]},');
    const request = { type: "terraform_data", schemaVersion: 0, json };
    const { state } = await provider().upgrade(request, {});
    expect(state?.rawEquals(stored)).toBe(true);
  });

  it("refuses a stored object of a newer version", async () => {
    const request = { type: "terraform_data", schemaVersion: 1, json: "{}" };
    const { diagnostics, state } = await provider().upgrade(request, {});
    expect(diagnostics).toMatchObject([{ severity: "error" }]);
    expect(state).toBeUndefined();
  });

  it.each([
    ["registry.terraform.io/hashicorp/null", "null_resource", true],
    ["example.com/hashicorp/null", "null_resource", true],
    ["registry.terraform.io/other/null", "null_resource", false],
    ["registry.terraform.io/hashicorp/null", "null_thing", false],
  ])("can be made from %s %s: %s", async (sourceProvider, sourceType, possible) => {
    const json = '{"id":"7","triggers":{"a":"b"},"old":1}';
    const { state, diagnostics } = await provider().move(
      {
        sourceProvider,
        sourceType,
        source: { schemaVersion: 0, json },
        sourcePrivate: NO_BYTES,
        targetType: "terraform_data",
      },
      {},
    );
    expect(diagnostics.length === 0).toBe(possible);
    const expected = object({
      id: text("7"),
      triggers_replace: Value.object({ a: text("b") }),
    });
    expect(state?.rawEquals(expected) ?? false).toBe(possible);
  });
});

describe("the built-in provider", () => {
  it("rejects types that it does not have", async () => {
    const unknownType = expect.objectContaining({ code: "TFPLUGIN_TYPE_UNKNOWN" });
    const built = provider();
    const request = { type: "terraform_other", config: Value.emptyObject, ...DEFERRAL };
    await expect(built.readDataSource(request, {})).rejects.toThrow(unknownType);
    await expect(built.openEphemeral(request, {})).rejects.toThrow(unknownType);
  });

  it("rejects calls once it is closed or the caller has given up", async () => {
    const built = provider();
    const signal = AbortSignal.abort(new Error("given up"));
    await expect(built.schema({ signal })).rejects.toThrow("given up");
    await built.close();
    await expect(built.schema({})).rejects.toMatchObject({ code: "TFPLUGIN_CLOSED" });
  });
});
