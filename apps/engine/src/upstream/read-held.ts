import type { Clock } from "@stackwright/base/clock";
import type { BlobStore } from "@stackwright/storage/blob";

/** Well within the hour that a blob stays which nothing refers to. */
const HOLD_AGAIN_MS = 15 * 60_000;

/** Reads a blob that may be evicted meanwhile: it is held as long as somebody reads, however slowly. */
export async function* readHeld(
  blobs: Pick<BlobStore, "read" | "find">,
  sha256: string,
  clock: Pick<Clock, "monotonicMs">,
): AsyncGenerator<Uint8Array> {
  let heldMs = clock.monotonicMs();
  for await (const bytes of blobs.read(sha256)) {
    if (clock.monotonicMs() - heldMs >= HOLD_AGAIN_MS) {
      await blobs.find([sha256]);
      heldMs = clock.monotonicMs();
    }
    yield bytes;
  }
}
