import type { Logger } from "@stackwright/base/logger";
import { RoleBinding, Team, User } from "@stackwright/proto/stackwright";
import { type Principal, principalIn } from "@stackwright/registry";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import type { Place } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { decayedStore } from "../testing/decayed-store.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { AccessDirectory } from "./access-directory.ts";
import { type BindingPlace, bindingPlace, memberOfAccount } from "./access-places.ts";

const ANN = { account: "acme", kind: "user", subject: "ann" } as const;
const BOB = { account: "acme", kind: "user", subject: "bob" } as const;
const OPS = { account: "acme", kind: "team", subject: "ops" } as const;

/**
 * Ann and Bob, with Ann in a team, and a store of which records can be damaged in both ways: their content has decayed, or is of something
 * else.
 */
async function start() {
  const decayed = new Set<string>();
  const storage = decayedStore(createMemoryStorage(), ({ name }) => decayed.has(name));
  const fixture = createRunFixture(storage);
  const { put, clock } = fixture;
  const lines: unknown[] = [];
  const logger = { warn: (fields: unknown) => lines.push(fields) } as unknown as Logger;
  const access = new AccessDirectory({ storage, clock, logger });
  for (const name of ["ann", "bob"]) {
    await put(SERVER_KINDS.user, memberOfAccount("acme", name), User.create({ name }));
  }
  const team = Team.create({ name: "ops", members: ["ann"] });
  await put(SERVER_KINDS.team, memberOfAccount("acme", "ops"), team);
  return {
    ...fixture,
    access,
    lines,
    give: async (at: BindingPlace, role: string) => {
      const { kind: subjectKind, subject, project = "" } = at;
      const binding = RoleBinding.create({ subjectKind, subject, role, project });
      await put(SERVER_KINDS.roleBinding, bindingPlace(at), binding);
    },
    decay: ({ name }: Place) => decayed.add(name),
    rightsOf: async (name: string): Promise<Principal | undefined> => {
      access.forget("acme");
      return access.principalOf("acme", name, "token");
    },
  };
}

it.each(["decayed", "of another kind"])(
  "a role whose record is %s gives nothing, and all others are given",
  async (how) => {
    const { give, damage, decay, rightsOf, lines } = await start();
    await give(ANN, "admin");
    await give(BOB, "operator");
    const place = bindingPlace(ANN);
    if (how === "decayed") decay(place);
    else await damage(SERVER_KINDS.roleBinding, place);
    for (let at = 0; at < 3; at += 1) {
      expect((await rightsOf("ann"))?.roles).toEqual([]);
      expect((await rightsOf("bob"))?.roles).toEqual(["deployer"]);
    }
    const line = expect.objectContaining({ kind: "RoleBinding", name: place.name });
    expect(lines).toEqual([line]);
  },
);

it("a user whose record is damaged does not sign in, and all others do", async () => {
  const { give, damage, rightsOf, put } = await start();
  await give(ANN, "admin");
  await give(BOB, "operator");
  await damage(SERVER_KINDS.user, memberOfAccount("acme", "ann"));
  expect(await rightsOf("ann")).toBeUndefined();
  expect((await rightsOf("bob"))?.roles).toEqual(["deployer"]);
  await put(SERVER_KINDS.user, memberOfAccount("acme", "ann"), User.create({ name: "ann" }));
  expect((await rightsOf("ann"))?.roles).toEqual(["admin"]);
});

it("a team whose record is damaged gives nothing to its members", async () => {
  const { give, damage, rightsOf } = await start();
  await give(OPS, "admin");
  await give(BOB, "operator");
  expect((await rightsOf("ann"))?.roles).toEqual(["admin"]);
  await damage(SERVER_KINDS.team, memberOfAccount("acme", "ops"));
  expect((await rightsOf("ann"))?.roles).toEqual([]);
  expect((await rightsOf("bob"))?.roles).toEqual(["deployer"]);
});

it.each([
  ["lowest role in a project", { ...ANN, project: "web.user.x" }],
  ["role in the whole account", ANN],
  ["role by a team", { ...OPS, project: "shop" }],
] as const)("damage of its %s raises no user", async (_, lowest) => {
  const { give, damage, rightsOf } = await start();
  for (const subject of ["ann", "bob"]) {
    await give({ ...ANN, subject, project: "net" }, "operator");
  }
  await give(lowest, "viewer");
  expect((await rightsOf("ann"))?.roles).toEqual(["reader"]);
  await damage(SERVER_KINDS.roleBinding, bindingPlace(lowest));
  const ann = await rightsOf("ann");
  expect(ann?.roles).toEqual([]);
  expect(ann && principalIn(ann, "net")?.roles).toEqual(["deployer"]);
  // Another user with roles in projects has nothing to do with it.
  expect((await rightsOf("bob"))?.roles).toEqual(["deployer"]);
});

it("damage of a team with a lower role raises none of those who may be in it", async () => {
  const { give, damage, rightsOf } = await start();
  await give({ ...ANN, project: "net" }, "operator");
  await give({ ...OPS, project: "shop" }, "viewer");
  expect((await rightsOf("ann"))?.roles).toEqual(["reader"]);
  await damage(SERVER_KINDS.team, memberOfAccount("acme", "ops"));
  expect((await rightsOf("ann"))?.roles).toEqual([]);
});

it("a role that is damaged since it was read counts no more in a change by an administrator", async () => {
  const { give, decay, access } = await start();
  await give(ANN, "admin");
  expect((await access.principalOf("acme", "ann", "x"))?.roles).toEqual(["admin"]);
  decay(bindingPlace(ANN));
  await access.confirm("acme", "ann");
  expect((await access.principalOf("acme", "ann", "x"))?.roles).toEqual([]);
});
