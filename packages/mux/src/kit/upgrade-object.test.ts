import { type BigFloat, encodeJson, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { type Attributes, optional, required, typeOfAttributes } from "./attribute.ts";
import { types } from "./attribute-type.ts";
import { createProvider } from "./create-provider.ts";
import { type AnyResource, defineResource, type ResourceDefinition } from "./definition.ts";

const rest = { create: () => ({}), delete: () => undefined };

function zones<A extends Attributes>(
  attributes: A,
  upgrade?: ResourceDefinition<A, undefined>["upgrade"],
): AnyResource<undefined> {
  return defineResource({ attributes, version: 2, ...rest, ...(upgrade && { upgrade }) });
}

/** What becomes of an object that an older version stored: its JSON, or the error. */
async function upgraded(resource: AnyResource<undefined>, json: string, schemaVersion = 0) {
  const provider = createProvider({
    config: {},
    configure: () => undefined,
    resources: { zones_record: resource },
  });
  const request = { type: "zones_record", schemaVersion, json };
  const { diagnostics, state } = await provider.upgrade(request, {});
  if (state === undefined) return diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`);
  expect(diagnostics).toEqual([]);
  return encodeJson(state, typeOfAttributes(resource.attributes));
}

const all = {
  name: required(types.string),
  size: optional(types.number),
  exact: optional(types.exactNumber),
  on: optional(types.bool),
  list: optional(types.list(types.string)),
  set: optional(types.set(types.string)),
  tags: optional(types.map(types.string)),
  point: optional(types.object({ x: types.number, y: types.string })),
  nested: optional(types.map(types.list(types.object({ a: types.set(types.number) })))),
  thing: optional(types.any),
};
const stored =
  '{"exact":9007199254740993,"list":["b",null],"name":"n","nested":{"k":[{"a":[1,2]}]},"on":true,' +
  '"point":{"x":1,"y":null},"set":["a","b"],"size":1.5,"tags":{"k":"v"},' +
  '"thing":{"value":["a"],"type":["list","string"]}}';

describe("upgrading what an older version stored", () => {
  it("keeps every type as it is, with one more attribute", async () => {
    const resource = zones({ ...all, mood: optional(types.string) }, (stored) => ({
      ...stored,
      mood: null,
    }));
    const json = await upgraded(resource, stored);
    expect(JSON.parse(String(json))).toEqual({ ...JSON.parse(stored), mood: null });
    expect(json).toContain('"exact":9007199254740993,');
  });

  it("hands over the forms that provider code gets everywhere", async () => {
    let seen: Readonly<Record<string, unknown>> = {};
    let from: number | undefined;
    const resource = zones(all, (stored, version) => {
      seen = stored;
      from = version;
      return {};
    });
    expect(JSON.parse(String(await upgraded(resource, stored, 1)))).toEqual(JSON.parse(stored));
    expect(from).toBe(1);
    expect((seen["exact"] as BigFloat).text()).toBe("9007199254740993");
    expect((seen["thing"] as Value).rawEquals(Value.list([Value.string("a")]))).toBe(true);
    expect(seen).toMatchObject({
      name: "n",
      size: 1.5,
      on: true,
      list: ["b", null],
      set: ["a", "b"],
      tags: new Map([["k", "v"]]),
      point: { x: 1, y: null },
      nested: new Map([["k", [{ a: [1, 2] }]]]),
    });
  });

  it("keeps a number that its form cannot show, and shows it as plain data", async () => {
    let big: unknown;
    const resource = zones({ size: optional(types.number) }, (stored, _version, json) => {
      expect(stored).toEqual({});
      big = json["size"];
      return stored;
    });
    expect(await upgraded(resource, '{"size":9007199254740993}')).toBe('{"size":9007199254740993}');
    expect(big).toBe(9007199254740993n);
  });

  it("has what is called otherwise now in the plain data, maps as objects included", async () => {
    const attributes = { labels: optional(types.map(types.string)) };
    const resource = zones(attributes, (_stored, _version, { tags }) => ({
      labels: tags as Record<string, string>,
    }));
    expect(await upgraded(resource, '{"tags":{"k":"v"}}')).toBe('{"labels":{"k":"v"}}');
  });

  it("asks what becomes of an attribute that is stored as another type", async () => {
    const attributes = { ttl: optional(types.number), name: optional(types.string) };
    const json = '{"ttl":{"seconds":60},"name":"n"}';
    expect(
      await upgraded(
        zones(attributes, (stored) => ({ ...stored })),
        json,
      ),
    ).toEqual([
      "upgrade of zones_record failed: ttl: the stored value is not of type number, and `upgrade` does not convert it",
    ]);
    const mended = zones(attributes, (_stored, _version, { ttl }) => ({
      ttl: (ttl as { seconds: number }).seconds,
    }));
    expect(await upgraded(mended, json)).toBe('{"name":"n","ttl":60}');
    const dropped = zones(attributes, () => ({ ttl: null }));
    expect(await upgraded(dropped, json)).toBe('{"name":"n","ttl":null}');
  });

  it("says which part of a result does not fit", async () => {
    const attributes = { tags: optional(types.map(types.string)) };
    const resource = zones(attributes, (_stored, _version, json) => ({
      tags: json["tags"] as Record<string, string>,
    }));
    expect(await upgraded(resource, '{"tags":{"k":{"v":1}}}')).toEqual([
      'upgrade of zones_record failed: tags["k"]: a string is needed, not an object',
    ]);
  });
});

describe("stored objects that cannot be upgraded", () => {
  const attributes = { name: optional(types.string) };

  it("say both versions, and that there is no upgrade", async () => {
    expect(await upgraded(zones(attributes), '{"name":"n"}', 1)).toEqual([
      "Stored object too old: The stored zones_record has schema version 1, this version of the " +
        "provider has 2, and its resource zones_record has no `upgrade` that would bring it from one " +
        "to the other.",
    ]);
  });

  it("say both versions where a newer one wrote them", async () => {
    expect(await upgraded(zones(attributes), '{"name":"n"}', 3)).toEqual([
      "Stored object too new: The stored zones_record has schema version 3, this version of the " +
        "provider has 2: a newer one wrote it.",
    ]);
  });

  it("say where an object of this version does not fit, and what is no object", async () => {
    const [told] = await upgraded(zones(attributes), '{"name":["a secret"]}', 2);
    expect(told).toMatch(/^upgrade of zones_record failed: name: /);
    expect(told).not.toContain("secret");
    const [other] = await upgraded(
      zones(attributes, (stored) => stored),
      "[1]",
    );
    expect(other).toBe("upgrade of zones_record failed: the stored value is not an object");
  });
});
