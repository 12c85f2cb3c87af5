import { join } from "node:path";
import { decodeStruct, encodeStruct, structFromJson } from "@stackwright/proto/property";
import {
  GetProviderSchema_Response,
  type Schema_Block,
  StringKind,
} from "@stackwright/proto/tfplugin6";
import protobuf from "protobufjs";

/** A property bag and a reader and writer of it. */
interface StructSubject {
  readonly bytes: Buffer;
  readonly codec: StructCodec;
  readonly protobufjs: StructCodec;
}

interface StructCodec {
  readonly decode: () => unknown;
  readonly encode: () => unknown;
}

export type StructShape = "resources" | "unique keys" | "numbers";

/** Small numbers that look random and are the same every time. */
function randomSource(): (below: number) => number {
  let state = 20_171_121;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state % below;
  };
}

/** Members of about the same size, each the state of a resource or a part of one. */
const SHAPES: Record<StructShape, (index: number, random: (below: number) => number) => object> = {
  resources: (index, random) => ({
    name: `resource-${index}`,
    arn: `arn:aws:s3:::bucket-${random(1e9)}`,
    enabled: random(2) === 0,
    size: random(1e6),
    description: null,
    tags: { Environment: "production", Owner: `team-${random(20)}`, CostCenter: `${random(1e5)}` },
    rules: Array.from({ length: 3 }, (_, rule) => ({
      fromPort: rule,
      toPort: rule + 1,
      protocol: "tcp",
      cidrBlocks: [`10.0.${random(256)}.0/24`],
    })),
    userData: `#!/bin/sh\n${"echo hello world; ".repeat(1 + random(8))}`,
  }),
  "unique keys": (_, random) =>
    Object.fromEntries(
      Array.from({ length: 12 }, () => [
        `key_${random(1e9).toString(36)}`,
        random(2) === 0 ? random(1e6) : `value ${random(1e9).toString(36)}`,
      ]),
    ),
  numbers: (_, random) => ({ points: Array.from({ length: 40 }, () => random(1e6) / 7) }),
};

const Struct = protobuf.Root.fromJSON(
  protobuf.common.get("google/protobuf/struct.proto")!,
).lookupType("google.protobuf.Struct");

/** About `size` bytes of properties of a shape. */
export function structSubject(shape: StructShape, size: number): StructSubject {
  const random = randomSource();
  const make = SHAPES[shape];
  const sample = structFromJson({ items: Array.from({ length: 50 }, (_, i) => make(i, random)) });
  const count = Math.max(1, Math.round((size * 50) / sample.length));
  const items = Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`item-${i}`, make(i, random)]),
  );
  const bytes = Buffer.from(structFromJson({ items }));
  const properties = decodeStruct(bytes);
  const message = Struct.decode(bytes);
  if (Buffer.compare(encodeStruct(properties), Struct.encode(message).finish()) !== 0) {
    throw new Error("the codec and protobufjs write different bytes");
  }
  return {
    bytes,
    codec: { decode: () => decodeStruct(bytes), encode: () => encodeStruct(properties) },
    protobufjs: {
      decode: () => Struct.decode(bytes),
      encode: () => Struct.encode(message).finish(),
    },
  };
}

/** What reads an encoded message, by name; protobufjs is the first. */
export type Decoders = Readonly<Record<"protobufjs" | "ours", (bytes: Buffer) => unknown>>;

export const STRUCT_DECODERS: Decoders = {
  protobufjs: (bytes) => Struct.decode(bytes),
  ours: (bytes) => decodeStruct(bytes),
};

export async function schemaDecoders(): Promise<Decoders> {
  const folder = join(import.meta.dirname, "../../packages/proto/proto/published");
  const root = await protobuf.load(join(folder, "tfplugin6/tfplugin6.proto"));
  const Response = root.lookupType("tfplugin6.GetProviderSchema.Response");
  return {
    protobufjs: (bytes) => Response.decode(bytes),
    ours: (bytes) => GetProviderSchema_Response.decode(bytes),
  };
}

/** About `size` bytes of a provider's schema: many resource types with nested blocks. */
export function schemaBytes(size: number): Buffer {
  const resource = (depth: number): Schema_Block => ({
    version: 0n,
    attributes: Array.from({ length: 12 }, (_, index) => ({
      name: `attribute_name_${index}`,
      type: Buffer.from(index % 3 === 0 ? '["list","string"]' : '"string"'),
      nestedType: undefined,
      description: index % 2 === 0 ? "" : `What attribute ${index} is for, in a sentence or two.`,
      required: index % 5 === 0,
      optional: index % 3 === 0,
      computed: index % 4 === 0,
      sensitive: false,
      descriptionKind: StringKind.MARKDOWN,
      deprecated: false,
      writeOnly: false,
      deprecationMessage: "",
    })),
    blockTypes:
      depth === 0
        ? []
        : Array.from({ length: 3 }, (_, index) => ({
            typeName: `nested_${index}`,
            block: resource(depth - 1),
            nesting: 2,
            minItems: 0n,
            maxItems: 1n,
          })),
    description: "",
    descriptionKind: StringKind.PLAIN,
    deprecated: false,
    deprecationMessage: "",
  });
  const response = (count: number) =>
    GetProviderSchema_Response.fromPartial({
      resourceSchemas: new Map(
        Array.from({ length: count }, (_, i) => [
          `vendor_service_thing_${i}`,
          { version: 1n, block: resource(2) },
        ]),
      ),
    });
  const encode = (count: number) => GetProviderSchema_Response.encode(response(count)).finish();
  return Buffer.from(encode(Math.max(1, Math.round(size / encode(1).length))));
}
