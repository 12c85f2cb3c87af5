import type { BlobContent } from "@stackwright/storage/blob";
import { expect, it } from "vitest";
import { MemoryBlobs } from "../testing/memory-blobs.ts";
import { loadContent, textContent } from "./content.ts";

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
