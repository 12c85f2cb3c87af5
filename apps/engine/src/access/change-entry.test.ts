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

function start(answers: ("refused" | "done" | "lost")[] = []) {
  const batches: (readonly BatchOperation[])[] = [];
  let meanwhile = async (): Promise<void> => undefined;
  const storage = overBatches(createMemoryStorage(), async (operations, write) => {
    batches.push(operations);
    const answer = answers.shift();
    if (answer === "refused") throw new StorageError("STORAGE_CAS_FAILURE");
    const written = await write();
    if (answer !== "lost") return written;
    await meanwhile();
    throw new StorageError("STORAGE_INCONSISTENT", "lost", { details: { outcome: "unknown" } });
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
  const ann = memberOfAccount("acme", "ann");
  const rename = async (
    displayName: string,
    given: Partial<typeof parts & { companion: ChangeEntry }>,
  ) =>
    transact({ ...parts, ...given }, async (tx) => {
      const row = await tx.findOrNew(SERVER_KINDS.user, ann, () => User.create({ name: "ann" }));
      tx.update(row, { displayName });
    });
  const nameOfAnn = async () =>
    transact(parts, async (tx) => (await tx.get(SERVER_KINDS.user, ann)).message.displayName);
  const onLost = (task: () => Promise<void>): void => {
    meanwhile = task;
  };
  const names = () =>
    batches.map((operations) =>
      operations.map((one) => (one.kind === "write" ? one.resource.id.name : one.id.name)),
    );
  return { parts, companion, add, rename, nameOfAnn, onLost, names };
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

it("tells that a change was done whose answer was lost, also where another one replaced it", async () => {
  const { rename, nameOfAnn, onLost, companion } = start(["lost"]);
  onLost(async () => rename("by another", {}));
  await rename("by the first", { companion });
  expect(companion.isWritten).toBe(true);
  expect(await nameOfAnn()).toBe("by another");
});
