/**
 * protoc plugin: ts-proto with changes that it has no options for. Reads a CodeGeneratorRequest from
 * stdin and writes a CodeGeneratorResponse to stdout.
 *
 * Each rewriting of text checks that it found what it expects, so that another version of ts-proto
 * either gives the same result or fails here.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  CodeGeneratorRequestSchema,
  CodeGeneratorResponse_FileSchema,
  CodeGeneratorResponseSchema,
} from "@bufbuild/protobuf/wkt";
import { decodeStrictly, keepEmptyMapValues, shareEmptyBytes } from "./generate/decoders.ts";
import {
  ENCODED_STRUCT_OPTION,
  hideStruct,
  keepStructsEncoded,
} from "./generate/encoded-struct.ts";
import { indexFiles } from "./generate/index-files.ts";
import { allowPartialMapValues } from "./generate/partial-maps.ts";

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

function rewrite(name: string, source: string): string {
  let result = keepStructsEncoded(name, source);
  result = decodeStrictly(name, result);
  result = keepEmptyMapValues(name, result);
  result = allowPartialMapValues(name, result);
  return shareEmptyBytes(result);
}

const request = fromBinary(CodeGeneratorRequestSchema, readFileSync(0));
request.protoFile.forEach(hideStruct);
request.parameter += `,${ENCODED_STRUCT_OPTION}`;

const response = fromBinary(
  CodeGeneratorResponseSchema,
  runTsProto(toBinary(CodeGeneratorRequestSchema, request)),
);
const sources = new Map(
  response.file.map(({ name, content }) => [name, rewrite(name, content)] as const),
);
response.file = [...sources, ...indexFiles(sources, request.protoFile)]
  .toSorted(([a], [b]) => (a < b ? -1 : 1))
  .map(([name, content]) => create(CodeGeneratorResponse_FileSchema, { name, content }));
process.stdout.write(toBinary(CodeGeneratorResponseSchema, response));
