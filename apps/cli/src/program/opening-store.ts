/** Opens what a server needs, and says in words that the store is in use. */
export async function openingStore<Opened>(open: () => Promise<Opened>): Promise<Opened> {
  try {
    return await open();
  } catch (error) {
    const { isStorageError } = await import("@stackwright/storage");
    if (!isStorageError(error, "STORAGE_LOCKED")) throw error;
    const { storeLockedError } = await import("../session/store-errors.ts");
    throw storeLockedError(
      error,
      "An embedded store has one server, and nothing else opens it at the same time.",
    );
  }
}
