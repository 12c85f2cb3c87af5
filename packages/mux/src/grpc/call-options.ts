import { Metadata, type RpcCallOptions } from "@stackwright/proto/grpc";
import type { CallContext } from "../call-context.ts";

/** How a call is made that hands its context on: cancellation, deadline, and the metadata that is not of one hop. */
export function toCallOptions({ signal, metadata, deadline }: CallContext): RpcCallOptions {
  return {
    ...(signal && { signal }),
    ...(metadata && { metadata: forwarded(metadata) }),
    ...(deadline && { deadline }),
  };
}

/** Headers that speak of one connection alone. */
const OF_THE_CONNECTION = new Set(["user-agent", "content-type", "te", "accept-encoding", "host"]);

function forwarded(metadata: Metadata): Metadata {
  const copy = new Metadata();
  for (const key of Object.keys(metadata.getMap())) {
    if (OF_THE_CONNECTION.has(key) || key.startsWith("grpc-")) continue;
    for (const value of metadata.get(key)) copy.add(key, value);
  }
  return copy;
}
