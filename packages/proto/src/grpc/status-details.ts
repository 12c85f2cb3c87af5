import type { Any } from "../gen/google/protobuf/any.ts";
import { Status } from "../gen/google/rpc/status.ts";

/** The trailer that holds a serialized `google.rpc.Status` (gRPC's richer error model). */
export const STATUS_DETAILS_KEY = "grpc-status-details-bin";

const TYPE_URL_PREFIX = "type.googleapis.com/";

/** One typed detail of an error, still encoded. */
export interface StatusDetail {
  /** `type.googleapis.com/<package>.<Message>`; only what follows the last slash counts. */
  readonly typeUrl: string;
  readonly value: Uint8Array;
}

/** What reads and writes a message: any generated message object. */
export interface MessageCodec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(bytes: Uint8Array): T;
}

/** A kind of detail: the full name of the message, and what reads and writes it. */
export interface DetailType<T> {
  readonly typeName: string;
  readonly codec: MessageCodec<T>;
}

/** Ties a generated message to its full protobuf name, which the generated code does not know. */
export function detailType<T>(typeName: string, codec: MessageCodec<T>): DetailType<T> {
  return { typeName, codec };
}

/** A message as a detail of an error. */
export function createDetail<T>(type: DetailType<T>, message: T): StatusDetail {
  return {
    typeUrl: `${TYPE_URL_PREFIX}${type.typeName}`,
    value: type.codec.encode(message).finish(),
  };
}

/** Whether a detail is of a type; type URLs of every authority count. */
export function isDetail<T>(type: DetailType<T>, detail: StatusDetail): boolean {
  return detail.typeUrl.slice(detail.typeUrl.lastIndexOf("/") + 1) === type.typeName;
}

export function encodeStatus(
  code: number,
  message: string,
  details: readonly StatusDetail[],
): Uint8Array {
  return Status.encode({
    code,
    message,
    details: details.map(({ typeUrl, value }): Any => ({ typeUrl, value })),
  }).finish();
}

/** The details in a trailer; none when it is malformed, which must not hide the error itself. */
export function decodeDetails(bytes: Uint8Array): readonly StatusDetail[] {
  try {
    return Status.decode(bytes).details.map(({ typeUrl, value }) => ({ typeUrl, value }));
  } catch {
    return [];
  }
}
