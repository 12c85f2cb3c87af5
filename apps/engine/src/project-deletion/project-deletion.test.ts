import { randomBytes } from "node:crypto";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Logger } from "@stackwright/base/logger";
import { createStoredKeys } from "@stackwright/core";
import { Project, RoleBinding } from "@stackwright/proto/stackwright";
import type { DamagedResource, StorageBackend, Tenancy } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { createSqliteStorage } from "@stackwright/storage/sqlite";
import { expect, it } from "vitest";
import { bindingPlace } from "../access/access-places.ts";
import {
  isOfProject,
  KINDS_OF_PROJECTS,
  type ProjectPlace,
  projectDeletionPlace,
} from "../domain/kinds-of-projects.ts";
import { defaultProject, projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import { projectTenancy } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { addStack } from "../queue/add-stack.ts";
import { countPlace } from "../queue/require-room.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { stoppingAt } from "../testing/failing-writes.ts";
import { overBatches } from "../testing/over-batches.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { WorkspaceDirectory } from "../workspace/workspace-directory.ts";
import { deleteProject } from "./delete-project.ts";
import { finishProjectDeletion, finishProjectDeletions } from "./project-deletion.ts";

const WEB = { account: "acme", project: "web" };
const NET = { account: "acme", project: "net" };
/** It begins like the other one. */
const WEBSHOP = { account: "acme", project: "webshop" };

/** Projects with something of each kind, and a region that is called as one of them. */
async function start(inner: StorageBackend = createMemoryStorage()) {
  const fixture = createRunFixture(inner);
  const { parts, put } = fixture;
  const write = async (kind: string, tenancy: Tenancy, name: string): Promise<void> => {
    await inner.writeCAS({
      id: {
        uid: parts.token(),
        name,
        type: { group: "stackwright", groupVersion: "v1", kind },
        tenancy,
      },
      version: "",
      generation: parts.token(),
      metadata: {},
      status: {},
      data: {
        typeUrl: `type.googleapis.com/stackwright.v1.${kind}`,
        value: new Uint8Array(),
      },
    });
  };
  const keys = createStoredKeys({ storage: inner, current: { id: "k", bytes: randomBytes(32) } });
  for (const place of [WEB, NET, WEBSHOP]) {
    const tenancy = projectTenancy(place);
    for (const { kind } of KINDS_OF_PROJECTS) {
      await write(kind, tenancy, "project");
      if (kind !== "Freeze" && kind !== "RunHooks") await write(kind, tenancy, "other.one");
    }
    for (const stack of ["vcs-connections", "variable-sets", "notifications"]) {
      await keys.ensure({ ...place, stack });
    }
    await write("StackLineage", tenancy, "ab".repeat(32));
    await write("PrivateProvider", tenancy, "demo");
    const count = countPlace(SERVER_KINDS.variableSet.type, tenancy, "");
    await write("CreationCount", count.tenancy, count.name);
    await put(SERVER_KINDS.project, projectPlace(place), {
      ...Project.create(defaultProject(place.project)),
      outputsSharedWith: ["web", "other"],
    });
    const role = { subjectKind: "user", subject: "ann", project: place.project, role: "viewer" };
    const at = bindingPlace({ ...place, kind: "user", subject: "ann" });
    await put(SERVER_KINDS.roleBinding, at, RoleBinding.fromPartial(role));
  }
  const all = async (place: ProjectPlace): Promise<readonly string[]> => {
    const found: string[] = [];
    await using snapshot = await inner.snapshot();
    for await (const { id } of snapshot) {
      const { namespace } = id.tenancy;
      const isNamed = id.name === place.project || id.name.split(".").includes(place.project);
      const isRole = id.name.startsWith(`project-${place.project}.`);
      if (namespace === place.project || (namespace === "~account" && (isNamed || isRole))) {
        found.push(`${id.type.kind} ${id.name}`);
      }
    }
    return found.toSorted();
  };
  const settingsOf = async (place: ProjectPlace) =>
    decodeRecord(
      SERVER_KINDS.project,
      await inner.read("strong", idOf(SERVER_KINDS.project, projectPlace(place))),
    );
  return {
    ...fixture,
    write,
    all,
    settingsOf,
    remove: async (storage: StorageBackend = inner) =>
      deleteProject({ ...parts, storage }, WEB, () => undefined),
    sweep: async () => finishProjectDeletions(parts),
  };
}

/** What is left of a project that is deleted: what has its name by chance. */
const NOTHING = ["PrivateProvider demo"];

it("a deleted project leaves nothing to one of its name, and takes nothing of others", async () => {
  const { remove, all, settingsOf } = await start();
  const others = [await all(NET), await all(WEBSHOP)];
  expect((await all(WEB)).length).toBeGreaterThan(25);
  expect((await settingsOf(NET)).outputsSharedWith).toEqual(["web", "other"]);
  await remove();
  expect(await all(WEB)).toEqual(NOTHING);
  expect([await all(NET), await all(WEBSHOP)]).toEqual(others);
  expect((await settingsOf(NET)).outputsSharedWith).toEqual(["other"]);
});

it("a project of variable sets or hooks alone can be deleted, and one of which there is nothing is not found", async () => {
  const { remove, all, write } = await start();
  await remove();
  await expect(remove()).rejects.toMatchObject({ code: "not_found" });
  await write("VariableSet", projectTenancy(WEB), "common");
  await remove();
  expect(await all(WEB)).toEqual(NOTHING);
});

it.each(["before", "after"] as const)(
  "a deletion that stops %s any of its writes is finished by another server once it is decided, and else taken back",
  async (when) => {
    let finished = 0;
    for (let at = 1; ; at += 1) {
      const { remove, all, sweep, clock, storage } = await start();
      const whole = await all(WEB);
      const answer = await remove(stoppingAt(storage, at, when)).then(
        () => "done",
        () => "failed",
      );
      const left = await all(WEB);
      if (left.length === NOTHING.length) {
        finished = at;
        break;
      }
      // Without the decision there is no entry of the audit trail either.
      const isDecided = !left.includes("Project web");
      if (!isDecided) expect(left.filter((one) => one !== "ProjectDeletion web")).toEqual(whole);
      if (answer === "done") expect(isDecided).toBe(true);
      await clock.advance(60_000);
      expect(await sweep()).toBe(isDecided ? 1 : 0);
      expect(await all(WEB)).toEqual(isDecided ? NOTHING : whole);
    }
    expect(finished).toBeGreaterThan(25);
  },
);

it("while it is under way, nothing is made in the project, and again after it", async () => {
  const { remove, all, storage, parts, put } = await start();
  await remove(stoppingAt(storage, 6, "before"));
  expect(await all(WEB)).toContain("ProjectDeletion web");
  const refused = { code: "conflict", message: expect.stringContaining("is being deleted") };
  const make = {
    stack: async () => transact(parts, async (tx) => addStack(tx, WEB, "one")),
    workspace: async () => new WorkspaceDirectory(parts).create("acme", { ...WEB, name: "one" }),
    settings: async () =>
      transact(parts, async (tx) =>
        tx.create(SERVER_KINDS.project, projectPlace(WEB), defaultProject("web")),
      ),
    set: async () =>
      transact(parts, async (tx) =>
        tx.create(
          SERVER_KINDS.variableSet,
          { tenancy: projectTenancy(WEB), name: "late" },
          SERVER_KINDS.variableSet.codec.decode(new Uint8Array()),
        ),
      ),
  };
  for (const one of Object.values(make)) await expect(one()).rejects.toMatchObject(refused);
  // Another project has nothing to do with it.
  await transact(parts, async (tx) => addStack(tx, NET, "one"));
  await remove();
  for (const one of Object.values(make)) await one().catch(() => undefined);
  expect(await all(WEB)).toEqual(
    expect.arrayContaining(["Project web", "Stack one", "VariableSet late"]),
  );
  await put(SERVER_KINDS.projectDeletion, projectDeletionPlace(NET), { atMs: 0n, decided: true });
  await expect(transact(parts, async (tx) => addStack(tx, NET, "two"))).rejects.toMatchObject(
    refused,
  );
});

it("a stack that is made in the moment in which a project is deleted is there, and the project stays; or it is refused", async () => {
  for (const kind of ["ProjectDeletion", "Project"]) {
    const { remove, all, storage, parts } = await start();
    const whole = await all(WEB);
    let made: unknown;
    let isDone = false;
    const racing = overBatches(storage, async (operations, write) => {
      const touches = operations.some(
        (one) => (one.kind === "delete" ? one.id : one.resource.id).type.kind === kind,
      );
      if (touches && !isDone) {
        isDone = true;
        made = await transact(parts, async (tx) => addStack(tx, WEB, "one")).catch(
          (error: unknown) => error,
        );
      }
      return write();
    });
    if (kind === "ProjectDeletion") {
      await expect(remove(racing)).rejects.toMatchObject({ code: "not_empty" });
      expect(await all(WEB)).toEqual([...whole, "Stack one"].toSorted());
    } else {
      await remove(racing);
      expect(made).toMatchObject({ code: "conflict" });
      expect(await all(WEB)).toEqual(NOTHING);
    }
  }
});

it("what a slow server would still remove is kept once another one has finished, and the project was made again", async () => {
  const { remove, all, parts, storage, write } = await start();
  await expect(remove(stoppingAt(storage, 2, "after"))).rejects.toThrow("it stopped");
  let isAgain = false;
  const slow = overBatches(storage, async (operations, writeBatch) => {
    if (!isAgain && operations.some((one) => one.kind === "delete")) {
      isAgain = true;
      await remove();
      await transact(parts, async (tx) => {
        tx.create(SERVER_KINDS.project, projectPlace(WEB), defaultProject("web"));
      });
      await write("VariableSet", projectTenancy(WEB), "fresh");
    }
    return writeBatch();
  });
  await finishProjectDeletion({ ...parts, storage: slow }, WEB);
  expect(isAgain).toBe(true);
  expect(await all(WEB)).toEqual([...NOTHING, "Project web", "VariableSet fresh"]);
});

it("a deletion that its request has not decided is left to it for a minute, and then taken back", async () => {
  const { sweep, all, clock, put } = await start();
  const whole = await all(WEB);
  const atMs = BigInt(clock.wallMs());
  await put(SERVER_KINDS.projectDeletion, projectDeletionPlace(WEB), { atMs, decided: false });
  expect(await sweep()).toBe(0);
  expect(await all(WEB)).toContain("ProjectDeletion web");
  await clock.advance(60_000);
  expect(await sweep()).toBe(0);
  expect(await all(WEB)).toEqual(whole);
});

it("a request whose deletion was taken back is answered with a conflict, also for a project without settings", async () => {
  const { parts, storage, write, remove, sweep, all, clock } = await start();
  await remove();
  await write("VariableSet", projectTenancy(WEB), "common");
  let isTakenBack = false;
  const slow = overBatches(storage, async (operations, writeBatch) => {
    const written = await writeBatch();
    const isBegun = operations.some(
      (one) => one.kind === "write" && one.resource.id.type.kind === "ProjectDeletion",
    );
    if (!isBegun || isTakenBack) return written;
    isTakenBack = true;
    await clock.advance(60_000);
    expect(await sweep()).toBe(0);
    return written;
  });
  await expect(
    deleteProject({ ...parts, storage: slow }, WEB, () => undefined),
  ).rejects.toMatchObject({ code: "conflict" });
  expect(await all(WEB)).toEqual([...NOTHING, "VariableSet common"]);
  await remove();
  expect(await all(WEB)).toEqual(NOTHING);
});

it("a damaged record keeps no other deletion from its end", async () => {
  const { sweep, all, damage, put } = await start();
  await damage(SERVER_KINDS.projectDeletion, projectDeletionPlace({ ...WEB, project: "a" }));
  await put(SERVER_KINDS.projectDeletion, projectDeletionPlace(WEB), { atMs: 0n, decided: true });
  expect(await sweep()).toBe(1);
  // It was decided without its settings being removed, which no server does.
  expect(await all(WEB)).toEqual([...NOTHING, "Project web"]);
});

it("damaged settings and roles of any project keep no deletion from its end", async () => {
  const { remove, all, settingsOf, damage } = await start();
  const ofAnn = { account: "acme", kind: "user", subject: "ann" } as const;
  await damage(SERVER_KINDS.project, projectPlace(WEBSHOP));
  await damage(SERVER_KINDS.roleBinding, bindingPlace({ ...ofAnn, project: "webshop" }));
  const others = [await all(NET), await all(WEBSHOP)];
  await remove();
  expect(await all(WEB)).toEqual(NOTHING);
  expect([await all(NET), await all(WEBSHOP)]).toEqual(others);
  expect((await settingsOf(NET)).outputsSharedWith).toEqual(["other"]);
});

it("records whose content has decayed keep no deletion from its end, and go with their own project", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "project-deletion-"));
  const lines: unknown[] = [];
  const logger = { warn: (fields: unknown) => lines.push(fields) } as unknown as Logger;
  await using storage = await createSqliteStorage({ directory: scratch.path });
  const { parts, put } = await start(storage);
  await put(SERVER_KINDS.projectDeletion, projectDeletionPlace(WEB), { atMs: 0n, decided: true });
  const ofAnn = { account: "acme", kind: "user", subject: "ann" } as const;
  const role = bindingPlace({ ...ofAnn, project: "webshop" });
  const damaged = [
    idOf(SERVER_KINDS.project, projectPlace(WEBSHOP)),
    idOf(SERVER_KINDS.roleBinding, role),
    idOf(SERVER_KINDS.variableSet, { tenancy: projectTenancy(WEB), name: "other.one" }),
  ];
  {
    using database = new DatabaseSync(join(scratch.path, "store.db"));
    for (const id of damaged) {
      const { version } = await storage.read("strong", id);
      database
        .prepare("UPDATE resource SET checksum = checksum + 1 WHERE version = ?")
        .run(version);
    }
  }
  expect(await finishProjectDeletions({ ...parts, logger })).toBe(1);
  expect(lines).toContainEqual(expect.objectContaining({ kind: "Project", name: "webshop" }));
  expect(lines).toContainEqual(expect.objectContaining({ kind: "RoleBinding", name: role.name }));
  // Of others nothing is taken: to repair them is up to an operator.
  const others: string[] = [];
  for (const { type, tenancy, name } of damaged) {
    const onDamaged = ({ id }: DamagedResource) => others.push(id.name);
    await storage.list("strong", type, tenancy, name, { onDamaged });
  }
  expect(others).toEqual(["webshop", role.name]);
  for (const kind of KINDS_OF_PROJECTS) {
    const left = await storage.list("strong", kind, projectTenancy(WEB), "");
    expect(left.filter(({ id }) => isOfProject(id))).toEqual([]);
  }
});
