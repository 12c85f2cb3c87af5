import { encodeResource } from "../../codec.ts";
import type { ResourceFilter } from "../../key.ts";
import { resourceKey } from "../../key.ts";
import {
  formatContinuation,
  type ListContent,
  parseContinuation,
  queryDigest,
} from "../../list/continuation.ts";
import { OPEN_LIST_BOUNDS, OpenLists } from "../../list/open-lists.ts";
import { PageMeter, resolvePageBounds } from "../../list/page-bounds.ts";
import type { ListPage, ListPageOptions } from "../../list/types.ts";
import type { Resource } from "../../resource.ts";
import type { OrderedMap } from "./ordered-map.ts";
import { selectResources } from "./select.ts";

type View = OrderedMap<Resource>;

/** The lists of an instance that are read in pages; each holds a snapshot of the resources. */
export class MemoryLists {
  readonly #lists = new OpenLists<View>(OPEN_LIST_BOUNDS, () => undefined);

  /** A page of what a filter selects, as stored. `snapshot` is called for the first page of a list. */
  page(
    content: ListContent,
    filter: ResourceFilter,
    epoch: string,
    snapshot: () => View,
    options: ListPageOptions,
  ): ListPage {
    const bounds = resolvePageBounds(options);
    const query = queryDigest(content, filter);
    if (options.continueAfter === undefined) {
      const view = snapshot();
      const { resources, after } = readPage(view, filter, content, new PageMeter(bounds));
      if (after === undefined) return { resources };
      const list = this.#lists.open(query, view);
      return { resources, continuation: formatContinuation({ epoch, list, query, after }) };
    }
    const last = parseContinuation(options.continueAfter, epoch, query);
    const { resources, after } = this.#lists.useNow(last.list, query, (view) =>
      readPage(view, filter, content, new PageMeter(bounds), last.after),
    );
    if (after !== undefined) {
      return { resources, continuation: formatContinuation({ ...last, after }) };
    }
    this.#lists.end(last.list);
    return { resources };
  }

  /** Ends all lists. */
  endAll(): void {
    this.#lists.endAll();
  }
}

function readPage(
  view: View,
  filter: ResourceFilter,
  content: ListContent,
  meter: PageMeter,
  behind?: string,
): { readonly resources: readonly Resource[]; readonly after?: string } {
  const resources: Resource[] = [];
  for (const resource of selectResources(view, filter, behind)) {
    const last = resources.at(-1);
    if (!meter.take(encodedBytes(resource, content)) && last !== undefined) {
      return { resources, after: resourceKey(last.id) };
    }
    resources.push(resource);
  }
  return { resources };
}

function encodedBytes(resource: Resource, content: ListContent): number {
  if (content === "resources") return encodeResource(resource).byteLength;
  const { data: _, ...head } = resource;
  return encodeResource(head).byteLength;
}
