import { createHmac, timingSafeEqual } from "node:crypto";
import { RfsStacksError } from "../errors.ts";
import type { QueryFields } from "./query-fields.ts";

/** Part of a list, with the markers that lead on. */
interface ListPage<T> {
  readonly items: readonly T[];
  readonly page_info: {
    readonly next_marker?: string;
    readonly previous_marker?: string;
    readonly current_count: number;
  };
}

const LIMITS = { min: 10, max: 1000 } as const;
const INTEGER = /^[0-9]{1,10}$/;
const TAG_BYTES = 16;

/**
 * The part of a list that a query asks for. A marker names the key of an item, so that it leads on where others were added or
 * removed meanwhile; it is authenticated, and good for the same list alone.
 *
 * @param list what the list is of, such as the project and the stack
 * @param keyOf the key of an item, which no other item has
 */
export function pageOf<T>(
  all: readonly T[],
  query: QueryFields,
  given: { readonly key: Uint8Array; readonly list: string; readonly keyOf: (item: T) => string },
): ListPage<T> {
  const limit = limitOf(query.get("limit"));
  const { key, list, keyOf } = given;
  const marker = query.get("marker");
  const start = marker === undefined ? undefined : readMarker(key, list, marker);
  const at = start === undefined ? 0 : placeOf(all, start, keyOf, limit);
  const items = all.slice(at, at + limit);
  const last = items.at(-1);
  const first = items[0];
  return {
    items,
    page_info: {
      current_count: items.length,
      ...(at + limit < all.length &&
        last !== undefined && { next_marker: writeMarker(key, list, `>${keyOf(last)}`) }),
      ...(at > 0 &&
        first !== undefined && { previous_marker: writeMarker(key, list, `<${keyOf(first)}`) }),
    },
  };
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return LIMITS.max;
  const limit = INTEGER.test(text) ? Number(text) : Number.NaN;
  if (limit >= LIMITS.min && limit <= LIMITS.max) return limit;
  throw new RfsStacksError(
    "RFS_PARAMETER_RANGE",
    `limit is a whole number from ${LIMITS.min} to ${LIMITS.max}`,
  );
}

function placeOf<T>(
  all: readonly T[],
  position: string,
  keyOf: (item: T) => string,
  limit: number,
): number {
  const wanted = position.slice(1);
  const found = all.findIndex((item) => keyOf(item) === wanted);
  if (found < 0) {
    throw new RfsStacksError(
      "RFS_MARKER_INVALID",
      "the item that the marker names was deleted; list from the beginning",
    );
  }
  return position.startsWith(">") ? found + 1 : Math.max(0, found - limit);
}

function writeMarker(key: Uint8Array, list: string, position: string): string {
  const tag = tagOf(key, list, position).toString("base64url");
  return `${Buffer.from(position).toString("base64url")}.${tag}`;
}

function readMarker(key: Uint8Array, list: string, marker: string): string {
  const [encoded = "", tag = "", ...more] = marker.split(".");
  const position = Buffer.from(encoded, "base64url").toString();
  const given = Buffer.from(tag, "base64url");
  const isValid =
    more.length === 0 &&
    given.byteLength === TAG_BYTES &&
    timingSafeEqual(given, tagOf(key, list, position));
  if (!isValid) throw new RfsStacksError("RFS_MARKER_INVALID");
  return position;
}

function tagOf(key: Uint8Array, list: string, position: string): Buffer {
  const text = `rfs-stacks\0${list}\0${position}`;
  return createHmac("sha256", key).update(text).digest().subarray(0, TAG_BYTES);
}
