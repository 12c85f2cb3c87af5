import type { DescMessage } from "@bufbuild/protobuf";
import type { Plain, RandomMessage } from "./random-message.ts";

/** Another implementation of the wire format, which knows the same message types. */
export interface Peer {
  encode(message: RandomMessage): Uint8Array;
  decode(desc: DescMessage, bytes: Uint8Array): { readonly [field: string]: Plain };
}
