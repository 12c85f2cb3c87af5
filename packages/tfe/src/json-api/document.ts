/** A resource of a document (https://jsonapi.org), as this API answers. */
export interface ResourceObject {
  readonly id: string;
  readonly type: string;
  readonly attributes: object;
  readonly relationships?: Readonly<Record<string, Relationship>>;
}

interface Relationship {
  readonly data: Identifier | readonly Identifier[] | null;
}

interface Identifier {
  readonly id: string;
  readonly type: string;
}

/** A document, and what is sent with it. */
export interface Document {
  readonly data: ResourceObject | readonly ResourceObject[];
  readonly included?: readonly ResourceObject[];
  readonly meta?: object;
}

export function one(data: ResourceObject, included: readonly ResourceObject[] = []): Document {
  return included.length === 0 ? { data } : { data, included };
}

export function related(type: string, id: string | undefined): Relationship {
  return { data: id === undefined ? null : { id, type } };
}

const DEFAULT_SIZE = 20;
const MAX_SIZE = 100;

/** A page of a list, as `page[number]` and `page[size]` of a query select it. Clients rely on the pagination of each list. */
export function page<T>(
  all: readonly T[],
  query: Readonly<Record<string, unknown>>,
  resourceOf: (one: T) => ResourceObject,
  /** Where the query does not say. */
  defaultSize = DEFAULT_SIZE,
): Document {
  const asked = query["page[size]"];
  const size =
    asked === undefined ? defaultSize : Math.min(MAX_SIZE, numberOf(asked, DEFAULT_SIZE));
  const total = Math.max(1, Math.ceil(all.length / size));
  const number = numberOf(query["page[number]"], 1);
  const shown = all.slice((number - 1) * size, number * size);
  return {
    data: shown.map(resourceOf),
    meta: {
      pagination: {
        "current-page": number,
        "prev-page": number > 1 ? number - 1 : null,
        "next-page": number < total ? number + 1 : null,
        "total-pages": total,
        "total-count": all.length,
      },
    },
  };
}

function numberOf(text: unknown, otherwise: number): number {
  const number = typeof text === "string" && /^[0-9]{1,6}$/.test(text) ? Number(text) : otherwise;
  return Math.max(1, number);
}
