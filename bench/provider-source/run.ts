import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createDeflateRaw, createInflateRaw } from "node:zlib";
import {
  createProviderLock,
  hashArchive,
  hashDirectory,
  LockFile,
  listPackEntries,
  ProviderAddress,
  parseLockFile,
  parsePackageHash,
  unpackArchive,
  Version,
  VersionConstraints,
  writeArchive,
} from "@stackwright/provider-source";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";

/*
 * Throughput of hashing, packing and unpacking against the bare primitives of Node on the same data
 * in the same run, and the cost of addresses, constraints and lock files. `node run.ts [MiB]`.
 */

const MIB = 1024 * 1024;
const size = Number(process.argv[2] ?? 64) * MIB;
const REPEATS = 5;

interface Row {
  readonly what: string;
  readonly times: readonly number[];
  readonly baseline?: string;
  readonly units: number;
  readonly unit: string;
}

const rows: Row[] = [];

async function measure(
  what: string,
  units: number,
  unit: string,
  run: () => unknown,
  baseline?: string,
): Promise<void> {
  const times: number[] = [];
  await run();
  for (let i = 0; i < REPEATS; i++) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  rows.push({ what, times, units, unit, ...(baseline === undefined ? {} : { baseline }) });
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Half machine code in its compressibility: words from a small table among random bytes. */
async function writePackage(path: string): Promise<void> {
  const words = Array.from({ length: 512 }, (_, i) =>
    createHash("sha256").update(String(i)).digest().subarray(0, 12),
  );
  let state = 1;
  const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0);
  await using file = await open(path, "w");
  for (let written = 0; written < size; ) {
    const parts: Buffer[] = [];
    for (let i = 0; i < 8192; i++) {
      const r = next();
      parts.push(
        r & 0x10000
          ? (words[(r >>> 20) & 511] ?? Buffer.alloc(0))
          : Buffer.from([r >>> 24, r >>> 16, r >>> 8]),
      );
    }
    const chunk = Buffer.concat(parts).subarray(0, size - written);
    await file.writeFile(chunk);
    written += chunk.length;
  }
}

const root = await mkdtemp(join(tmpdir(), "bench-"));
try {
  const input = join(root, "in");
  const big = join(input, "terraform-provider-bench_v1.0.0");
  await mkdir(input);
  await writePackage(big);
  const entries = await listPackEntries(input);
  const mib = size / MIB;

  await measure("SHA-256 of the file (Node)", mib, "MiB", async () => {
    const hash = createHash("sha256");
    for await (const chunk of createReadStream(big, { highWaterMark: 256 * 1024 }))
      hash.update(chunk as Buffer);
    return hash.digest("hex");
  });
  await measure(
    "hashDirectory",
    mib,
    "MiB",
    () => hashDirectory(input),
    "SHA-256 of the file (Node)",
  );
  await measure("deflate of the file, level 6 (Node)", mib, "MiB", () =>
    pipeline(
      createReadStream(big),
      createDeflateRaw({ level: 6 }),
      createWriteStream(join(root, "raw")),
    ),
  );
  await measure(
    "writeArchive, deflate",
    mib,
    "MiB",
    () => writeArchive(join(root, "d.zip"), entries),
    "deflate of the file, level 6 (Node)",
  );
  await measure(
    "writeArchive, store",
    mib,
    "MiB",
    () => writeArchive(join(root, "s.zip"), entries, { compression: "store" }),
    "SHA-256 of the file (Node)",
  );
  await measure(
    "hashArchive, deflated",
    mib,
    "MiB",
    () => hashArchive(join(root, "d.zip")),
    "SHA-256 of the file (Node)",
  );
  await measure("inflate to a file (Node)", mib, "MiB", () =>
    pipeline(
      createReadStream(join(root, "raw")),
      createInflateRaw(),
      createWriteStream(join(root, "inflated")),
    ),
  );
  await measure(
    "unpackArchive, deflated",
    mib,
    "MiB",
    async () => {
      await unpackArchive(join(root, "d.zip"), join(root, "out"));
      await rm(join(root, "out"), { recursive: true });
    },
    "inflate to a file (Node)",
  );

  const count = 10_000;
  const sources = Array.from({ length: count }, (_, i) => `Example${i % 7}.com/Acme/Thing-${i}`);
  await measure("String.split and toLowerCase", count, "addresses", () =>
    sources.map((s) => s.toLowerCase().split("/")),
  );
  await measure(
    "ProviderAddress.parse",
    count,
    "addresses",
    () => sources.map(ProviderAddress.parse),
    "String.split and toLowerCase",
  );
  const unicode = sources.map((s) => s.replace("Acme", "Äcme"));
  await measure(
    "ProviderAddress.parse, Unicode",
    count,
    "addresses",
    () => unicode.map(ProviderAddress.parse),
    "String.split and toLowerCase",
  );
  const versions = Array.from({ length: count }, (_, i) =>
    Version.parse(`${i % 5}.${i % 90}.${i % 11}`),
  );
  const constraints = VersionConstraints.parse(">= 1.2.0, < 4.0.0, != 3.1.4, ~> 3.1");
  await measure("newestMatching", count, "versions", () => constraints.newestMatching(versions));
  for (const providers of [1000, 10_000]) {
    const locks = LockFile.of(
      Array.from({ length: providers }, (_, i) =>
        createProviderLock({
          address: ProviderAddress.parse(`example.com/acme/thing${i}`),
          version: Version.parse("1.2.3"),
          constraints: VersionConstraints.parse("~> 1.2"),
          hashes: Array.from({ length: 12 }, (_, j) =>
            parsePackageHash(`zh:${createHash("sha256").update(`${i} ${j}`).digest("hex")}`),
          ),
        }),
      ),
    );
    const text = locks.toString();
    await measure(`parseLockFile, ${providers} providers`, providers, "providers", () =>
      parseLockFile(text),
    );
    await measure(`LockFile.toString, ${providers} providers`, providers, "providers", () =>
      locks.toString(),
    );
  }

  console.log(
    `package of ${mib} MiB, packed to ${((await stat(join(root, "d.zip"))).size / MIB).toFixed(1)} MiB; ${REPEATS} runs each\n`,
  );
  console.log(
    "| what | median ms | min-max ms | per second | of baseline |\n|---|---|---|---|---|",
  );
  for (const { what, times, units, unit, baseline } of rows) {
    const time = median(times);
    const base = rows.find((row) => row.what === baseline);
    const ratio =
      base === undefined ? "" : `${(median(base.times) / time).toFixed(2)}x of ${base.what}`;
    if (base !== undefined) {
      recordFigure({
        name: what,
        unit: "ms",
        size: units,
        of: unit,
        ours: spreadOf(what, times),
        baseline: spreadOf(base.what, base.times),
      });
    }
    const range = `${Math.min(...times).toFixed(1)}-${Math.max(...times).toFixed(1)}`;
    const speed = (units / time) * 1000;
    console.log(
      `| ${what} | ${time.toFixed(1)} | ${range} | ${speed > 1000 ? Math.round(speed).toLocaleString("en") : speed.toFixed(1)} ${unit} | ${ratio} |`,
    );
  }
} finally {
  await rm(root, { recursive: true, force: true });
}
