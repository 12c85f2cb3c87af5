import { readStoreLayout, type StoreAddress, storeName } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import { isStorageError } from "@stackwright/storage";

/**
 * Refuses an address without a store: an open for writing would make one there, and a command that looks after a store would then find nothing to
 * do in it. `ENGINE_CONFIG_INVALID`.
 */
export async function requireStore(address: StoreAddress): Promise<void> {
  try {
    const layout = await readStoreLayout(address);
    if (layout?.stored !== 0) return;
  } catch (error) {
    if (!isStorageError(error, "STORAGE_INVALID_ARGUMENT") || address.kind !== "sqlite")
      throw error;
  }
  throw new EngineError("ENGINE_CONFIG_INVALID", `there is no store at ${storeName(address)}`, {
    details: {
      advice:
        "The address is that of --store, STACKWRIGHT_SERVE_STORE, the file of the server or STACKWRIGHT_STORE.",
    },
  });
}
