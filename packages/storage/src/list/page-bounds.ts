import { StorageError } from "../errors.ts";
import type { ListPageOptions } from "./types.ts";

const MIB = 1024 * 1024;

/** Most resources, and most bytes, that a page can be asked for. */
const MAX_LIMIT = 10_000;
const MAX_BYTES = 64 * MIB;

/** How much a page may hold. */
export interface PageBounds {
  readonly limit: number;
  readonly maxBytes: number;
}

/** Bounds with their defaults; `STORAGE_INVALID_ARGUMENT` for others than whole positive numbers up to the most. */
export function resolvePageBounds({ limit, maxBytes }: ListPageOptions): PageBounds {
  return {
    limit: check("limit", limit ?? 1_000, MAX_LIMIT),
    maxBytes: check("maxBytes", maxBytes ?? 4 * MIB, MAX_BYTES),
  };
}

function check(field: string, value: number, most: number): number {
  if (Number.isSafeInteger(value) && value >= 1 && value <= most) return value;
  throw new StorageError(
    "STORAGE_INVALID_ARGUMENT",
    `${field} is ${value}, it has to be a whole number from 1 to ${most}`,
    { details: { field, limit: most } },
  );
}

/** Fills one page: counts what is taken and says when the page is full. */
export class PageMeter {
  readonly #bounds: PageBounds;
  #count = 0;
  #bytes = 0;

  constructor(bounds: PageBounds) {
    this.#bounds = bounds;
  }

  /** How many more resources fit, by their number. */
  get left(): number {
    return this.#bounds.limit - this.#count;
  }

  /** Takes a resource of so many bytes if it fits; the first one always does. */
  take(bytes: number): boolean {
    const fits = this.#count === 0 || this.#bytes + bytes <= this.#bounds.maxBytes;
    if (this.left === 0 || !fits) return false;
    this.#count += 1;
    this.#bytes += bytes;
    return true;
  }
}
