import { silentLogger } from "@stackwright/base/logger";
import { RfsStackSet } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it, vi } from "vitest";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import type { RfsParts } from "./rfs-parts.ts";
import { stackSetPlace } from "./stack-set-places.ts";
import { StackSetWorker } from "./stack-set-worker.ts";

const KIND = SERVER_KINDS.rfsStackSet;

/** Counts the reads of stack sets. */
function counting(storage: StorageBackend) {
  const reads: string[] = [];
  const counted = new Proxy(storage, {
    get: (target, member) => {
      const value: unknown = Reflect.get(target, member, target);
      if (typeof value !== "function") return value;
      return (...given: unknown[]): unknown => {
        if (["read", "list", "listPage", "listHeads"].includes(String(member))) {
          if (JSON.stringify(given).includes(`"${KIND.type.kind}"`)) reads.push(String(member));
        }
        return value.apply(target, given);
      };
    },
  });
  return { counted, reads };
}

it("reads the sets that have something to do, and no others", async () => {
  const { counted, reads } = counting(createMemoryStorage());
  const { parts, clock, storage, put } = createRunFixture(counted);
  const placeOf = (name: string) => stackSetPlace({ account: "acme", name });
  for (const name of ["one", "two"]) {
    await put(KIND, placeOf(name), RfsStackSet.fromPartial({ id: name }));
  }
  reads.length = 0;
  // What deploys is not reached: the operation is stored no more.
  const given = { ...parts, logger: silentLogger } as unknown as RfsParts;
  await using _worker = new StackSetWorker(given);
  await clock.advance(60_000);
  expect(reads).toEqual([]);

  const open = { id: "two", openOperations: ["gone"] };
  await put(KIND, placeOf("two"), RfsStackSet.fromPartial(open));
  const openOf = async (name: string) => {
    const found = await storage.read("strong", idOf(KIND, placeOf(name)));
    return decodeRecord(KIND, found).openOperations;
  };
  await vi.waitFor(async () => expect(await openOf("two")).toEqual([]));
  await clock.advance(20_000);
  reads.length = 0;
  await clock.advance(60_000);
  expect(reads).toEqual([]);
});
