import { silentLogger } from "@stackwright/base/logger";
import { IdempotencyRecord } from "@stackwright/proto/stackwright";
import { StorageError, tenancyOf } from "@stackwright/storage";
import { expect, it } from "vitest";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { sweepRecords } from "./clean-store.ts";

const tenancy = tenancyOf({ kind: "account", account: "acme" });

it.each([
  ["STORAGE_CORRUPT", 1],
  ["STORAGE_INCONSISTENT", 0],
] as const)(
  "after a step that fails with %s, %i others are done, and it is thrown",
  async (code, done) => {
    const { storage, clock, put } = createRunFixture();
    const record = IdempotencyRecord.create({ requestDigest: "d", createdAtMs: 1n });
    await put(SERVER_KINDS.idempotency, { tenancy, name: "a.1" }, record);
    const failure = new StorageError(code, "it fails");
    const fail = async (): Promise<never> => {
      throw failure;
    };
    const removed = new Map<string, number>();
    const options = {
      registry: { sweep: fail, parts: { records: { list: fail } } },
      store: { storage },
      clock: { ...clock, wallMs: () => 500 * 86_400_000 },
      logger: silentLogger,
      onRemoved: (what: string, count: number) => void removed.set(what, count),
    } as unknown as Parameters<typeof sweepRecords>[0];
    await expect(sweepRecords(options, new AbortController().signal)).rejects.toBe(failure);
    expect(removed.get("idempotency records") ?? 0).toBe(done);
    expect(removed.has("deleted stacks")).toBe(done === 1);
  },
);
