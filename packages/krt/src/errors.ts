/** What each code means. Codes are contract; message texts are not. */
const TABLE = {
  KRT_INVALID_OPTION: { retryable: false, text: "an option has a value that is not allowed" },
  KRT_NO_KEY: { retryable: false, text: "no key function applies to the object" },
  KRT_EMPTY_KEY: { retryable: false, text: "an object has an empty key" },
  KRT_DUPLICATE_KEY: { retryable: false, text: "two objects given at once have the same key" },
  KRT_DUPLICATE_OUTPUT: { retryable: false, text: "two inputs yield the same output key" },
  KRT_OVERLAP: { retryable: false, text: "members of an unchecked join share a key" },
  KRT_VIEW_KEY: { retryable: false, text: "a view changed the key of an object" },
  KRT_TRAIT: {
    retryable: false,
    text: "a filter or index needs a capability that the kind does not have",
  },
  KRT_FILTER: { retryable: false, text: "filters of one fetch contradict each other" },
  KRT_NOT_ONE: { retryable: false, text: "a fetch of one object matched several" },
  KRT_INDEX_NAME: { retryable: false, text: "an index of that name exists with another extractor" },
  KRT_INDEX_UNSUPPORTED: { retryable: false, text: "this collection cannot be indexed" },
  KRT_FOREIGN: { retryable: false, text: "a collection belongs to another runtime or is not one" },
  KRT_CONTEXT: { retryable: false, text: "a context was used outside the run it was made for" },
  KRT_CYCLE: { retryable: false, text: "collections depend on each other" },
  KRT_WRITE: { retryable: false, text: "something was written from inside a transformation" },
  KRT_ASYNC: { retryable: false, text: "a transformation returned a promise" },
  KRT_DISPOSED: { retryable: false, text: "the collection, registration or runtime was disposed" },
  KRT_TRANSFORMATION: { retryable: true, text: "a transformation threw" },
  KRT_HANDLER: { retryable: true, text: "an event handler threw" },
  KRT_CALLBACK: { retryable: true, text: "a function given to a collection threw" },
  KRT_SOURCE: { retryable: true, text: "an external source failed" },
  KRT_STRICT_RESULT: { retryable: false, text: "two runs on equal inputs differ" },
  KRT_STRICT_READ: { retryable: false, text: "a collection was read without fetch" },
  KRT_STRICT_MUTATION: {
    retryable: false,
    text: "a transformation changed an object it was given",
  },
  KRT_STRICT_AMBIENT: { retryable: false, text: "a transformation used ambient state" },
  KRT_STRICT_EQUALITY: { retryable: false, text: "equality and content disagree" },
  KRT_STRICT_STALE: { retryable: false, text: "an output differs from a fresh run" },
} as const satisfies Record<string, { retryable: boolean; text: string }>;

/** A code of this package. The README lists what each one means. */
export type KrtErrorCode = keyof typeof TABLE;

/** Structured facts about an error. Which are present depends on the code. */
export interface KrtErrorDetails {
  /** Name of the collection concerned. */
  readonly collection?: string;
  /** Key of the input or object concerned. */
  readonly key?: string;
  /** Names of collections, or keys of inputs of one collection, first and last equal, of a cycle. */
  readonly path?: readonly string[];
  /** Keys of all inputs concerned. */
  readonly inputs?: readonly string[];
  /** Property path of a difference or of a forbidden write, for example `status.ip`. */
  readonly property?: string;
}

/**
 * The only error class of this package. `code` says what happened, `details` where, `cause` what
 * user code threw. `retryable` means that the same step can succeed later without a change of code.
 */
export class KrtError extends Error {
  override readonly name = "KrtError";
  readonly code: KrtErrorCode;
  readonly retryable: boolean;
  readonly details: KrtErrorDetails;

  constructor(
    code: KrtErrorCode,
    message: string = TABLE[code].text,
    options: { readonly details?: KrtErrorDetails; readonly cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryable = TABLE[code].retryable;
    this.details = options.details ?? {};
  }

  /** Gives back a `KrtError` unchanged and wraps anything else as `KRT_CALLBACK`. */
  static from(error: unknown): KrtError {
    if (error instanceof KrtError) return error;
    const text = error instanceof Error ? error.message : String(error);
    return new KrtError("KRT_CALLBACK", text, { cause: error });
  }
}
