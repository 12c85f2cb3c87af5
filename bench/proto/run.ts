/**
 * `node bench/proto/run.ts`: times the property codec and the generated decoders against
 * protobufjs in the same run, and prints one table for each. See BENCHMARKS.md.
 */
import { availableParallelism, cpus } from "node:os";
import { recordFigure } from "@stackwright-bench/figures";
import { type Cases, measure, type Timing } from "./measure.ts";
import { type MessageName, measureMemory } from "./memory.ts";
import { type StructShape, schemaBytes, schemaDecoders, structSubject } from "./subjects.ts";

const MB = 1e6;
const ROUNDS = 21;

function print(
  title: string,
  header: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const widths = header.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => row[column]!.length)),
  );
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join(" | ")} |`;
  console.log(`\n${title}\n\n${line(header)}`);
  console.log(
    `| ${widths.map((width, i) => (i === 0 ? "-".repeat(width) : `${"-".repeat(width - 1)}:`)).join(" | ")} |`,
  );
  for (const row of rows) console.log(line(row));
}

const ms = ({ medianMs, quartilesMs }: Timing) =>
  `${medianMs.toFixed(2)} (${quartilesMs.map((value) => value.toFixed(2)).join("-")})`;
const ratio = ({ ratio: median, ratioQuartiles }: Timing) =>
  `${median.toFixed(2)} (${ratioQuartiles.map((value) => value.toFixed(2)).join("-")})`;
const megabytes = (bytes: Uint8Array) => (bytes.length / MB).toFixed(1);

function compare(what: string, name: string, bytes: Uint8Array, cases: Cases): string[] {
  const [peer, ours] = [...measure(cases, ROUNDS).values()] as [Timing, Timing];
  recordFigure({
    name: `messages: ${what}, ${name}`,
    unit: "ms",
    size: bytes.length / MB,
    of: "MB",
    ours: { subject: "proto", middle: ours.medianMs },
    baseline: { subject: "protobufjs", middle: peer.medianMs },
  });
  return [name, megabytes(bytes), ms(peer), ms(ours), ratio(ours)];
}

const HEADER = ["", "MB", "protobufjs ms", "ours ms", "ratio"];

function structTable(): string[][] {
  const subjects: [StructShape, number][] = [
    ["resources", 0.1],
    ["resources", 1],
    ["resources", 10],
    ["unique keys", 1],
    ["numbers", 1],
  ];
  return subjects.flatMap(([shape, size]) => {
    const { bytes, codec, protobufjs } = structSubject(shape, size * MB);
    const row = (name: string, of: (side: typeof codec) => () => unknown) =>
      compare(
        "Struct",
        `${shape}, ${name}`,
        bytes,
        new Map([
          ["protobufjs", of(protobufjs)],
          ["ours", of(codec)],
        ]),
      );
    return [
      row("decode", (side) => () => side.decode()),
      row("encode", (side) => () => side.encode()),
      row("both", (side) => () => [side.decode(), side.encode()]),
    ];
  });
}

async function schemaTable(): Promise<string[][]> {
  const { protobufjs, ours } = await schemaDecoders();
  return [0.2, 2, 20].map((size) => {
    const bytes = schemaBytes(size * MB);
    const cases: Cases = new Map([
      ["protobufjs", () => protobufjs(bytes)],
      ["ours", () => ours(bytes)],
    ]);
    return compare("provider schema", "decode", bytes, cases);
  });
}

function memoryTable(): string[][] {
  const messages: [MessageName, Buffer][] = [
    ["struct", structSubject("resources", MB).bytes],
    ["struct", structSubject("resources", 10 * MB).bytes],
    ["schema", schemaBytes(20 * MB)],
  ];
  return messages.flatMap(([name, bytes]) =>
    (["protobufjs", "ours"] as const).map((side) => {
      const { retained, grown } = measureMemory(name, side, bytes);
      return [`${name}, ${side}`, megabytes(bytes), retained.toFixed(1), grown.toFixed(1)];
    }),
  );
}

console.log(`Node ${process.version}, ${cpus()[0]?.model ?? "?"}, ${availableParallelism()} cores`);
console.log(`${ROUNDS} interleaved rounds; medians, and in brackets the middle half`);
print("Property codec and google.protobuf.Struct", HEADER, structTable());
print("tfplugin6 GetProviderSchema.Response", HEADER, await schemaTable());
print(
  "Memory while decoding, in bytes per encoded byte",
  ["", "MB", "retained", "grown"],
  memoryTable(),
);
