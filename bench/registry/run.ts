import { mkdtemp, rm } from "node:fs/promises";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { benchApi } from "./api.ts";
import { benchArchives } from "./archives.ts";
import { benchSigning } from "./signing.ts";

// node bench/registry/run.ts [section ...]; BENCH_PROVIDERS, BENCH_ROUNDS, BENCH_ROUND_MS and
// BENCH_ARCHIVE_MB set the effort.

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5);
const roundMs = Number(process.env["BENCH_ROUND_MS"] ?? 2000);
const providers = Number(process.env["BENCH_PROVIDERS"] ?? 100_000);
const megabytes = Number(process.env["BENCH_ARCHIVE_MB"] ?? 500);
const effort = { providers, rounds, roundMs };

const sections: Readonly<Record<string, () => Promise<void>>> = {
  signing: () => benchSigning(rounds, 5_000),
  archives: () => benchArchives(megabytes, rounds),
  sqlite: async () => {
    const directory = await mkdtemp(join(tmpdir(), "bench-sqlite-"));
    try {
      await benchApi("sqlite", `sqlite:${directory}`, effort);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
  postgres: async () => {
    const { TEST_POSTGRES_URL: url } = process.env;
    if (url === undefined) {
      console.log("\npostgres: skipped, TEST_POSTGRES_URL names no server");
      return;
    }
    await benchApi("PostgreSQL", url, effort);
  },
};

const chosen = process.argv.slice(2);
for (const name of chosen) {
  if (sections[name] === undefined) {
    throw new Error(`no section ${name}; there are ${Object.keys(sections).join(", ")}`);
  }
}
console.log(
  `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, load ${loadavg()[0]?.toFixed(1)}`,
);
for (const [name, run] of Object.entries(sections)) {
  if (chosen.length === 0 || chosen.includes(name)) await run();
}
