import { Path, Type } from "@stackwright/cty";
import {
  type AttributeSchema,
  type BlockSchema,
  differenceOfBlocks,
  type ProviderSchema,
  typeOfBlock,
} from "@stackwright/mux/router";
import * as t5 from "@stackwright/proto/tfplugin5";
import * as t6 from "@stackwright/proto/tfplugin6";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyBlock, objectOf, valueOf } from "../testing/schema-arbitraries.ts";
import { valueFromWire, valueToWire } from "./dynamic-value.ts";
import { lazySchema } from "./lazy-schema.ts";
import { PLUGIN_METHODS } from "./methods.ts";
import { pathFromWire, pathToWire } from "./paths.ts";
import { deferralFromWire, deferralToWire, timestampFromWire, timestampToWire } from "./replies.ts";
import { schemaFromWire } from "./schema-from-wire.ts";
import { schemaToWire } from "./schema-to-wire.ts";

const anySchema: fc.Arbitrary<ProviderSchema> = fc
  .record({ provider: anyBlock(1), block: anyBlock(), version: fc.nat(9) })
  .map(({ provider, block, version }) => ({
    provider,
    resources: new Map([["t_thing", { version, block }]]),
    dataSources: new Map([["t_data", { version: 0, block: provider }]]),
    ephemeralResources: new Map(),
    functions: new Map(),
  }));

function hasNoNested({ attributes, blocks }: BlockSchema): boolean {
  return (
    [...attributes.values()].every(({ nested }) => nested === undefined) &&
    [...blocks.values()].every(({ block }) => hasNoNested(block))
  );
}

describe("schemas", () => {
  it("come back from messages as they were", () => {
    const { response } = PLUGIN_METHODS[6].getProviderSchema;
    fc.assert(
      fc.property(anySchema, (schema) => {
        const message = {
          ...schemaToWire(schema),
          diagnostics: [],
          serverCapabilities: undefined,
        };
        const back = schemaFromWire(response.decode(response.encode(message).finish()));
        expect(differenceOfBlocks(back.provider, schema.provider)).toBeUndefined();
        const [before, after] = [schema, back].map(({ resources }) => resources.get("t_thing"));
        expect(after?.version).toBe(before?.version);
        expect(differenceOfBlocks(after?.block, before?.block)).toBeUndefined();
      }),
    );
  });

  it.each([5, 6] as const)("are the same read type by type, protocol %i", (protocol) => {
    const methods = PLUGIN_METHODS[protocol];
    const { response } = methods.getProviderSchema;
    const flat = anySchema.filter(({ provider, resources }) =>
      [provider, ...[...resources.values()].map(({ block }) => block)].every(hasNoNested),
    );
    fc.assert(
      fc.property(protocol === 5 ? flat : anySchema, (schema) => {
        const message = { ...schemaToWire(schema), diagnostics: [], serverCapabilities: undefined };
        const encoded = response.encode(message).finish();
        const lazy = lazySchema(methods, encoded, new Uint8Array());
        lazy.check();
        const whole = schemaFromWire(response.decode(encoded));
        for (const kind of ["resources", "dataSources", "ephemeralResources"] as const) {
          expect(lazy.schema[kind].size).toBe(whole[kind].size);
          expect([...lazy.schema[kind]]).toEqual([...whole[kind]]);
        }
        expect(lazy.schema.provider).toEqual(whole.provider);
        expect(lazy.schema.resources.get("t_none")).toBeUndefined();
      }),
    );
  });

  it("are found in any bytes, or refused", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        try {
          lazySchema(PLUGIN_METHODS[6], bytes, new Uint8Array()).check();
        } catch (error) {
          expect(error).toBeInstanceOf(Error);
        }
      }),
    );
  });

  it("keep how a description is written, of blocks and of attributes", () => {
    const text: AttributeSchema = {
      type: Type.string,
      required: true,
      optional: false,
      computed: false,
      sensitive: false,
      writeOnly: false,
      deprecated: false,
      description: "in `code`",
    };
    const block: BlockSchema = {
      attributes: new Map([
        ["marked", { ...text, descriptionKind: "markdown" }],
        ["plain", text],
      ]),
      blocks: new Map(),
      deprecated: false,
      description: "**important**",
      descriptionKind: "markdown",
    };
    const none = new Map();
    const sides = { resources: none, dataSources: none, ephemeralResources: none, functions: none };
    const back = schemaFromWire({
      ...schemaToWire({ provider: block, ...sides }),
      diagnostics: [],
      serverCapabilities: undefined,
    });
    expect(back.provider).toEqual(block);
  });
});

describe("objects", () => {
  it("come back from messages as they were, unknowns and nulls included", () => {
    const cases = anyBlock().chain((block) =>
      objectOf(block, ({ type }) => valueOf(type, { nulls: true, unknowns: true })).map(
        (object) => ({ type: typeOfBlock(block), object }),
      ),
    );
    fc.assert(
      fc.property(cases, ({ type, object }) => {
        const message = t6.DynamicValue.encode(valueToWire(object, type)).finish();
        expect(valueFromWire(t6.DynamicValue.decode(message), type).rawEquals(object)).toBe(true);
      }),
    );
  });

  it("are never misread: any bytes give a value of the type or an error", () => {
    const cases = anyBlock(1).map((block) => typeOfBlock(block));
    fc.assert(
      fc.property(cases, fc.uint8Array({ minLength: 1, maxLength: 60 }), (type, msgpack) => {
        try {
          const value = valueFromWire({ msgpack, json: new Uint8Array() }, type);
          expect(value.type.equals(type)).toBe(true);
        } catch (error) {
          expect(error).toMatchObject({ name: "CtyError" });
        }
      }),
    );
  });
});

describe("paths, moments and reasons", () => {
  it("come back as they were", () => {
    const step = fc.oneof(
      fc.string().map((name) => ({ attribute: name })),
      fc.string().map((key) => ({ key })),
      fc.nat().map((index) => ({ index })),
    );
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 5 }), (steps) => {
        let path = Path.root;
        for (const one of steps) {
          if ("attribute" in one) path = path.attribute(one.attribute);
          else path = path.index("key" in one ? one.key : one.index);
        }
        const message = t6.AttributePath.encode(pathToWire(path)).finish();
        expect(pathFromWire(t6.AttributePath.decode(message))?.equals(path)).toBe(true);
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), (ms) => {
        expect(timestampFromWire(timestampToWire(ms))).toBe(ms);
      }),
    );
    for (const reason of [
      "unknown",
      "resource_config_unknown",
      "provider_config_unknown",
      "absent_prereq",
    ] as const) {
      expect(deferralFromWire(deferralToWire({ reason }))).toEqual({ reason });
    }
    expect(deferralFromWire({ reason: 9 as t6.Deferred_Reason })).toEqual({ reason: "unknown" });
  });
});

describe("the two protocols", () => {
  /** A message with something in every field, found out from an empty one. */
  function filled(codec: { fromPartial(message: object): object }, depth = 4): object {
    const message: Record<string, unknown> = { ...codec.fromPartial({}) };
    for (const [field, value] of Object.entries(message)) {
      if (typeof value === "string") message[field] = `${field}!`;
      else if (typeof value === "boolean") message[field] = true;
      else if (typeof value === "bigint") message[field] = 7n;
      else if (value instanceof Uint8Array) message[field] = Uint8Array.of(1, 2, 3);
      else if (field === "diagnostics")
        message[field] = [{ severity: 1, summary: "s", detail: "d" }];
      else if (field === "identitySchemas") message[field] = new Map([["t", IDENTITY]]);
      else if (field === "functions") message[field] = new Map([["f", FUNCTION]]);
      else if (field === "requiresReplace") message[field] = [{ steps: [] }];
      else if (field === "arguments") message[field] = [DYNAMIC];
      else if (DYNAMIC_FIELDS.has(field)) message[field] = DYNAMIC;
      else if (/identity/iu.test(field) && !/schema/iu.test(field))
        message[field] = { identityData: DYNAMIC };
      else if (field === "clientCapabilities") message[field] = { deferralAllowed: true };
      else if (field === "deferred") message[field] = { reason: 2 };
      else if (field === "rawState" || field === "sourceState")
        message[field] = { json: Uint8Array.of(4) };
      else if (field === "error") message[field] = { text: "e", functionArgument: 1n };
      else if (field === "importedResources")
        message[field] = [{ typeName: "t", state: DYNAMIC, private: Uint8Array.of(9) }];
      else if (field === "renewAt") message[field] = { seconds: 1n, nanos: 2 };
    }
    return depth > 0 ? codec.fromPartial(message) : message;
  }
  const DYNAMIC = { msgpack: Uint8Array.of(0xc0), json: Uint8Array.of(0x7b) };
  const DYNAMIC_FIELDS = new Set([
    "config",
    "priorState",
    "plannedState",
    "proposedNewState",
    "currentState",
    "newState",
    "state",
    "providerMeta",
    "upgradedState",
    "targetState",
    "result",
  ]);

  const TEXTS = { description: "d", descriptionKind: 1 };
  const PARAMETER = {
    ...TEXTS,
    name: "p",
    type: Uint8Array.of(5),
    allowNullValue: true,
    allowUnknownValues: true,
  };
  const FUNCTION = {
    ...TEXTS,
    parameters: [PARAMETER],
    variadicParameter: PARAMETER,
    return: { type: Uint8Array.of(6) },
    summary: "s",
    deprecationMessage: "m",
  };
  const IDENTITY = {
    version: 1n,
    identityAttributes: [
      {
        name: "n",
        type: Uint8Array.of(7),
        requiredForImport: true,
        optionalForImport: true,
        description: "d",
      },
    ],
  };

  const RENAMED: Readonly<Record<string, string>> = {
    ValidateProviderConfig: "PrepareProviderConfig",
    ValidateResourceConfig: "ValidateResourceTypeConfig",
    ValidateDataResourceConfig: "ValidateDataSourceConfig",
    ConfigureProvider: "Configure",
    StopProvider: "Stop",
  };

  const names = Object.values(PLUGIN_METHODS[6])
    .map(({ name }: { name: string }) => name)
    .filter((name) => name !== "GetProviderSchema" && name !== "GetMetadata");

  it.each(names.flatMap((name) => [`${name}_Request`, `${name}_Response`]))(
    "have the same bytes for %s",
    (name) => {
      const [base = "", kind = ""] = name.split("_");
      const name5 = `${RENAMED[base] ?? base}_${kind}`;
      const five = (t5 as Record<string, unknown>)[name5] as typeof t5.Stop_Request;
      const six = (t6 as Record<string, unknown>)[name] as typeof t6.StopProvider_Request;
      const message = filled(six);
      const bytes6 = six.encode(message).finish();
      expect(five.encode(five.fromPartial(message)).finish()).toEqual(bytes6);
      const isEmpty = /^(?:Get|StopProvider).*_Request$/u.test(name);
      expect(bytes6.length > 0).toBe(!isEmpty);
      // Nothing that was written is unknown on the other side.
      const seen = five.decode(bytes6);
      expect(Object.keys(seen)).not.toContain("_unknownFields");
    },
  );
});
