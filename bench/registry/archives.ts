import { createReadStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { writeArchive } from "@stackwright/provider-source";
import { startBenchServer } from "./server-process.ts";
import { printTable } from "./table.ts";

const MIB = 1024 * 1024;

/** Uploads and downloads a large archive, beside a bare static file server in the same process. */
export async function benchArchives(megabytes: number, rounds: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "bench-archive-"));
  try {
    const file = join(directory, "archive.zip");
    // Bytes that do not compress, without holding them all.
    const block = Buffer.alloc(MIB);
    for (let at = 0; at < MIB; at += 4) block.writeUInt32LE((at * 2654435761) >>> 0, at);
    await writeArchive(
      file,
      [
        {
          path: "terraform-provider-thing",
          mode: 0o755,
          content: async function* () {
            for (let n = 0; n < megabytes; n += 1) yield block;
          },
        },
      ],
      { compression: "store" },
    );
    const { size } = await stat(file);
    await using server = await startBenchServer({ store: `sqlite:${directory}/store`, file });
    const headers = { "x-auth-token": server.token, "client-request-id": "x".repeat(36) };
    await fetch(`${server.url}/api/v1/registry/namespaces/acme`, {
      method: "PUT",
      headers,
      body: '{"public":true}',
    });
    const before = await server.residentBytes();
    let peak = before;
    const look = async (): Promise<void> => {
      peak = Math.max(peak, await server.residentBytes().catch(() => 0));
    };
    using _watch = repeating(500, () => void look());
    const uploadStarted = performance.now();
    const upload = await fetch(
      `${server.url}/api/v1/registry/providers/acme/thing/1.0.0/linux_amd64`,
      {
        method: "PUT",
        headers: { ...headers, "content-type": "application/zip", "content-length": String(size) },
        body: Readable.toWeb(createReadStream(file)) as ReadableStream,
        duplex: "half",
      },
    );
    if (upload.status !== 201) throw new Error(await upload.text());
    const uploadSeconds = (performance.now() - uploadStarted) / 1000;

    const found = (await (
      await fetch(`${server.url}/terraform/v1/providers/acme/thing/1.0.0/download/linux/amd64`)
    ).json()) as { download_url: string };
    const rates = new Map<string, number[]>();
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, url] of [
        ["bare static file server", server.files],
        ["archive by signed address", server.url + found.download_url],
      ] as const) {
        const rate = await download(url, size);
        rates.set(name, [...(rates.get(name) ?? []), rate]);
      }
    }
    const mid = (name: string): number =>
      (rates.get(name) ?? []).toSorted((a, b) => a - b)[Math.floor(rounds / 2)] ?? 0;
    const bare = mid("bare static file server");
    printTable(
      `an archive of ${(size / MIB).toFixed(0)} MiB, ${rounds} rounds`,
      ["", "MiB/s", "lowest", "highest", "of bare"],
      [...rates].map(([name, all]) => [
        name,
        mid(name).toFixed(0),
        Math.min(...all).toFixed(0),
        Math.max(...all).toFixed(0),
        `${((mid(name) / bare) * 100).toFixed(0)} %`,
      ]),
    );
    console.log(
      `  upload with all checks: ${(size / MIB / uploadSeconds).toFixed(0)} MiB/s; ` +
        `server's memory ${(before / MIB).toFixed(0)} MiB before, ${(peak / MIB).toFixed(0)} MiB at most`,
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function repeating(everyMs: number, task: () => void): Disposable {
  const timer = setInterval(task, everyMs);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** Downloads and discards; MiB per second. */
async function download(url: string, size: number): Promise<number> {
  const started = performance.now();
  const bytes = await new Promise<number>((resolve, reject) => {
    get(url, (response) => {
      let count = 0;
      response.on("data", (chunk: Buffer) => {
        count += chunk.byteLength;
      });
      response.once("end", () => resolve(count));
      response.once("error", reject);
    }).once("error", reject);
  });
  if (bytes !== size) throw new Error(`${bytes} bytes instead of ${size}`);
  return size / MIB / ((performance.now() - started) / 1000);
}
