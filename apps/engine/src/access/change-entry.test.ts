import { User } from "@stackwright/proto/stackwright";
import { type BatchOperation, StorageError } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { transact } from "../queue/transaction.ts";
import { overBatches } from "../testing/over-batches.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { memberOfAccount } from "./access-places.ts";
import { ChangeEntry } from "./change-entry.ts";

function start(answers: ("refused" | "done")[] = []) {
  const batches: (readonly BatchOperation[])[] = [];
  const storage = overBatches(createMemoryStorage(), async (operations, write) => {
    batches.push(operations);
    if (answers.shift() === "refused") {
      throw new StorageError("STORAGE_CAS_FAILURE");
    }
    return write();
  });
  const fixture = createRunFixture(storage);
  // Pauses between attempts are over at once.
  const after = (_ms: number, task: () => void): Disposable => {
    queueMicrotask(task);
    return { [Symbol.dispose]: () => undefined };
  };
  const parts = { ...fixture.parts, clock: { ...fixture.clock, after } };
  const companion = new ChangeEntry(() => ({
    kind: "write",
    resource: {
      id: {
        name: "entry",
        uid: "",
        type: SERVER_KINDS.team.type,
        tenancy: memberOfAccount("acme", "entry").tenancy,
      },
      version: "",
      generation: "",
      metadata: {},
      status: {},
    },
  }));
  const add = async (name: string) =>
    transact({ ...parts, companion }, async (tx) => {
      tx.create(SERVER_KINDS.user, memberOfAccount("acme", name), User.create({ name }));
    });
  const names = () =>
    batches.map((operations) =>
      operations.map((one) => (one.kind === "write" ? one.resource.id.name : one.id.name)),
    );
  return { parts, companion, add, names };
}

it("is in the batch of the first change, and in no later one", async () => {
  const { add, names, companion } = start();
  await add("ann");
  expect(companion.isWritten).toBe(true);
  await add("ben");
  expect(names()).toEqual([["ann", "entry"], ["ben"]]);
});

it("is in the batch that is tried again after another change came between", async () => {
  const { add, names } = start(["refused"]);
  await add("ann");
  expect(names()).toEqual([
    ["ann", "entry"],
    ["ann", "entry"],
  ]);
});

it("is not written where nothing changes", async () => {
  const { parts, companion, names } = start();
  await transact({ ...parts, companion }, async () => undefined);
  expect(companion.isWritten).toBe(false);
  expect(names()).toEqual([]);
});
