import { StorageError } from "@stackwright/storage";
import type { BlobContent } from "@stackwright/storage/blob";
import { describe, expect, it } from "vitest";
import { MemoryBlobs } from "../testing/memory-blobs.ts";
import { blobsOf, inlineContent, loadContent, spillContents, textContent } from "./content.ts";

/** Blobs, and how large the pieces are that they are given. */
class PieceBlobs extends MemoryBlobs {
  readonly sizes: number[] = [];

  override async write(content: BlobContent) {
    const { sizes } = this;
    const seen = async function* seen(pieces: Exclude<BlobContent, Uint8Array>) {
      for await (const piece of pieces) {
        sizes.push(piece.length);
        yield piece;
      }
    };
    return super.write(content instanceof Uint8Array ? content : seen(content));
  }
}

it("keeps a short text in the resource", async () => {
  const content = await textContent("é", new MemoryBlobs());
  expect(content.place).toEqual({ $case: "inline", value: Buffer.from("é") });
});

it("writes a large text to the blob store in small pieces", async () => {
  // Pairs of surrogates at every position, so that some are cut by the end of a piece.
  for (const start of ["", "a", "é"]) {
    const text = start + "😀€a".repeat(100_000);
    const blobs = new PieceBlobs();
    const content = await textContent(text, blobs);
    expect(content.place?.$case).toBe("blob");
    expect(Buffer.from(await loadContent(content, blobs)).toString()).toBe(text);
    expect(Math.max(...blobs.sizes)).toBeLessThan(text.length);
  }
});

it("writes half of a pair as the encoder does", async () => {
  const text = `${"x".repeat(65_535)}\ud83d${"x".repeat(70_000)}\ud83d`;
  const blobs = new MemoryBlobs();
  const content = await textContent(text, blobs);
  expect(Buffer.from(await loadContent(content, blobs))).toEqual(Buffer.from(text));
});

const KIB = 1024;

it("keeps a text of 64 KiB in the resource, and no longer one", async () => {
  const blobs = new MemoryBlobs();
  const place = async (length: number) =>
    (await textContent("x".repeat(length), blobs)).place?.$case;
  expect(await place(64 * KIB)).toBe("inline");
  expect(await place(64 * KIB + 1)).toBe("blob");
});

it("is corrupt where its blob is gone", async () => {
  const content = await textContent("x".repeat(100 * KIB), new MemoryBlobs());
  const sha256 = content.place?.$case === "blob" ? content.place.value.sha256 : "";
  await expect(loadContent(content, new MemoryBlobs())).rejects.toMatchObject({
    code: "ENGINE_STATE_CORRUPT",
    message: `the blob ${sha256} is gone`,
    cause: { code: "STORAGE_NOT_FOUND" },
  });
});

it("passes another error of the blob store on", async () => {
  const blobs = new MemoryBlobs();
  const content = await textContent("x".repeat(100 * KIB), blobs);
  const away = new StorageError("STORAGE_PERMISSION_DENIED");
  blobs.read = () => {
    throw away;
  };
  await expect(loadContent(content, blobs)).rejects.toBe(away);
});

it("is nothing where nothing is stored", async () => {
  expect(await loadContent(undefined, new MemoryBlobs())).toHaveLength(0);
  expect(await loadContent({ place: undefined }, new MemoryBlobs())).toHaveLength(0);
});

describe("what is too large for a resource", () => {
  /** Which of contents of some sizes go to the blob store, where the rest of the resource has a size of its own. */
  async function spilled(sizes: readonly number[], rest = 0): Promise<number[]> {
    const contents = sizes.map((size, at) => inlineContent(new Uint8Array(size).fill(at)));
    const bytes = (): number =>
      contents.reduce(
        (sum, { place }) => sum + (place?.$case === "inline" ? place.value.length : 48),
        rest,
      );
    await spillContents(contents, bytes, new MemoryBlobs());
    return contents.flatMap(({ place }, at) => (place?.$case === "blob" ? [at] : []));
  }

  it("is every content above 64 KiB", async () => {
    expect(await spilled([64 * KIB, 64 * KIB + 1, 10, 200 * KIB])).toEqual([1, 3]);
  });

  it("are the largest contents, until the resource has 256 KiB", async () => {
    expect(await spilled(Array.from({ length: 4 }, () => 64 * KIB))).toEqual([]);
    const sizes = [50, 60, 64, 60, 50].map((size) => size * KIB);
    // 284 KiB without the largest one are 220 KiB.
    expect(await spilled(sizes)).toEqual([2]);
    expect(await spilled(sizes, 200 * KIB)).toEqual([0, 1, 2, 3]);
  });

  it("is no content that is smaller than a reference", async () => {
    expect(await spilled([127, 128], 300 * KIB)).toEqual([1]);
  });

  it("is durable with its bytes", async () => {
    const blobs = new MemoryBlobs();
    const content = inlineContent(new Uint8Array(70 * KIB).fill(7));
    await spillContents([content], () => 0, blobs);
    expect(Buffer.from(await loadContent(content, blobs))).toEqual(Buffer.alloc(70 * KIB, 7));
    expect(blobsOf([content, inlineContent(new Uint8Array(1))])).toMatchObject([{ size: 71_680n }]);
  });
});
