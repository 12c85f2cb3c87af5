import { isStorageError } from "@stackwright/storage";
import type {
  BlobContent,
  BlobReference,
  BlobStore,
  BlobWriteOptions,
} from "@stackwright/storage/blob";
import { RegistryError } from "../errors.ts";

/** Writes a blob that counts against an account. `REGISTRY_QUOTA_EXCEEDED` when it does not fit into the quota. */
export async function writeAccountBlob(
  blobs: BlobStore,
  account: string,
  content: BlobContent,
  options: Omit<BlobWriteOptions, "owner"> = {},
): Promise<BlobReference> {
  try {
    return await blobs.write(content, { ...options, owner: account });
  } catch (error) {
    if (!isStorageError(error, "STORAGE_QUOTA_EXCEEDED")) throw error;
    throw new RegistryError("REGISTRY_QUOTA_EXCEEDED", error.message, { cause: error });
  }
}
