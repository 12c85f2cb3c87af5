import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { downloadKept } from "./download.ts";
import { InstallHttpClient } from "./http-client.ts";

const KEEP_BYTES = 100_000;

/** Serves bytes; the first responses break off after some of them. */
async function serve(
  bytes: Buffer,
  { breaks = [], tag = '"a"' }: { readonly breaks?: readonly number[]; readonly tag?: string } = {},
): Promise<URL> {
  let at = 0;
  const server: Server = createServer((request, response) => {
    const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? "")?.[1] ?? 0);
    const end = breaks[at];
    at += 1;
    response.writeHead(from > 0 ? 206 : 200, {
      etag: tag,
      "content-length": bytes.length - from,
      ...(from > 0 && { "content-range": `bytes ${from}-${bytes.length - 1}/${bytes.length}` }),
    });
    if (end === undefined) response.end(bytes.subarray(from));
    else response.write(bytes.subarray(from, end), () => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/file`);
}

async function fetched(url: URL, maxBytes = 10_000_000) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "download-"));
  onTestFinished(() => scratch.remove());
  const path = join(scratch.path, "file");
  const http = new InstallHttpClient({ retryDelayMs: 1 });
  const { hash, content } = await downloadKept(
    url,
    { keepBytes: KEEP_BYTES, path: () => Promise.resolve(path) },
    { http, maxBytes, resumes: 3, signal: undefined },
  );
  const bytes = typeof content === "string" ? readFileSync(content) : content;
  return { hash, bytes, isInMemory: typeof content !== "string", hasFile: existsSync(path) };
}

function zipHash(bytes: Buffer): string {
  return `zh:${createHash("sha256").update(bytes).digest("hex")}`;
}

describe("a download that may stay in memory", () => {
  it.each([
    ["few bytes", KEEP_BYTES, [], '"a"', true],
    ["one byte too many", KEEP_BYTES + 1, [], '"a"', false],
    ["few bytes that break off", KEEP_BYTES, [30_000, 60_000], '"a"', true],
    [
      "many bytes that break off before and after the file is made",
      900_000,
      [50_000, 400_000],
      '"a"',
      false,
    ],
    ["few bytes of a file that nothing names", KEEP_BYTES, [30_000], 'W/"a"', true],
    ["many bytes of a file that nothing names", 900_000, [400_000], 'W/"a"', false],
  ])("is whole: %s", async (_name, size, breaks, tag, isInMemory) => {
    const bytes = randomBytes(size);
    const found = await fetched(await serve(bytes, { breaks, tag }));
    expect(found.bytes.equals(bytes)).toBe(true);
    expect(found.hash).toBe(zipHash(bytes));
    expect(found.isInMemory).toBe(isInMemory);
    expect(found.hasFile).toBe(!isInMemory);
  });

  it("is refused beyond its limit", async () => {
    const url = await serve(randomBytes(1000));
    await expect(fetched(url, 999)).rejects.toMatchObject({ code: "TFPLUGIN_DOWNLOAD_TOO_LARGE" });
  });
});
