/** One place in a lock file at which something is wrong, or worth a warning. Line and column count from 1. */
export interface LockProblem {
  readonly line: number;
  /** In Unicode code points. */
  readonly column: number;
  readonly message: string;
}

/** What `details` holds, by error code. */
export interface ProviderSourceErrorDetails {
  PROVIDER_SOURCE_ADDRESS_INVALID: {
    readonly input: string;
    readonly part: "address" | "host" | "namespace" | "type";
    /** The address that was probably meant, in canonical form. */
    readonly suggestion?: string;
  };
  PROVIDER_SOURCE_PLATFORM_INVALID: { readonly input: string };
  PROVIDER_SOURCE_VERSION_INVALID: { readonly input: string };
  PROVIDER_SOURCE_CONSTRAINT_INVALID: {
    readonly input: string;
    /** Index in `input` of the comma-separated part that is wrong, in UTF-16 code units. */
    readonly offset: number;
  };
  PROVIDER_SOURCE_EXACT_VERSION_REQUIRED: { readonly address: string; readonly given: string };
  PROVIDER_SOURCE_LOCK_FILE_INVALID: {
    readonly file: string;
    /** All that was found wrong; at least one. A syntax error ends the reading, so it is the last. */
    readonly problems: readonly LockProblem[];
  };
  PROVIDER_SOURCE_HASH_INVALID: { readonly input: string };
  PROVIDER_SOURCE_HASH_MISMATCH: {
    readonly expected: readonly string[];
    readonly found: readonly string[];
  };
  PROVIDER_SOURCE_PACKAGE_UNREADABLE: { readonly path: string };
  PROVIDER_SOURCE_ARCHIVE_MALFORMED: { readonly entry?: string };
  PROVIDER_SOURCE_ARCHIVE_UNSUPPORTED: { readonly entry?: string };
  PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE: { readonly entry: string };
  PROVIDER_SOURCE_ARCHIVE_ENTRY_REFUSED: { readonly entry: string };
  PROVIDER_SOURCE_ARCHIVE_DUPLICATE: { readonly entry: string; readonly other: string };
  PROVIDER_SOURCE_ARCHIVE_LIMIT: {
    readonly limit: string;
    readonly allowed: number;
    readonly found: number;
    readonly entry?: string;
  };
  PROVIDER_SOURCE_DESTINATION_EXISTS: { readonly path: string };
  PROVIDER_SOURCE_IO: { readonly path: string };
  PROVIDER_SOURCE_BRIDGE_UNAVAILABLE: { readonly address: string; readonly version: string };
}

/** The codes of {@link ProviderSourceError}. They are contract; message texts are not. */
export type ProviderSourceErrorCode = keyof ProviderSourceErrorDetails;

interface CodeTraits {
  readonly retryable: boolean;
  readonly grpcStatus:
    | "INVALID_ARGUMENT"
    | "FAILED_PRECONDITION"
    | "ALREADY_EXISTS"
    | "UNAVAILABLE";
  readonly httpStatus: number;
}

const REFUSED = { retryable: false, grpcStatus: "INVALID_ARGUMENT", httpStatus: 400 } as const;
const UNPROCESSABLE = {
  retryable: false,
  grpcStatus: "INVALID_ARGUMENT",
  httpStatus: 422,
} as const;

/** Every code with what a caller may do about it and how it maps to gRPC and HTTP. */
export const PROVIDER_SOURCE_ERRORS: Readonly<Record<ProviderSourceErrorCode, CodeTraits>> = {
  PROVIDER_SOURCE_ADDRESS_INVALID: REFUSED,
  PROVIDER_SOURCE_PLATFORM_INVALID: REFUSED,
  PROVIDER_SOURCE_VERSION_INVALID: REFUSED,
  PROVIDER_SOURCE_CONSTRAINT_INVALID: REFUSED,
  PROVIDER_SOURCE_EXACT_VERSION_REQUIRED: REFUSED,
  PROVIDER_SOURCE_LOCK_FILE_INVALID: REFUSED,
  PROVIDER_SOURCE_HASH_INVALID: REFUSED,
  PROVIDER_SOURCE_HASH_MISMATCH: {
    retryable: false,
    grpcStatus: "FAILED_PRECONDITION",
    httpStatus: 422,
  },
  PROVIDER_SOURCE_PACKAGE_UNREADABLE: UNPROCESSABLE,
  PROVIDER_SOURCE_ARCHIVE_MALFORMED: UNPROCESSABLE,
  PROVIDER_SOURCE_ARCHIVE_UNSUPPORTED: UNPROCESSABLE,
  PROVIDER_SOURCE_ARCHIVE_PATH_UNSAFE: UNPROCESSABLE,
  PROVIDER_SOURCE_ARCHIVE_ENTRY_REFUSED: UNPROCESSABLE,
  PROVIDER_SOURCE_ARCHIVE_DUPLICATE: UNPROCESSABLE,
  PROVIDER_SOURCE_ARCHIVE_LIMIT: { ...UNPROCESSABLE, httpStatus: 413 },
  PROVIDER_SOURCE_DESTINATION_EXISTS: {
    retryable: false,
    grpcStatus: "ALREADY_EXISTS",
    httpStatus: 409,
  },
  PROVIDER_SOURCE_IO: { retryable: true, grpcStatus: "UNAVAILABLE", httpStatus: 503 },
  PROVIDER_SOURCE_BRIDGE_UNAVAILABLE: {
    retryable: true,
    grpcStatus: "UNAVAILABLE",
    httpStatus: 503,
  },
};

/**
 * The one error class of this package. `code` says what went wrong, `details` holds the facts of
 * that code, `message` says what is wrong and what to do about it.
 */
export class ProviderSourceError<
  C extends ProviderSourceErrorCode = ProviderSourceErrorCode,
> extends Error {
  override readonly name = "ProviderSourceError";
  readonly code: C;
  readonly details: ProviderSourceErrorDetails[C];
  /** Whether the same call may succeed later without a change by the caller. */
  readonly retryable: boolean;

  constructor(
    code: C,
    message: string,
    details: ProviderSourceErrorDetails[C],
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.code = code;
    this.details = details;
    this.retryable = PROVIDER_SOURCE_ERRORS[code].retryable;
  }

  /** Whether `error` is one of this package, with the given code if one is given; narrows `details`. */
  static is<C extends ProviderSourceErrorCode = ProviderSourceErrorCode>(
    error: unknown,
    code?: C,
  ): error is ProviderSourceError<C> {
    return error instanceof ProviderSourceError && (code === undefined || error.code === code);
  }

  /**
   * The single conversion point: an error of the operating system becomes `PROVIDER_SOURCE_IO` at
   * `path` with the original as its cause; every other error stays what it is.
   */
  static from(error: unknown, path: string): Error {
    if (error instanceof Error && !("syscall" in error)) return error;
    const reason = error instanceof Error ? error.message : String(error);
    return ioError(path, reason, error);
  }
}

/** `PROVIDER_SOURCE_IO`: reading or writing at `path` failed. */
export function ioError(path: string, reason: string, cause?: unknown): ProviderSourceError {
  const options = cause === undefined ? undefined : { cause };
  return new ProviderSourceError("PROVIDER_SOURCE_IO", `${path}: ${reason}`, { path }, options);
}

/** Text of a user as it may stand in a message: quoted, control characters escaped, shortened. */
export function quoteForMessage(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
