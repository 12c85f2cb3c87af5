import { randomBytes } from "node:crypto";
import { systemClock } from "@stackwright/base/clock";
import { createStoredKeys } from "@stackwright/core";
import { DriftHook, VariableSet } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { projectDeletionPlace } from "../domain/kinds-of-projects.ts";
import { defaultProject, projectPlace } from "../domain/project-settings.ts";
import { projectTenancy } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { projectCipher, sealProjectSecret } from "../queue/project-secrets.ts";
import { transact } from "../queue/transaction.ts";
import { overBatches } from "../testing/over-batches.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { deleteProject } from "./delete-project.ts";

const PROJECT = { account: "acme", project: "web" };
const HOOKS = { ...PROJECT, of: "drift hook" } as const;
const SETS = { ...PROJECT, of: "set variable" } as const;
const TENANCY = projectTenancy(PROJECT);

/** A project with settings and a set, and a deletion of it in the moment before the first batch that touches a kind. */
async function start(raced: string) {
  const inner = createMemoryStorage();
  let isRaced = false;
  const storage = overBatches(inner, async (operations, write) => {
    const isIt = operations.some(
      (one) => one.kind === "write" && one.resource.id.type.kind === raced,
    );
    if (!isRaced && isIt) {
      isRaced = true;
      await deleteProject({ ...fixture.parts, storage: inner }, PROJECT, () => undefined);
    }
    return write();
  });
  const fixture = createRunFixture(inner);
  const parts = { ...fixture.parts, storage, clock: systemClock };
  const keys = createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } });
  const { put } = fixture;
  await put(SERVER_KINDS.project, projectPlace(PROJECT), defaultProject("web"));
  const set = { tenancy: TENANCY, name: "common" };
  await put(SERVER_KINDS.variableSet, set, VariableSet.create({ name: "common" }));
  return {
    put,
    keys,
    makeHook: async (secret: string) =>
      transact(parts, async (tx) => {
        const sealed = await sealProjectSecret(tx, keys, { ...HOOKS, path: ["ID"] }, secret);
        const hook = DriftHook.create({ id: "ID", name: "one", secret: sealed });
        tx.create(SERVER_KINDS.driftHook, { tenancy: TENANCY, name: "one" }, hook);
        return sealed;
      }),
    changeSet: async () =>
      transact(parts, async (tx) => {
        const row = await tx.get(SERVER_KINDS.variableSet, set);
        await sealProjectSecret(tx, keys, { ...SETS, path: ["common", "env", "A"] }, "secret");
        tx.update(row, { description: "changed" });
      }),
    keysLeft: async () => {
      const type = { group: "stackwright", groupVersion: "v1", kind: "StackKeys" };
      return (await inner.list("strong", type, TENANCY, "")).map(({ id }) => id.name);
    },
  };
}

it("what is made while its project is deleted has its keys", async () => {
  const { keys, makeHook, keysLeft } = await start("DriftHook");
  await keys.ensure({ ...PROJECT, stack: "drift-hooks" });
  const sealed = await makeHook("secret");
  const open = await projectCipher(keys, HOOKS);
  expect(open(["ID"], sealed).toString()).toBe("secret");
  expect(() => open(["other"], sealed)).toThrow();
  expect(await keysLeft()).toEqual(["drift-hooks"]);
});

it("what is refused, as its project is being deleted, leaves no keys", async () => {
  const { put, makeHook, keysLeft } = await start("none");
  await put(SERVER_KINDS.projectDeletion, projectDeletionPlace(PROJECT), {
    atMs: 0n,
    decided: true,
  });
  await expect(makeHook("secret")).rejects.toMatchObject({ code: "conflict" });
  expect(await keysLeft()).toEqual([]);
});

it("a change of what goes with its project leaves no keys", async () => {
  const { changeSet, keysLeft } = await start("VariableSet");
  await expect(changeSet()).rejects.toMatchObject({ code: "not_found" });
  expect(await keysLeft()).toEqual([]);
});

it("to read makes no keys, where they are gone", async () => {
  const { keys, keysLeft } = await start("none");
  await expect(projectCipher(keys, HOOKS)).rejects.toMatchObject({
    code: "ENGINE_KEY_UNAVAILABLE",
  });
  expect(await keysLeft()).toEqual([]);
});
