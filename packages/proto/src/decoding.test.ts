import { BinaryWriter } from "@bufbuild/protobuf/wire";
import { describe, expect, test } from "vitest";
import type { EncodedStruct } from "./encoded-struct.ts";
import { RangeResponse, StatusResponse } from "./gen/etcdserverpb/index.ts";
import { Resource } from "./gen/hashicorp/consul/resource/index.ts";
import {
  CheckRequest,
  ConfigureRequest,
  CreateRequest,
  DiffResponse,
  DiffResponse_DiffChanges,
  ListRequest,
  ProviderHandshakeRequest,
} from "./gen/pulumirpc/index.ts";
import {
  AttributePath_Step,
  DynamicValue,
  GetProviderSchema_Response,
  OpenEphemeralResource_Response,
  Schema,
} from "./gen/tfplugin6/index.ts";

const LENGTH_DELIMITED = 2;

/** A length-delimited field. */
function field(number: number, content: Uint8Array): Uint8Array {
  return new BinaryWriter().tag(number, LENGTH_DELIMITED).bytes(content).finish();
}

const text = (value: string): Uint8Array => new TextEncoder().encode(value);
const concat = (...parts: Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

describe("a struct", () => {
  const struct = field(1, concat(field(1, text("a")), field(2, new Uint8Array([0x20, 1]))));

  test("stays encoded, byte by byte", () => {
    const request = CreateRequest.decode(field(2, struct));
    expect(request.properties).toEqual(struct);
    expect(CreateRequest.encode(request).finish()).toEqual(field(2, struct));
  });

  test("is a view of the message it was decoded from", () => {
    const bytes = field(2, struct);
    expect(CreateRequest.decode(bytes).properties?.buffer).toBe(bytes.buffer);
  });

  test("that is empty is not one that is absent", () => {
    const empty = CheckRequest.decode(field(2, new Uint8Array()));
    expect(empty.olds).toHaveLength(0);
    expect(empty.news).toBeUndefined();
    expect(CheckRequest.encode(empty).finish()).toEqual(field(2, new Uint8Array()));
  });

  test("can be given to create", () => {
    const properties = struct as EncodedStruct;
    expect(CreateRequest.create({ properties }).properties).toBe(properties);
  });
});

describe("an unknown field", () => {
  const newer = field(4000, text("from a newer peer"));

  test("is written again", () => {
    const bytes = concat(field(1, text("urn")), newer);
    expect(CreateRequest.encode(CreateRequest.decode(bytes)).finish()).toEqual(bytes);
  });

  test("is written again in a nested message", () => {
    const bytes = field(1, newer);
    const decoded = GetProviderSchema_Response.decode(bytes);
    expect(GetProviderSchema_Response.encode(decoded).finish()).toEqual(bytes);
  });

  test("goes along when a message is spread, and not when it is created anew", () => {
    const decoded = CreateRequest.decode(concat(field(1, text("urn")), newer));
    expect(CreateRequest.encode({ ...decoded, urn: "" }).finish()).toEqual(newer);
    expect(CreateRequest.encode(CreateRequest.create({ ...decoded, urn: "" })).finish()).toEqual(
      new Uint8Array(),
    );
  });

  test("of a known number with another wire type does not change the known one", () => {
    const bytes = new BinaryWriter().tag(1, 0).uint32(7).finish();
    const decoded = CreateRequest.decode(bytes);
    expect(decoded.urn).toBe("");
    expect(CreateRequest.encode(decoded).finish()).toEqual(bytes);
  });
});

describe("a map", () => {
  test("holds any key", () => {
    const variables = new Map([
      ["__proto__", "a"],
      ["constructor", "b"],
      ["", "c"],
    ]);
    const bytes = ConfigureRequest.encode(ConfigureRequest.create({ variables })).finish();
    expect(ConfigureRequest.decode(bytes).variables).toEqual(variables);
  });

  test("keeps the order of the wire, also of keys that look like numbers", () => {
    const variables = new Map(["10", "b", "9", "a"].map((key) => [key, key]));
    const bytes = ConfigureRequest.encode(ConfigureRequest.create({ variables })).finish();
    expect([...ConfigureRequest.decode(bytes).variables.keys()]).toEqual(["10", "b", "9", "a"]);
  });

  test("gives an entry without a key or a value the default ones", () => {
    const entry = (...parts: Uint8Array[]): Uint8Array => field(2, concat(...parts));
    const { resourceSchemas } = GetProviderSchema_Response.decode(
      concat(entry(field(1, text("a"))), entry()),
    );
    expect(resourceSchemas).toEqual(
      new Map([
        ["a", Schema.create()],
        ["", Schema.create()],
      ]),
    );
    const status = Resource.decode(field(6, field(1, text("controller")))).status;
    expect(status.get("controller")?.conditions).toEqual([]);
  });

  test("takes partial values in create", () => {
    const { resourceSchemas } = GetProviderSchema_Response.create({
      resourceSchemas: new Map([["a", { version: 3n }]]),
    });
    expect(resourceSchemas.get("a")).toEqual(Schema.create({ version: 3n }));
  });
});

describe("a field", () => {
  test("of 64 bits is exact", () => {
    for (const limit of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n]) {
      const bytes = ListRequest.encode(ListRequest.create({ limit })).finish();
      expect(ListRequest.decode(bytes).limit).toBe(limit);
    }
  });

  test("of an enum keeps a number that it does not know", () => {
    const changes = 99 as DiffResponse_DiffChanges;
    const bytes = DiffResponse.encode(DiffResponse.create({ changes })).finish();
    expect(DiffResponse.decode(bytes).changes).toBe(99);
    expect(DiffResponse_DiffChanges.DIFF_SOME).toBe(2);
  });

  test("with presence distinguishes absent from empty", () => {
    const bytes = field(2, new Uint8Array());
    expect(ProviderHandshakeRequest.decode(bytes).rootDirectory).toBe("");
    expect(ProviderHandshakeRequest.decode(bytes).programDirectory).toBeUndefined();
    expect(
      ProviderHandshakeRequest.encode(
        ProviderHandshakeRequest.create({ rootDirectory: "" }),
      ).finish(),
    ).toEqual(bytes);
  });

  test("of a timestamp keeps nanoseconds", () => {
    const renewAt = { seconds: -1n, nanos: 999_999_999 };
    const bytes = OpenEphemeralResource_Response.encode(
      OpenEphemeralResource_Response.create({ renewAt }),
    ).finish();
    expect(OpenEphemeralResource_Response.decode(bytes).renewAt).toEqual(renewAt);
  });

  test("that occurs twice has its last value", () => {
    const bytes = concat(field(1, text("first")), field(1, text("second")));
    expect(CreateRequest.decode(bytes).urn).toBe("second");
  });

  test("of a oneof replaces the other members", () => {
    const bytes = concat(field(1, text("a")), field(2, text("b")));
    expect(AttributePath_Step.decode(bytes).selector).toEqual({
      $case: "elementKeyString",
      value: "b",
    });
  });

  test("that is repeated is read packed and unpacked", () => {
    const errors = concat(field(8, text("a")), field(8, text("b")));
    expect(StatusResponse.decode(errors).errors).toEqual(["a", "b"]);
  });
});

describe("malformed input is refused:", () => {
  const decode = (bytes: number[]) => () => CreateRequest.decode(new Uint8Array(bytes));

  test.each([
    ["a length beyond the end", [0x0a, 0x05, 0x61]],
    ["a tag without a value", [0x0a]],
    ["a varint without an end", [0x20, 0x80, 0x80]],
    ["field number 0", [0x00, 0x00]],
    ["field number 0 as a string", [0x02, 0x01, 0x61]],
    ["the end of a group that did not begin", [0x0c]],
    ["a wire type that does not exist", [0x0f, 0x00]],
    ["invalid UTF-8", [0x0a, 0x01, 0xff]],
    ["an unpaired surrogate in UTF-8", [0x0a, 0x03, 0xed, 0xa0, 0x80]],
    ["a struct that is cut off", [0x12, 0x7f]],
  ])("%s", (_, bytes) => {
    expect(decode(bytes)).toThrow();
  });

  test("a field that ends after the message around it", () => {
    // An outer message of 2 bytes, whose inner string of 3 bytes ends in the next field.
    const bytes = new Uint8Array([0x0a, 0x02, 0x0a, 0x03, 0x12, 0x01, 0x61]);
    expect(() => RangeResponse.decode(bytes)).toThrow();
    expect(() => DynamicValue.decode(new Uint8Array([0x0a, 0x02, 0x61]))).toThrow();
  });

  test("messages that nest too deep", () => {
    let block = new Uint8Array();
    for (let depth = 0; depth < 60; depth++) {
      block = new Uint8Array(field(3, field(2, block)));
    }
    expect(() => Schema.decode(field(2, block))).toThrow(/recursion/);
  });
});
