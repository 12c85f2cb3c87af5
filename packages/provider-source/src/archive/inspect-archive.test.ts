import { describe, expect, it } from "vitest";
import { archiveFromBytes } from "./archive-source.ts";
import { hashArchive } from "./hash-archive.ts";
import { inspectArchive } from "./inspect-archive.ts";
import { type PackEntry, packArchive } from "./zip-writer.ts";

async function pack(entries: readonly PackEntry[]): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of packArchive(entries)) chunks.push(chunk);
  return Buffer.concat(chunks);
}

describe("the inspection of an archive", () => {
  it("returns files, modes and the hash of the content", async () => {
    const source = archiveFromBytes(
      await pack([
        { path: "terraform-provider-x", mode: 0o755, content: Buffer.from("#!/bin/sh\n") },
        { path: "docs/readme", mode: 0o644, content: Buffer.from("hello") },
      ]),
    );
    expect(await inspectArchive(source)).toEqual({
      h1: (await hashArchive(source)).h1,
      entries: [
        { path: "docs/readme", sizeBytes: 5, mode: 0o644 },
        { path: "terraform-provider-x", sizeBytes: 10, mode: 0o755 },
      ],
    });
  });

  it("refuses what could not be unpacked", async () => {
    const bytes = await pack([{ path: "aa/secret", mode: 0o644, content: Buffer.from("x") }]);
    const unsafe = Buffer.from(bytes.toString("latin1").replaceAll("aa/", "../"), "latin1");
    await expect(inspectArchive(archiveFromBytes(unsafe))).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE",
    });
    const limits = { maxTotalBytes: 10 };
    const large = await pack([{ path: "a", mode: 0o644, content: Buffer.alloc(100, "x") }]);
    await expect(inspectArchive(archiveFromBytes(large), { limits })).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_ARCHIVE_LIMIT",
    });
  });
});
