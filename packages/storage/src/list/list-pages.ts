import type { Resource, Tenancy, UnversionedType } from "../resource.ts";
import type { ReadConsistency, StorageBackend } from "../types.ts";
import type { ListPageOptions } from "./types.ts";

/**
 * The resources that `list` gives, page by page and at one store revision, so that a caller never
 * holds all of them. On an engine without `capabilities.pagedList` there is one page with all.
 *
 * Rejects as `listPage` does; after `STORAGE_LIST_EXPIRED`, which comes when the caller takes minutes,
 * a new call begins again.
 */
export async function* listPages(
  storage: StorageBackend,
  consistency: ReadConsistency,
  type: UnversionedType,
  tenancy: Tenancy,
  namePrefix: string,
  options: Omit<ListPageOptions, "continueAfter"> = {},
): AsyncGenerator<readonly Resource[], undefined> {
  if (!storage.capabilities.pagedList) {
    yield await storage.list(consistency, type, tenancy, namePrefix, { signal: options.signal });
    return;
  }
  let continueAfter: string | undefined;
  do {
    const bounds = { ...options, continueAfter };
    const page = await storage.listPage(consistency, type, tenancy, namePrefix, bounds);
    yield page.resources;
    continueAfter = page.continuation;
  } while (continueAfter !== undefined);
}

/** The resources of {@link listPages} one by one. */
export async function* listResources(
  ...query: Parameters<typeof listPages>
): AsyncGenerator<Resource, undefined> {
  for await (const page of listPages(...query)) yield* page;
}
