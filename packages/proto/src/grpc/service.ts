/**
 * A method as ts-proto describes it for grpc-js. The functions are declared as methods, so that a
 * description of any request and response fits.
 */
export interface MethodDefinition {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  requestSerialize(value: unknown): Uint8Array;
  requestDeserialize(bytes: Buffer): unknown;
  responseSerialize(value: unknown): Uint8Array;
  responseDeserialize(bytes: Buffer): unknown;
}

/** A service as ts-proto describes it: what the generated `XxxService` constants are. */
export type ServiceDefinition = Readonly<Record<string, MethodDefinition>>;

export type RequestOf<M> = M extends { requestDeserialize(bytes: Buffer): infer T } ? T : never;

export type ResponseOf<M> = M extends { responseDeserialize(bytes: Buffer): infer T } ? T : never;

/** A stream of messages as callers and handlers give it. */
export type Messages<T> = AsyncIterable<T> | Iterable<T>;

/** How many bytes of a stream's messages wait on either side before the sender has to. */
export const DEFAULT_BUFFER_BYTES = 1024 * 1024;

/** What a waiting message counts for: its bytes, and something for the objects around them. */
export function costOf(message: Uint8Array): number {
  return message.length + 64;
}

/** The limit for a message that both sides start with: what Pulumi and Terraform allow. */
export const MAX_MESSAGE_BYTES = 400 * 1024 * 1024;

/** grpc-js passes encoded messages through, so that their sizes are known here. */
export function passBytes(bytes: Buffer): Buffer {
  return bytes;
}

/** The same bytes as a `Buffer`, without a copy. */
export function asBuffer(bytes: Uint8Array): Buffer {
  if (Buffer.isBuffer(bytes)) return bytes;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
