/** What is done with the values that only some peers take; the same words for both directions. */
interface PropertyOptions {
  /**
   * `keep` secrets, or `strip` the wrapper and leave the inner value.
   * @default "keep"
   */
  readonly secrets?: "keep" | "strip";
  /**
   * `keep` resource references, or `strip` them to their id, and to their URN when they have none.
   * @default "keep"
   */
  readonly resources?: "keep" | "strip";
  /**
   * `keep` output values, or `strip` them to a plain, secret or unknown value.
   * @default "keep"
   */
  readonly outputs?: "keep" | "strip";
  /**
   * `keep` unknown values; `drop` them; or `reject` them (PROPERTY_UNKNOWN_REJECTED). What wraps a
   * dropped unknown (a secret, an output, a stripped reference whose id is not known) goes with
   * it. A dropped element makes an encoded list shorter and becomes null in a decoded one; a value
   * without a container becomes null.
   * @default "keep"
   */
  readonly unknowns?: "keep" | "drop" | "reject";
  /**
   * Leaves out null members of plain maps.
   * @default false
   */
  readonly skipNulls?: boolean;
  /**
   * Leaves out members of maps whose key starts with `__`, but not files of archives: of all of
   * them, or only at the top level.
   * @default "none"
   */
  readonly skipInternalKeys?: "none" | "top" | "all";
}

export interface DecodeOptions extends PropertyOptions {
  /**
   * `keep` assets and archives or `reject` them (PROPERTY_ASSET_REJECTED).
   * @default "keep"
   */
  readonly assets?: "keep" | "reject";
  /**
   * `interpret` signature keys and unknown sentinels, or `ignore` them, so that the result is made
   * of plain maps and strings only.
   * @default "interpret"
   */
  readonly signatures?: "interpret" | "ignore";
}

export interface EncodeOptions extends PropertyOptions {
  /**
   * `keep` assets and archives, `elide` their contents (the hash alone is written), or `reject`
   * them (PROPERTY_ASSET_REJECTED).
   * @default "keep"
   */
  readonly assets?: "keep" | "elide" | "reject";
  /**
   * `keep` byte strings, or `reject` them (PROPERTY_BYTES_REJECTED) for a peer without support.
   * @default "keep"
   */
  readonly bytes?: "keep" | "reject";
  /**
   * Writes the members of plain maps in the order of their keys (UTF-16 code units) instead of
   * insertion order, so that equal maps give equal bytes.
   * @default false
   */
  readonly sortKeys?: boolean;
}

export type ResolvedDecodeOptions = Required<DecodeOptions>;
export type ResolvedEncodeOptions = Required<EncodeOptions>;

const SHARED_DEFAULTS: Required<PropertyOptions> = {
  secrets: "keep",
  resources: "keep",
  outputs: "keep",
  unknowns: "keep",
  skipNulls: false,
  skipInternalKeys: "none",
};

const DECODE_DEFAULTS: ResolvedDecodeOptions = {
  ...SHARED_DEFAULTS,
  assets: "keep",
  signatures: "interpret",
};

const ENCODE_DEFAULTS: ResolvedEncodeOptions = {
  ...SHARED_DEFAULTS,
  assets: "keep",
  bytes: "keep",
  sortKeys: false,
};

export function resolveDecodeOptions(options: DecodeOptions = {}): ResolvedDecodeOptions {
  return { ...DECODE_DEFAULTS, ...options };
}

export function resolveEncodeOptions(options: EncodeOptions = {}): ResolvedEncodeOptions {
  return { ...ENCODE_DEFAULTS, ...options };
}
