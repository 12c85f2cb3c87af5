import { Metadata } from "@grpc/grpc-js";
import { PropertyError } from "../property/errors.ts";
import { RPC_CODES, type RpcCode, rpcCodeOf } from "./codes.ts";
import { createMetadata, type MetadataInit } from "./metadata.ts";
import type { DetailType, StatusDetail } from "./status-details.ts";
import { decodeDetails, encodeStatus, isDetail, STATUS_DETAILS_KEY } from "./status-details.ts";

export interface RpcErrorOptions {
  readonly details?: readonly StatusDetail[];
  /** Trailers that go with the error. */
  readonly metadata?: MetadataInit;
  readonly cause?: unknown;
  /** @default false */
  readonly unprocessed?: boolean;
}

/** The status of a failed call as grpc-js accepts and reports it. */
export interface RpcStatus {
  readonly code: number;
  readonly details: string;
  readonly metadata: Metadata;
}

/**
 * A failed call. It is what clients reject with and what handlers throw to choose the status.
 * Passing one on that was received keeps its code, text, trailers and detail bytes as they came.
 */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: RpcCode;
  /** The text without the code that `message` starts with. */
  readonly rawMessage: string;
  readonly details: readonly StatusDetail[];
  /** Trailers, without the one that holds `details`. */
  readonly metadata: Metadata;
  /**
   * The call provably did not reach a handler: it was not sent, or the server said so. False where that is not known, and
   * for all that grpc-js reports.
   */
  readonly unprocessed: boolean;
  readonly #received: Uint8Array | undefined;

  constructor(code: RpcCode, message: string, options: RpcErrorOptions = {}) {
    super(`${code}: ${message}`, "cause" in options ? { cause: options.cause } : undefined);
    this.code = code;
    this.rawMessage = message;
    this.unprocessed = options.unprocessed ?? false;
    this.metadata = createMetadata(options.metadata);
    const [received] = this.metadata.get(STATUS_DETAILS_KEY);
    this.metadata.remove(STATUS_DETAILS_KEY);
    if (options.details !== undefined || !(received instanceof Uint8Array)) {
      this.details = options.details ?? [];
    } else {
      this.details = decodeDetails(received);
      this.#received = received;
    }
  }

  /** Whether the same call may succeed after a pause; see {@link RPC_CODES}. */
  get retryable(): boolean {
    return RPC_CODES[this.code].retryable;
  }

  /** The number of the code on the wire. */
  get status(): number {
    return RPC_CODES[this.code].status;
  }

  /** The details of a type, decoded, in order. A detail that does not decode is left out. */
  findDetails<T>(type: DetailType<T>): readonly T[] {
    return this.details.flatMap((detail) => {
      if (!isDetail(type, detail)) return [];
      try {
        return [type.codec.decode(detail.value)];
      } catch {
        return [];
      }
    });
  }

  /** What grpc-js sends for this error. */
  toStatus(): RpcStatus {
    const metadata = this.metadata.clone();
    // grpc-js percent-encodes the text and throws at a lone surrogate.
    const details = this.rawMessage.toWellFormed();
    if (this.#received !== undefined) {
      metadata.set(STATUS_DETAILS_KEY, Buffer.from(this.#received));
    } else if (this.details.length > 0) {
      const bytes = encodeStatus(this.status, details, this.details);
      metadata.set(STATUS_DETAILS_KEY, Buffer.from(bytes));
    }
    return { code: this.status, details, metadata };
  }

  /**
   * The single conversion of thrown values: an RpcError is returned as it is, an error of
   * grpc-js keeps code, text and trailers, an abort is CANCELLED, an elapsed timeout is
   * DEADLINE_EXCEEDED, a PropertyError is INVALID_ARGUMENT, and anything else has `fallback`.
   */
  static from(this: void, error: unknown, fallback: RpcCode = "UNKNOWN"): RpcError {
    if (error instanceof RpcError) return error;
    if (isRpcStatus(error)) {
      const { code, details, metadata } = error;
      return new RpcError(rpcCodeOf(code), readable(details), { metadata, cause: error });
    }
    if (!(error instanceof Error)) return new RpcError(fallback, String(error), { cause: error });
    return new RpcError(codeOfError(error) ?? fallback, error.message, { cause: error });
  }
}

/** What grpc-js says of a connection that did not come about, without what is of use to its authors alone. */
function readable(details: string): string {
  const [, reason] =
    /^No connection established\. Last error: (?:Error: )?(.*?)\. Resolution note: /s.exec(
      details,
    ) ?? [];
  return reason === undefined ? details : `No connection established: ${reason}`;
}

function codeOfError(error: Error): RpcCode | undefined {
  if (error instanceof PropertyError) return "INVALID_ARGUMENT";
  if (error.name === "AbortError") return "CANCELLED";
  return error.name === "TimeoutError" ? "DEADLINE_EXCEEDED" : undefined;
}

function isRpcStatus(error: unknown): error is RpcStatus {
  return (
    typeof error === "object" &&
    error !== null &&
    "code" in error &&
    typeof error.code === "number" &&
    "details" in error &&
    typeof error.details === "string" &&
    "metadata" in error &&
    error.metadata instanceof Metadata
  );
}
