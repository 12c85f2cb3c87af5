import { checkLength, LENGTHS } from "../domain/fields.ts";
import { PAGE_LIMITS, type PageRequest, type SortDirection } from "../domain/listing.ts";
import { invalidField } from "../errors.ts";

/** The members of a request body, each of a known name and type. */
export class BodyFields {
  readonly #body: Readonly<Record<string, unknown>>;

  /** Refuses members that are not listed. */
  constructor(body: Readonly<Record<string, unknown>>, known: readonly string[]) {
    const unknown = Object.keys(body).find((name) => !known.includes(name));
    if (unknown !== undefined) {
      const name = unknown.slice(0, 64);
      throw invalidField(name, "unknown", `"${name}" is not a parameter of this request`);
    }
    this.#body = body;
  }

  required(name: string): string {
    const value = this.optional(name, "nullable");
    if (value === undefined) throw invalidField(name, "missing", `${name} is required`);
    return value;
  }

  /** A text that may be absent; `null` means absent where the schema says nullable. */
  optional(name: string, nullable?: "nullable"): string | undefined {
    const value = Object.hasOwn(this.#body, name) ? this.#body[name] : undefined;
    if (value === undefined || (value === null && nullable !== undefined)) return undefined;
    if (typeof value !== "string") {
      throw invalidField(name, "wrong-type", `${name} is a string`);
    }
    return value;
  }
}

/** The parameters of a query, each of a known name. */
export class QueryFields {
  readonly #values = new Map<string, string[]>();

  /** Refuses parameters that are not listed, and repeated ones unless they may be. */
  constructor(query: string, single: readonly string[], repeatable: readonly string[] = []) {
    for (const [name, value] of new URLSearchParams(query)) {
      const label = name.slice(0, 64);
      if (!single.includes(name) && !repeatable.includes(name)) {
        throw invalidField(label, "unknown", `"${label}" is not a parameter of this request`);
      }
      const values = this.#values.get(name) ?? [];
      if (values.length > 0 && single.includes(name)) {
        throw invalidField(label, "duplicate", `${label} is given twice`);
      }
      values.push(value);
      this.#values.set(name, values);
    }
  }

  one(name: string): string | undefined {
    return this.#values.get(name)?.[0];
  }

  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }
}

const INTEGER = /^[+-]?[0-9]{1,10}$/;

/** What part of a list a query asks for. */
export function pageRequest(query: QueryFields): PageRequest {
  const sort = sortDirection(query.all("sort_key"), query.all("sort_dir"));
  const marker = query.one("marker");
  if (marker !== undefined) checkLength("marker", marker, LENGTHS.marker);
  const text = query.one("limit");
  if (text === undefined) return { sort, marker };
  if (!INTEGER.test(text)) throw invalidField("limit", "not-integer", "limit is a whole number");
  const limit = Number(text);
  if (limit < PAGE_LIMITS.min || limit > PAGE_LIMITS.max) {
    throw invalidField(
      "limit",
      "out-of-range",
      `limit is from ${PAGE_LIMITS.min} to ${PAGE_LIMITS.max}`,
    );
  }
  return { sort, marker, limit };
}

function sortDirection(
  keys: readonly string[],
  directions: readonly string[],
): SortDirection | undefined {
  if (keys.some((key) => key !== "create_time")) {
    throw invalidField("sort_key", "not-listed", "sort_key is create_time");
  }
  if (directions.some((direction) => direction !== "asc" && direction !== "desc")) {
    throw invalidField("sort_dir", "not-listed", "sort_dir is asc or desc");
  }
  if (keys.length !== directions.length) {
    throw invalidField("sort_dir", "incomplete", "sort_key and sort_dir belong together");
  }
  // Lists have one key to sort by, so what follows the first decides nothing.
  return directions[0] as SortDirection | undefined;
}

const REQUEST_ID_START = /^[A-Za-z0-9]/;
const REQUEST_ID = /^[A-Za-z0-9-]+$/;

/** Checks the id that clients give their requests. */
export function checkClientRequestId(value: string | readonly string[] | undefined): string {
  const field = "Client-Request-Id";
  if (value === undefined) throw invalidField(field, "missing", `the header ${field} is required`);
  if (typeof value !== "string") throw invalidField(field, "duplicate", `${field} is given twice`);
  checkLength(field, value, LENGTHS.client_request_id);
  if (!REQUEST_ID_START.test(value) || !REQUEST_ID.test(value)) {
    throw invalidField(field, "pattern", `${field} consists of letters, digits and hyphens`);
  }
  return value;
}
