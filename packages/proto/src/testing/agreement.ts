import type { DescMessage } from "@bufbuild/protobuf";
import fc from "fast-check";
import { expect } from "vitest";
import {
  fromGenerated,
  type GeneratedModule,
  generatedType,
  toGenerated,
} from "./generated-message.ts";
import type { Peer } from "./peer.ts";
import { type RandomMessages, toPlain } from "./random-message.ts";

const RUNS = Math.ceil(12 * Number(process.env.STACKWRIGHT_RUNS ?? 1));

/**
 * Random messages of one type are the same message to our generated code and to another
 * implementation: what they encode we decode, what we decoded and what we built they decode.
 */
export function assertAgreement(
  module: GeneratedModule,
  desc: DescMessage,
  peer: Peer,
  random: RandomMessages,
): void {
  const type = generatedType(module, desc);
  fc.assert(
    fc.property(random.of(desc), (message) => {
      const plain = toPlain(message);
      const decoded = type.decode(peer.encode(message));
      expect(fromGenerated(decoded as Record<string, unknown>, desc, peer)).toEqual(plain);
      expect(peer.decode(desc, type.encode(decoded).finish())).toEqual(plain);
      const built = type.create(toGenerated(message, peer));
      expect(peer.decode(desc, type.encode(built).finish())).toEqual(plain);
    }),
    { numRuns: RUNS },
  );
}
