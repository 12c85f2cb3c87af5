import { createRequire } from "node:module";
import * as pulumi from "@pulumi/pulumi";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import {
  archiveProperty,
  assetProperty,
  boolProperty,
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
import { decodeStruct } from "./decode.ts";
import { encodeStruct } from "./encode.ts";
import { PropertyError } from "./errors.ts";
import { structFromJson, structToJson } from "./json.ts";
import { SIGNATURE_KEY } from "./signature.ts";
import type { ArchiveProperty, AssetProperty, PropertyMap, PropertyValue } from "./value.ts";

/** The Struct of google-protobuf, which is what Pulumi's SDK reads and writes. */
interface JspbStruct {
  serializeBinary(): Uint8Array;
  toJavaScript(): object;
}
const requireOfPulumi = createRequire(
  createRequire(import.meta.url).resolve("@pulumi/pulumi/package.json"),
);
const { getStore } = requireOfPulumi("./runtime/state.js") as { getStore(this: void): object };
const { Struct } = requireOfPulumi("google-protobuf/google/protobuf/struct_pb.js") as {
  Struct: {
    fromJavaScript(value: object): JspbStruct;
    deserializeBinary(b: Uint8Array): JspbStruct;
  };
};
const { deserializeProperty, deserializeProperties, serializeProperties, unknownValue } =
  pulumi.runtime;

/** Properties as Pulumi's SDK writes them. */
async function written(properties: pulumi.Inputs, keepOutputValues = false): Promise<PropertyMap> {
  const json = await serializeProperties("test", properties, { keepOutputValues });
  return decodeStruct(Struct.fromJavaScript(json).serializeBinary());
}

/** Properties as Pulumi's SDK reads them. */
function read(properties: Readonly<Record<string, PropertyValue>>): Record<string, unknown> {
  const struct = Struct.deserializeBinary(encodeStruct(propertyMap(properties)));
  return deserializeProperties(struct as never, true);
}

/** What the SDK leaves on its assets and archives. */
const markedAsset = { extra: propertyMap({ __pulumiAsset: boolProperty(true) }) };
const markedArchive = { extra: propertyMap({ __pulumiArchive: boolProperty(true) }) };

const urn = "urn:pulumi:dev::project::pkg:index:Thing::thing";

describe("the SDK of Pulumi", () => {
  beforeAll(() => {
    Object.assign(getStore(), {
      supportsSecrets: true,
      supportsResourceReferences: true,
      supportsOutputValues: true,
    });
  });

  it("writes what the codec reads", async () => {
    const { StringAsset, FileAsset, RemoteAsset, AssetArchive, FileArchive, RemoteArchive } =
      pulumi.asset;
    const properties = await written({
      plain: [null, true, 1.5, "text", { a: {} }],
      secret: pulumi.secret({ password: "p" }),
      unknown: pulumi.unknown,
      text: new StringAsset("content"),
      file: new FileAsset("/a/file"),
      remote: new RemoteAsset("https://example.com/a"),
      archive: new AssetArchive({ a: new StringAsset("a"), b: new FileArchive("/b") }),
      remoteArchive: new RemoteArchive("https://example.com/b"),
    });
    expect(properties).toEqual(
      propertyMap({
        plain: listProperty([
          nullProperty(),
          boolProperty(true),
          numberProperty(1.5),
          stringProperty("text"),
          mapProperty({ a: mapProperty({}) }),
        ]),
        secret: secretProperty(mapProperty({ password: stringProperty("p") })),
        unknown: unknownProperty("string"),
        text: { ...assetProperty({ text: "content" }), ...markedAsset },
        file: { ...assetProperty({ path: "/a/file" }), ...markedAsset },
        remote: { ...assetProperty({ uri: "https://example.com/a" }), ...markedAsset },
        archive: {
          ...archiveProperty({
            assets: new Map<string, AssetProperty | ArchiveProperty>([
              ["a", { ...assetProperty({ text: "a" }), ...markedAsset }],
              ["b", { ...archiveProperty({ path: "/b" }), ...markedArchive }],
            ]),
          }),
          ...markedArchive,
        },
        remoteArchive: {
          ...archiveProperty({ uri: "https://example.com/b" }),
          ...markedArchive,
        },
      }),
    );
  });

  it("writes output values that the codec reads", async () => {
    const dependency = new pulumi.DependencyResource(urn);
    const output = (isKnown: boolean, isSecret: boolean) =>
      new (pulumi.Output as unknown as new (...args: unknown[]) => pulumi.Output<string>)(
        [dependency],
        Promise.resolve("v"),
        Promise.resolve(isKnown),
        Promise.resolve(isSecret),
        Promise.resolve([dependency]),
      );
    const properties = await written(
      { known: output(true, true), pending: output(false, false) },
      true,
    );
    expect(properties).toEqual(
      propertyMap({
        known: outputProperty({ value: stringProperty("v"), secret: true, dependencies: [urn] }),
        pending: outputProperty({ dependencies: [urn] }),
      }),
    );
  });

  it("reads what the codec writes", async () => {
    const found = read({
      plain: listProperty([nullProperty(), numberProperty(-0.5), stringProperty("é")]),
      secret: secretProperty(stringProperty("p")),
      text: assetProperty({ text: "content", hash: "h" }),
      remote: assetProperty({ uri: "https://example.com/a" }),
      archive: archiveProperty({
        assets: new Map([["a", assetProperty({ path: "/a" })]]),
      }),
      output: outputProperty({ value: numberProperty(7), secret: true, dependencies: [urn] }),
      pending: outputProperty({}),
      reference: resourceProperty({ urn, id: "thing-1" }),
      component: resourceProperty({ urn }),
    });
    expect(found.plain).toEqual([null, -0.5, "é"]);
    expect(found.secret).toMatchObject({ value: "p" });
    expect(pulumi.runtime.isRpcSecret(found.secret)).toBe(true);
    expect(found.text).toBeInstanceOf(pulumi.asset.StringAsset);
    expect(await (found.text as pulumi.asset.StringAsset).text).toBe("content");
    expect(found.remote).toBeInstanceOf(pulumi.asset.RemoteAsset);
    const assets = await (found.archive as pulumi.asset.AssetArchive).assets;
    expect(assets["a"]).toBeInstanceOf(pulumi.asset.FileAsset);
    const output = found.output as {
      isKnown: Promise<boolean>;
      isSecret: Promise<boolean>;
      promise(): Promise<unknown>;
      resources(): Set<unknown>;
    };
    expect([await output.isKnown, await output.isSecret, await output.promise()]).toEqual([
      true,
      true,
      7,
    ]);
    expect(output.resources().size).toBe(1);
    expect(await (found.pending as typeof output).isKnown).toBe(false);
    expect([found.reference, found.component]).toEqual(["thing-1", urn]);
  });

  it("takes an unknown string for unknown", () => {
    const found = read({ unknown: unknownProperty("string") });
    expect(pulumi.unknown).toBe(found.unknown);
    expect(structToJson(encodeStruct(propertyMap({ u: unknownProperty("string") }))).u).toBe(
      unknownValue,
    );
  });

  it("refuses an unknown signature too, wherever it is", () => {
    const json = { a: [{ [SIGNATURE_KEY]: "something else" }] };
    expect(() => decodeStruct(structFromJson(json))).toThrow(PropertyError);
    expect(() => deserializeProperty(json.a)).toThrow("Unrecognized signature");
  });

  it("has a Struct that reads and writes the same", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (json) => {
        // google-protobuf builds plain objects by assignment.
        fc.pre(!JSON.stringify(json).includes("__proto__"));
        const encoded = structFromJson(json);
        const other = Struct.deserializeBinary(encoded);
        expect(other.toJavaScript()).toEqual(structToJson(encoded));
        expect(structToJson(other.serializeBinary())).toEqual(structToJson(encoded));
      }),
    );
  });
});
