/** Bounds on one source text, so that hostile input costs bounded time and memory. */
export interface SyntaxLimits {
  /** Largest source, in UTF-8 bytes (UTF-16 units where a string was given). @default 8 MiB */
  readonly maxBytes?: number;
  /** Deepest nesting of blocks and expressions, and longest chain of operators. @default 500 */
  readonly maxDepth?: number;
  /** Most tokens of one source. @default 2,000,000 */
  readonly maxTokens?: number;
  /** Most digits of one number, and largest decimal exponent. @default 4096 */
  readonly maxNumberDigits?: number;
  /** Most errors that are reported for one source. @default 200 */
  readonly maxErrors?: number;
}

/** {@link SyntaxLimits} with nothing left open. */
export type ResolvedSyntaxLimits = Required<SyntaxLimits>;

const DEFAULTS: ResolvedSyntaxLimits = {
  maxBytes: 8 * 1024 * 1024,
  maxDepth: 500,
  maxTokens: 2_000_000,
  maxNumberDigits: 4096,
  maxErrors: 200,
};

/** Fills in defaults. Throws a RangeError for a limit that is not a positive whole number. */
export function resolveSyntaxLimits(limits: SyntaxLimits = {}): ResolvedSyntaxLimits {
  const resolved = { ...DEFAULTS, ...limits };
  for (const [name, value] of Object.entries(resolved)) {
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new RangeError(`syntax limit ${name} must be a positive whole number, not ${value}`);
    }
  }
  return resolved;
}
