import { systemClock } from "@stackwright/base/clock";
import { User } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { AccessDirectory } from "../access/access-directory.ts";
import { memberOfAccount } from "../access/access-places.ts";
import { giveRole } from "../access/give-role.ts";
import { listBindings } from "../access/remove-bindings.ts";
import { projectDeletionPlace } from "../domain/kinds-of-projects.ts";
import { defaultProject, projectPlace } from "../domain/project-settings.ts";
import { stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { decayedStore } from "../testing/decayed-store.ts";
import { overBatches } from "../testing/over-batches.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { deleteProject } from "./delete-project.ts";

const PROJECT = { account: "acme", project: "web" };

/** A project with settings and a user, and what is done once in the moment before a batch that touches a kind. */
async function start() {
  let before: { readonly kind: string; readonly work: () => Promise<unknown> } | undefined;
  const inner = createMemoryStorage();
  const storage = overBatches(inner, async (operations, write) => {
    const kindOf = (one: (typeof operations)[number]) =>
      one.kind === "delete" ? one.id.type.kind : one.resource.id.type.kind;
    const found = before;
    if (found !== undefined && operations.some((one) => kindOf(one) === found.kind)) {
      before = undefined;
      await found.work();
    }
    return write();
  });
  const fixture = createRunFixture(storage);
  const access = new AccessDirectory({ storage, clock: systemClock });
  const parts = { ...fixture.parts, access, clock: systemClock, random: Math.random };
  const { put } = fixture;
  await put(SERVER_KINDS.project, projectPlace(PROJECT), defaultProject("web"));
  await put(SERVER_KINDS.user, memberOfAccount("acme", "ann"), User.create({ name: "ann" }));
  return {
    ...fixture,
    before: (kind: string, work: () => Promise<unknown>) => {
      before = { kind, work };
    },
    give: async (role: "viewer" | "admin" = "viewer") =>
      giveRole(parts, { ...PROJECT, kind: "user", subject: "ann" }, { role, actor: "bob" }),
    remove: async () => deleteProject(parts, PROJECT, () => undefined),
    roles: async () => listBindings(parts, "acme", ({ project }) => project === "web"),
  };
}

it("a role that is given before the project is deleted goes with it, and none is given meanwhile", async () => {
  const { before, give, remove, roles } = await start();
  await give();
  before("Project", async () => {
    await expect(give("admin")).resolves.toMatchObject({ role: "admin" });
  });
  await remove();
  expect(await roles()).toEqual([]);
});

it("a role that is new in a project which is being deleted is refused", async () => {
  const { before, give, remove, roles } = await start();
  let refused: unknown;
  before("Project", async () => {
    refused = await give().catch((error: unknown) => error);
  });
  await remove();
  expect(refused).toMatchObject({ code: "conflict" });
  expect(await roles()).toEqual([]);
});

it("a role of a project that is deleted in the moment of the write is not given", async () => {
  const { before, give, remove, roles } = await start();
  before("RoleBinding", remove);
  await expect(give()).rejects.toMatchObject({ code: "not_found" });
  expect(await roles()).toEqual([]);
});

it("the same for a role in place of another one, and for a project with stacks alone", async () => {
  const { before, give, remove, roles, stack, storage } = await start();
  await give();
  before("RoleBinding", remove);
  await expect(give("admin")).rejects.toMatchObject({ code: "not_found" });
  expect(await roles()).toEqual([]);
  const made = await stack("one");
  const named = { ...stackPlace(made), name: "one" };
  const { id, version } = await storage.read(
    "strong",
    idOf({ type: { group: "stackwright", groupVersion: "v1", kind: "Stack" } }, named),
  );
  before("RoleBinding", async () => {
    await give();
    await storage.deleteCAS(id, version);
    await remove();
  });
  await expect(give()).rejects.toMatchObject({ code: "not_found" });
  expect(await roles()).toEqual([]);
});

it("roles are given in a project before it has anything", async () => {
  const { give, remove, roles } = await start();
  await remove();
  await give();
  expect(await roles()).toHaveLength(1);
  await remove();
  expect(await roles()).toEqual([]);
});

it("damaged settings keep a project from its deletion, with an error that names the record and what to do", async () => {
  for (const how of ["decayed", "of another kind"]) {
    const decayed = new Set<string>();
    const { parts, put, damage } = createRunFixture(
      decayedStore(createMemoryStorage(), ({ type, name }) => decayed.has(`${type.kind} ${name}`)),
    );
    await put(SERVER_KINDS.project, projectPlace(PROJECT), defaultProject("web"));
    if (how === "decayed") decayed.add("Project web");
    else await damage(SERVER_KINDS.project, projectPlace(PROJECT));
    const removal = deleteProject(parts, PROJECT, () => undefined);
    await expect(removal).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringMatching(
        /^the settings of the project "web" .*record Project "web" of the account acme.*stackwright admin damaged list/,
      ),
    });
    // Nothing is left that would keep others from making something in it.
    const deletion = idOf(SERVER_KINDS.projectDeletion, projectDeletionPlace(PROJECT));
    expect(await readStored(parts.storage, "strong", deletion)).toBeUndefined();
  }
});
