import type { Resource, Tenancy, UnversionedType } from "../resource.ts";
import type { CallOptions, ReadConsistency, StorageBackend } from "../types.ts";
import { toHead } from "./resource-head.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "./types.ts";

type PageOptions = Omit<ListPageOptions, "continueAfter">;

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
  options: PageOptions = {},
): AsyncGenerator<readonly Resource[], undefined> {
  if (!storage.capabilities.pagedList) {
    const { signal, onDamaged } = options;
    yield await storage.list(consistency, type, tenancy, namePrefix, { signal, onDamaged });
    return;
  }
  yield* followPages(options, async (bounds) =>
    storage.listPage(consistency, type, tenancy, namePrefix, bounds),
  );
}

/** The resources of {@link listPages} one by one. */
export async function* listResources(
  ...query: Parameters<typeof listPages>
): AsyncGenerator<Resource, undefined> {
  for await (const page of listPages(...query)) yield* page;
}

/**
 * The first `limit` resources behind a name, in the order of their names (by UTF-16 units), of what `list` gives; `hasMore` says
 * whether others follow. Reads the whole list in pages and holds no more than it needs of them: for lists that are shown in
 * parts, each of which is as new as its call.
 *
 * Rejects as `listPage` does.
 */
export async function listBehind(
  storage: StorageBackend,
  type: UnversionedType,
  tenancy: Tenancy,
  namePrefix: string,
  { limit, after, ...options }: CallOptions & { readonly limit: number; readonly after: string },
): Promise<{ readonly resources: readonly Resource[]; readonly hasMore: boolean }> {
  let first: Resource[] = [];
  const shorten = (): void => {
    first = first.toSorted((a, b) => (a.id.name < b.id.name ? -1 : 1)).slice(0, limit + 1);
  };
  for await (const page of listPages(storage, "strong", type, tenancy, namePrefix, options)) {
    for (const resource of page) if (resource.id.name > after) first.push(resource);
    shorten();
  }
  return { resources: first.slice(0, limit), hasMore: first.length > limit };
}

/**
 * The heads of the resources that `list` gives, one by one and at one store revision, read in pages. On
 * an engine without `capabilities.pagedList` the resources are read whole.
 *
 * Rejects as `listHeads` does; after `STORAGE_LIST_EXPIRED`, which comes when the caller takes minutes,
 * a new call begins again.
 */
export async function* listResourceHeads(
  storage: StorageBackend,
  consistency: ReadConsistency,
  type: UnversionedType,
  tenancy: Tenancy,
  namePrefix: string,
  options: PageOptions = {},
): AsyncGenerator<ResourceHead, undefined> {
  if (!storage.capabilities.pagedList) {
    const { signal, onDamaged } = options;
    const found = await storage.list(consistency, type, tenancy, namePrefix, { signal, onDamaged });
    yield* found.map(toHead);
    return;
  }
  const pages = followPages(options, async (bounds) =>
    storage.listHeads(consistency, type, tenancy, namePrefix, bounds),
  );
  for await (const page of pages) yield* page;
}

async function* followPages<R>(
  options: PageOptions,
  read: (options: ListPageOptions) => Promise<ListPage<R>>,
): AsyncGenerator<readonly R[], undefined> {
  let continueAfter: string | undefined;
  do {
    const page = await read({ ...options, continueAfter });
    yield page.resources;
    continueAfter = page.continuation;
  } while (continueAfter !== undefined);
}
