import { Resource as ResourceMessage } from "@stackwright/proto/consul-resource";
import type { RestoreRequest } from "@stackwright/proto/storage";
import { messageToResource } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import type { StorageBackend } from "../../types.ts";
import { endingRequests } from "./ending-requests.ts";
import { Pieces } from "./large-requests.ts";

/** For tags and lengths around what the limits of an engine count. */
const FRAMING_BYTES = 64 * 1024;

/** Restores a store from what a client sends, if that ends with a fitting commit. */
export async function restoreFrom(
  requests: AsyncIterable<RestoreRequest>,
  storage: StorageBackend,
  signal: AbortSignal,
): Promise<void> {
  const { dataBytes, envelopeBytes } = storage.capabilities.limits;
  const pieces = new Pieces(dataBytes + envelopeBytes + FRAMING_BYTES);
  await using restore = await storage.restore({ signal });
  let count = 0n;
  const apply = async (message: ResourceMessage): Promise<void> => {
    await restore.apply(messageToResource(message));
    count += 1n;
  };
  for await (const { step } of endingRequests(requests, signal)) {
    if (step?.$case === "piece") {
      pieces.add(step.value.bytes);
      if (step.value.last) await apply(ResourceMessage.decode(pieces.take()));
      continue;
    }
    if (!pieces.isEmpty) {
      throw new StorageError("STORAGE_INVALID_ARGUMENT", "a resource is not complete");
    }
    if (step?.$case === "apply") {
      for (const message of step.value.resources) await apply(message);
    } else if (step?.$case === "commit") {
      if (step.value.resources !== count) {
        throw new StorageError(
          "STORAGE_INVALID_ARGUMENT",
          `${count} resources came, ${step.value.resources} were sent`,
        );
      }
      await restore.commit();
      return;
    }
  }
  throw new StorageError("STORAGE_INVALID_ARGUMENT", "the stream ended without a commit");
}
