import { describe, expect, it } from "vitest";
import {
  archiveProperty,
  assetProperty,
  listProperty,
  mapProperty,
  nullProperty,
  numberProperty,
  outputProperty,
  propertyMap,
  resourceProperty,
  secretProperty,
  stringProperty,
  unknownProperty,
} from "./construct.ts";
import { equalProperties, equalStructs } from "./equal.ts";
import { structFromJson } from "./json.ts";
import { formatPropertyPath } from "./path.ts";
import { markSecret, restoreSecrets } from "./secrets.ts";
import { SIGNATURE, SIGNATURE_KEY } from "./signature.ts";
import type { PropertyValue } from "./value.ts";
import { containsSecret, containsUnknown, walkProperties } from "./walk.ts";

describe("walkProperties", () => {
  const properties = propertyMap({
    list: listProperty([numberProperty(1), secretProperty(mapProperty({ a: nullProperty() }))]),
    archive: archiveProperty({ assets: new Map([["f.txt", assetProperty({ text: "" })]]) }),
    reference: resourceProperty({ urn: "u", id: "i" }),
    extra: { kind: "output", extra: propertyMap({ later: nullProperty() }) },
  });

  it("visits every value in order, with its path", () => {
    const visited: string[] = [];
    walkProperties(properties, (node) => {
      visited.push(`${formatPropertyPath(node.path())} ${node.value.kind}`);
      return undefined;
    });
    expect(visited).toEqual([
      "list list",
      "list[0] number",
      "list[1] secret",
      "list[1] map",
      "list[1].a null",
      "archive archive",
      'archive.assets["f.txt"] asset',
      "reference resource",
      "reference.id string",
      "extra output",
      "extra.later null",
    ]);
  });

  it("leaves out what is skipped and stops on request", () => {
    const visited: string[] = [];
    walkProperties(properties, ({ value }) => {
      visited.push(value.kind);
      return value.kind === "list" ? "skip" : value.kind === "asset" ? "stop" : undefined;
    });
    expect(visited).toEqual(["list", "archive", "asset"]);
  });

  it("finds unknown and secret values wherever they are", () => {
    const inside = (value: PropertyValue) =>
      mapProperty({ a: listProperty([secretProperty(value)]) });
    expect(containsUnknown(inside(numberProperty(1)))).toBe(false);
    expect(containsUnknown(inside(unknownProperty("map")))).toBe(true);
    expect(containsUnknown(inside(outputProperty({})))).toBe(true);
    expect(containsUnknown(inside(resourceProperty({ urn: "u", id: "" })))).toBe(true);
    expect(containsUnknown(inside(resourceProperty({ urn: "u" })))).toBe(false);
    expect(containsSecret(listProperty([numberProperty(1)]))).toBe(false);
    expect(containsSecret(listProperty([outputProperty({ secret: true })]))).toBe(true);
    expect(containsSecret(propertyMap({ a: inside(numberProperty(1)) }))).toBe(true);
  });

  it("goes to any depth", () => {
    let value: PropertyValue = unknownProperty("bool");
    for (let i = 0; i < 100_000; i += 1) value = listProperty([value]);
    let other: PropertyValue = unknownProperty("bool");
    for (let i = 0; i < 100_000; i += 1) other = listProperty([other]);
    expect(containsUnknown(value)).toBe(true);
    expect(equalProperties(value, other)).toBe(true);
    let depth = 0;
    walkProperties(value, (node) => {
      if (node.value.kind === "unknown") depth = node.path().length;
      return undefined;
    });
    expect(depth).toBe(100_000);
  });
});

describe("equalProperties", () => {
  const secret = secretProperty(numberProperty(1));

  it.each<[string, PropertyValue, PropertyValue, boolean]>([
    [
      "maps in another order",
      mapProperty({ a: nullProperty(), b: secret }),
      mapProperty({ b: secretProperty(numberProperty(1)), a: nullProperty() }),
      true,
    ],
    ["maps of other keys", mapProperty({ a: secret }), mapProperty({ b: secret }), false],
    [
      "maps of other sizes",
      mapProperty({ a: secret }),
      mapProperty({ a: secret, b: secret }),
      false,
    ],
    [
      "lists in another order",
      listProperty([secret, nullProperty()]),
      listProperty([nullProperty(), secret]),
      false,
    ],
    ["NaN", numberProperty(Number.NaN), numberProperty(Number.NaN), true],
    ["a string and a number", stringProperty("1"), numberProperty(1), false],
    ["unknown values of other types", unknownProperty("map"), unknownProperty("list"), false],
    ["a secret and its value", secret, numberProperty(1), false],
    [
      "outputs with absent and empty members",
      outputProperty({ value: secret }),
      outputProperty({ value: secret, secret: false, dependencies: [] }),
      true,
    ],
    [
      "dependencies in another order",
      outputProperty({ dependencies: ["a", "b"] }),
      outputProperty({ dependencies: ["b", "a", "b"] }),
      true,
    ],
    [
      "other dependencies",
      outputProperty({ dependencies: ["a"] }),
      outputProperty({ dependencies: ["b"] }),
      false,
    ],
    ["known and unknown outputs", outputProperty({ value: secret }), outputProperty({}), false],
    ["assets of other sources", assetProperty({ text: "a" }), assetProperty({ path: "a" }), false],
    [
      "archives of other contents",
      archiveProperty({ assets: new Map([["f", assetProperty({ text: "a" })]]) }),
      archiveProperty({ assets: new Map([["f", assetProperty({ text: "b" })]]) }),
      false,
    ],
    [
      "references to other ids",
      resourceProperty({ urn: "u", id: "a" }),
      resourceProperty({ urn: "u", id: "b" }),
      false,
    ],
    [
      "an asset with a mark of the SDK",
      { ...assetProperty({ text: "a" }), extra: propertyMap({ __pulumiAsset: nullProperty() }) },
      assetProperty({ text: "a" }),
      true,
    ],
    ["other extra members", { ...secret, extra: propertyMap({ a: secret }) }, secret, false],
  ])("compares %s", (_, a, b, expected) => {
    expect(equalProperties(a, b)).toBe(expected);
    expect(equalProperties(b, a)).toBe(expected);
  });

  it("ignores whether values are secret on request", () => {
    const options = { secrets: "ignore" } as const;
    const plain = mapProperty({ a: listProperty([numberProperty(1)]) });
    const wrapped = secretProperty(mapProperty({ a: secretProperty(listProperty([secret])) }));
    expect(equalProperties(plain, wrapped, options)).toBe(true);
    const output = { value: numberProperty(1) };
    expect(
      equalProperties(outputProperty(output), outputProperty({ ...output, secret: true }), options),
    ).toBe(true);
  });

  it("compares property maps and encoded Structs", () => {
    expect(equalProperties(propertyMap({ a: secret }), propertyMap({ a: secret }))).toBe(true);
    expect(equalProperties(propertyMap({}), mapProperty({}))).toBe(false);
    const wrapped = { [SIGNATURE_KEY]: SIGNATURE.secret, value: 1 };
    const a = structFromJson({ x: 1, y: { p: 1, q: 2 } });
    const b = structFromJson({ y: { q: 2, p: 1 }, x: wrapped });
    expect(equalStructs(a, structFromJson({ y: { q: 2, p: 1 }, x: 1 }))).toBe(true);
    expect(equalStructs(a, b)).toBe(false);
    expect(equalStructs(a, b, { secrets: "ignore" })).toBe(true);
  });
});

describe("restoreSecrets", () => {
  it("marks what was secret in the inputs", () => {
    const one = numberProperty(1);
    const restored = restoreSecrets(
      propertyMap({
        secret: one,
        output: one,
        plain: one,
        created: one,
        already: secretProperty(one),
        map: mapProperty({ secret: one, plain: one }),
        list: listProperty([one, one]),
        plainList: listProperty([one]),
        changed: one,
      }),
      propertyMap({
        secret: secretProperty(one),
        output: outputProperty({ secret: true }),
        plain: one,
        already: secretProperty(one),
        map: mapProperty({ secret: secretProperty(one), plain: one }),
        list: listProperty([mapProperty({ deep: secretProperty(one) })]),
        plainList: listProperty([one]),
        changed: listProperty([secretProperty(one)]),
        gone: secretProperty(one),
      }),
    );
    expect(restored).toEqual(
      propertyMap({
        secret: secretProperty(one),
        output: secretProperty(one),
        plain: one,
        created: one,
        already: secretProperty(one),
        map: mapProperty({ secret: secretProperty(one), plain: one }),
        list: secretProperty(listProperty([one, one])),
        plainList: listProperty([one]),
        changed: one,
      }),
    );
  });

  it("leaves its arguments unchanged", () => {
    const outputs = propertyMap({ map: mapProperty({ a: numberProperty(1) }) });
    restoreSecrets(
      outputs,
      propertyMap({ map: mapProperty({ a: secretProperty(nullProperty()) }) }),
    );
    expect(containsSecret(outputs)).toBe(false);
  });
});

describe("markSecret", () => {
  it("wraps each property once", () => {
    const secret = secretProperty(numberProperty(1));
    expect(markSecret(propertyMap({ a: numberProperty(1), b: secret }))).toEqual(
      propertyMap({ a: secret, b: secret }),
    );
  });
});
