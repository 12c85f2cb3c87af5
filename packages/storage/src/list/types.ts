import type { Resource } from "../resource.ts";
import type { ReadManyOptions } from "../types.ts";

/** Options of `listPage` and `listHeads`. */
export interface ListPageOptions extends ReadManyOptions {
  /** Most resources of the page, 1 to 10,000. @default 1,000 */
  readonly limit?: number | undefined;
  /**
   * Most bytes of the page's resources as they are encoded, up to 64 MiB. A page with one resource
   * may exceed it. @default 4 MiB
   */
  readonly maxBytes?: number | undefined;
  /**
   * The `continuation` of the page before. It is bound to the store, its epoch, and the query: the
   * method, type, tenancy and prefix have to be the same, and `consistency` is that of the first page.
   */
  readonly continueAfter?: string | undefined;
}

/** A part of a list. All pages of a list show the store revision of its first page. */
export interface ListPage<R = Resource> {
  /** In no promised order; may be empty although there is a continuation. */
  readonly resources: readonly R[];
  /** For {@link ListPageOptions.continueAfter}; absent on the last page. */
  readonly continuation?: string;
}

/** A resource without the bytes of its data. It is no `Resource`, so that it is never written back. */
export interface ResourceHead extends Omit<Resource, "data"> {
  /** Of the data, if there is any: the name of its type, and how many bytes it has. */
  readonly data?: { readonly typeUrl: string; readonly bytes: number };
}
