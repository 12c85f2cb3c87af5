/** Whether `keys` (none, one or a list) holds `key`. */
export function hasKey(keys: unknown, key: unknown): boolean {
  return Array.isArray(keys) ? keys.includes(key) : keys !== undefined && sameKey(keys, key);
}

/** As maps compare: `NaN` equals itself, and both zeros are one. */
export function sameKey(a: unknown, b: unknown): boolean {
  return a === b || (Number.isNaN(a) && Number.isNaN(b));
}

/** Whether both are the same key, or lists of the same keys in the same order. */
export function sameKeys(a: unknown, b: unknown): boolean {
  if (sameKey(a, b)) return true;
  if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
  return a.every((key, i) => sameKey(key, b[i]));
}
