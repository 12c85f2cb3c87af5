/**
 * protoc plugin: ts-proto with changes that it has no options for.
 *
 * - `google.protobuf.Struct`, `Value` and `ListValue` stay encoded: fields have the types of
 *   `src/encoded-struct.ts`. ts-proto sees struct.proto under another name, so that its own
 *   mapping to plain objects does not apply, and what it writes for the renamed messages is then
 *   replaced by reading and writing bytes.
 * - Decoders refuse malformed input (see `STRICT_DECODING`), give a map entry without a value the
 *   default value, and do not allocate an array for each absent `bytes` field.
 * - `create` and `fromPartial` take maps with partial values.
 * - Every proto package gets an `index.ts` with the explicit list of what its files export.
 *
 * Reads a CodeGeneratorRequest from stdin and writes a CodeGeneratorResponse to stdout. Each
 * rewriting of text checks that it found what it expects, so that another version of ts-proto
 * either gives the same result or fails here.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, posix } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { DescriptorProto, FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponse_FileSchema,
  CodeGeneratorResponseSchema,
} from "@bufbuild/protobuf/wkt";

const STRUCT_FILE = "google/protobuf/struct.proto";
const ENCODED_FILE = "stackwright/encoded_struct.proto";
/** Stands in the generated imports until it is replaced by a relative path. */
const ENCODED_MODULE = "encoded-struct-module";
/** Seen from the output folder. */
const ENCODED_PATH = "../encoded-struct.ts";
const RENAMED_TYPES = new Map([
  [".google.protobuf.Struct", ".stackwright.EncodedStruct"],
  [".google.protobuf.Value", ".stackwright.EncodedValue"],
  [".google.protobuf.ListValue", ".stackwright.EncodedListValue"],
]);

function renameTypes(message: DescriptorProto): void {
  for (const field of message.field) {
    field.typeName = RENAMED_TYPES.get(field.typeName) ?? field.typeName;
  }
  message.nestedType.forEach(renameTypes);
}

function hideStruct(file: FileDescriptorProto): void {
  file.messageType.forEach(renameTypes);
  file.dependency = file.dependency.map((name) => (name === STRUCT_FILE ? ENCODED_FILE : name));
  if (file.name !== STRUCT_FILE) return;
  file.name = ENCODED_FILE;
  file.package = "stackwright";
  for (const message of file.messageType) message.name = `Encoded${message.name}`;
}

/** Replaces what ts-proto wrote for the renamed messages, in the file `name`. */
function keepStructsEncoded(name: string, source: string): string {
  const path = posix.relative(posix.dirname(name), ENCODED_PATH);
  const result = source
    .replace(
      new RegExp(`^import (\\{.*\\}) from "${ENCODED_MODULE}";$`, "m"),
      `import type $1 from "${path}";`,
    )
    .replace(
      /Encoded\w+\.encode\(([\w.!]+), (writer\.uint32\(\d+\))\.fork\(\)\)\.join\(\)/g,
      "$2.bytes($1)",
    )
    .replace(/(Encoded\w+)\.decode\(reader, reader\.uint32\(\)\)/g, "reader.bytes() as $1")
    .replace(/Encoded\w+\.fromPartial\(([\w.]+)\)/g, "$1");
  const left = /.*(?:\bEncoded\w+\.|encoded-struct-module).*/.exec(result);
  if (left !== null) throw new Error(`${name}: cannot keep this struct encoded: ${left[0]}`);
  return result;
}

/**
 * ts-proto's decoders stop silently at an invalid tag, read past the end of a nested message into
 * what follows it, and replace invalid UTF-8. Other implementations refuse such input, and so do
 * ours.
 */
const STRICT_DECODING = [
  {
    from: /if \(\(tag & 7\) === 4 \|\| tag === 0\) \{\s+break;\s+\}/g,
    to: `if ((tag & 7) === 4 || tag >>> 3 === 0) {
          throw new globalThis.Error("protobuf decode found an invalid tag");
        }`,
  },
  {
    from: /return message;(?=\s+\} finally \{)/g,
    to: `if (reader.pos !== end) {
        throw new globalThis.Error("protobuf decode read past the end of a message");
      }
      return message;`,
  },
];

function decodeStrictly(name: string, source: string): string {
  const decoders = source.split("const end = length === undefined").length - 1;
  let result = source;
  for (const { from, to } of STRICT_DECODING) {
    const found = source.match(from)?.length ?? 0;
    if (found !== decoders) {
      throw new Error(`${name}: ${decoders} decoders, but ${found} times ${from.source}`);
    }
    result = result.replace(from, to);
  }
  return result.replaceAll("reader.string()", "reader.string(true)");
}

/** A map entry whose value is absent has the default value, which ts-proto forgets for messages. */
function keepEmptyMapValues(name: string, source: string): string {
  const types = new Map(
    [
      ...source.matchAll(/^export interface (\w+Entry) \{\s+key: \w+;\s+value:\s+\|?\s*(\w+)/gm),
    ].map(([, entry, type]) => [entry, type] as const),
  );
  const result = source.replace(
    /const (entry\d+) = (\w+)\.decode\(reader, reader\.uint32\(\)\);\s+if \(\1\.value !== undefined\) \{\s+(.*\.set)\(\1\.key, \1\.value\);\s+\}/g,
    (_, entry: string, type: string, set: string) => {
      const value = types.get(type);
      if (value === undefined) throw new Error(`${name}: no interface ${type}`);
      const fallback =
        /^[A-Z]/.test(value) && value !== "Uint8Array" ? ` ?? ${value}.create()` : "";
      return `const ${entry} = ${type}.decode(reader, reader.uint32());\n            ${set}(${entry}.key, ${entry}.value${fallback});`;
    },
  );
  if (/entry\d+\.value !== undefined/.test(result)) {
    throw new Error(`${name}: cannot give map values their defaults`);
  }
  return result;
}

/** One empty array serves all messages. */
function shareEmptyBytes(source: string): string {
  const result = source.replaceAll("new Uint8Array(0)", "emptyBytes");
  return result === source ? source : `${result}\nconst emptyBytes = new Uint8Array(0);\n`;
}

function allowPartialMapValues(name: string, source: string): string {
  const oneof = "  : T extends { $case: string;";
  const parts = source.split(oneof);
  if (parts.length !== 2) throw new Error(`${name}: DeepPartial is not what it was`);
  return parts.join(
    `  : T extends ReadonlyMap<infer K, infer V> ? ReadonlyMap<K, DeepPartial<V>>\n${oneof}`,
  );
}

/** TypeScript names of the entry messages of map fields, which nobody needs. */
function mapEntries(message: DescriptorProto, prefix: string): string[] {
  const name = `${prefix}${message.name}`;
  if (message.options?.mapEntry === true) return [name];
  return message.nestedType.flatMap((nested) => mapEntries(nested, `${name}_`));
}

/** The names a generated file exports, values (which may also be types) and types apart. */
function exportsOf(
  source: string,
  hidden: ReadonlySet<string>,
): { readonly values: string[]; readonly types: string[] } {
  const names = (keyword: string): Set<string> =>
    new Set(
      [...source.matchAll(new RegExp(`^export ${keyword} (\\w+)`, "gm"))].map((match) => match[1]!),
    ).difference(hidden);
  const values = names("(?:const|function|class)");
  const types = names("(?:interface|type)").difference(values);
  return { values: [...values].toSorted(), types: [...types].toSorted() };
}

/** One `index.ts` for each folder of generated files. */
function indexFiles(
  files: ReadonlyMap<string, string>,
  hidden: ReadonlyMap<string, ReadonlySet<string>>,
): Map<string, string> {
  const indexes = new Map<string, string>();
  for (const [name, source] of [...files].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const index = posix.join(posix.dirname(name), "index.ts");
    const { values, types } = exportsOf(source, hidden.get(name) ?? new Set());
    const from = `from "./${posix.basename(name)}";\n`;
    let text =
      indexes.get(index) ?? "// Code generated by protoc-gen-stackwright. DO NOT EDIT.\n\n";
    if (values.length > 0) text += `export {\n${values.map((v) => `  ${v},\n`).join("")}} ${from}`;
    if (types.length > 0)
      text += `export type {\n${types.map((t) => `  ${t},\n`).join("")}} ${from}`;
    indexes.set(index, text);
  }
  return indexes;
}

function runTsProto(request: Uint8Array): Uint8Array {
  const manifest = createRequire(import.meta.url).resolve("ts-proto/package.json");
  const plugin = join(dirname(manifest), "protoc-gen-ts_proto");
  const result = spawnSync(process.execPath, [plugin], {
    input: request,
    maxBuffer: 256 * 1024 * 1024,
    stdio: ["pipe", "pipe", "inherit"],
  });
  if (result.error !== undefined) throw result.error;
  if (result.status !== 0) throw new Error(`ts-proto ended with status ${result.status}`);
  return result.stdout;
}

const request = fromBinary(CodeGeneratorRequestSchema, readFileSync(0));
request.protoFile.forEach(hideStruct);
request.parameter += `,M${ENCODED_FILE}=${ENCODED_MODULE}`;

const response = fromBinary(
  CodeGeneratorResponseSchema,
  runTsProto(toBinary(CodeGeneratorRequestSchema, request)),
);
const sources = new Map(
  response.file.map(({ name, content }) => {
    let source = keepStructsEncoded(name, content);
    source = decodeStrictly(name, source);
    source = keepEmptyMapValues(name, source);
    source = allowPartialMapValues(name, source);
    return [name, shareEmptyBytes(source)];
  }),
);
const hidden = new Map(
  request.protoFile.map((file) => [
    file.name.replace(/\.proto$/, ".ts"),
    new Set(file.messageType.flatMap((message) => mapEntries(message, ""))),
  ]),
);
response.file = [...sources, ...indexFiles(sources, hidden)]
  .toSorted(([a], [b]) => (a < b ? -1 : 1))
  .map(([name, content]) => create(CodeGeneratorResponse_FileSchema, { name, content }));
process.stdout.write(toBinary(CodeGeneratorResponseSchema, response));
