import { Any } from "../gen/google/protobuf/any.ts";

/**
 * A service with one method of each shape, described the way ts-proto does it. Its messages are
 * Any: a text and bytes of any size.
 */
function method<P extends string, Req extends boolean, Res extends boolean>(
  path: P,
  requestStream: Req,
  responseStream: Res,
) {
  const serialize = (value: Any): Buffer => Buffer.from(Any.encode(value).finish());
  const deserialize = (bytes: Buffer): Any => Any.decode(bytes);
  return {
    path,
    requestStream,
    responseStream,
    requestSerialize: serialize,
    requestDeserialize: deserialize,
    responseSerialize: serialize,
    responseDeserialize: deserialize,
  };
}

export const ShapesService = {
  one: method("/stackwright.test.Shapes/One", false, false),
  receive: method("/stackwright.test.Shapes/Receive", false, true),
  send: method("/stackwright.test.Shapes/Send", true, false),
  both: method("/stackwright.test.Shapes/Both", true, true),
} as const;

/** A message with a text and, if wanted, that many bytes. */
export function message(text: string, size = 0): Any {
  return { typeUrl: text, value: new Uint8Array(size) };
}
