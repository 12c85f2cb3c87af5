import { UpstreamSchema } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { roomFor } from "./schema-room.ts";

const DAY_MS = 24 * 3_600_000;
const NOW_MS = 1_000 * DAY_MS;
const LIMITS = { schemas: 4, versions: 2, blobBytes: 100 };

/** Schemas of some providers, named with spaces between, the first of them the oldest. */
function schemasOf(providers: string, ageDays: number) {
  return providers.split(" ").map((provider, at) =>
    UpstreamSchema.fromPartial({
      provider,
      version: `1.0.${at}`,
      blobBytes: 10n,
      handedInAtMs: BigInt(NOW_MS - ageDays * DAY_MS + at),
    }),
  );
}

const room = (schemas: UpstreamSchema[], provider: string, blobBytes = 10) =>
  roomFor(schemas, { provider, blobBytes }, NOW_MS, LIMITS)?.map(({ version }) => version);

it("an account has a bounded number of schemas, of bytes, and of versions of one provider", () => {
  expect(room(schemasOf("a b", 0), "a")).toEqual(["1.0.0", "1.0.1"]);
  expect(room(schemasOf("a a b", 0), "a")).toBeUndefined();
  expect(room(schemasOf("a a b", 0), "b")).toHaveLength(3);
  expect(room(schemasOf("a b c d", 0), "e")).toBeUndefined();
  expect(room(schemasOf("a", 0), "b", 90)).toHaveLength(1);
  expect(room(schemasOf("a", 0), "b", 91)).toBeUndefined();
});

it("what was handed in long ago makes room, the oldest of it first, and no more of it than is needed", () => {
  expect(room(schemasOf("a b c a", 89), "a")).toBeUndefined();
  expect(room(schemasOf("b a a", 91), "a")).toEqual(["1.0.0", "1.0.2"]);
  expect(room(schemasOf("a b c d", 91), "e")).toEqual(["1.0.1", "1.0.2", "1.0.3"]);
  expect(room(schemasOf("a b c", 91), "d", 85)).toEqual(["1.0.2"]);
  expect(room(schemasOf("a b c", 91), "d", 101)).toBeUndefined();
});
