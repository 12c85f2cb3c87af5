import { RoleBinding, Team, User } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { AccessDirectory } from "./access-directory.ts";
import { accountTenancy, bindingPlace, memberOfAccount } from "./access-places.ts";
import { LoginSessions } from "./login-sessions.ts";

const HOUR_MS = 3_600_000;

/** A store that counts what is read of it, with an administrator by a team. */
async function start() {
  const calls = { list: 0, read: 0 };
  const storage = counting(createMemoryStorage(), calls);
  const fixture = createRunFixture(storage);
  const { parts, clock, put } = fixture;
  const give = async (kind: "user" | "team", subject: string, role: string, project = "") =>
    put(
      SERVER_KINDS.roleBinding,
      bindingPlace({ account: "acme", kind, subject, ...(project !== "" && { project }) }),
      RoleBinding.create({ subjectKind: kind, subject, role, project }),
    );
  for (let at = 0; at < 30; at += 1) {
    const name = `u${at}`;
    await put(SERVER_KINDS.user, memberOfAccount("acme", name), User.create({ name }));
  }
  const setTeam = async (members: string[]) =>
    put(SERVER_KINDS.team, memberOfAccount("acme", "ops"), Team.create({ name: "ops", members }));
  await setTeam(["u1"]);
  await give("team", "ops", "admin");
  await give("user", "u1", "viewer", "web");
  const access = new AccessDirectory({ storage, clock });
  const pageKey = async () => Buffer.alloc(32);
  return {
    ...fixture,
    access,
    calls,
    give,
    setTeam,
    sessions: () => new LoginSessions({ ...parts, access, pageKey }),
    rolesNow: async () => {
      await access.confirm("acme", "u1");
      return (await access.principalOf("acme", "u1", "x"))?.roles;
    },
  };
}

it("a change of an administrator reads what gives it its rights, and not all users", async () => {
  const { access, rolesNow, calls } = await start();
  await access.facts("acme");
  const { list } = calls;
  for (let at = 0; at < 5; at += 1) expect(await rolesNow()).toEqual(["admin"]);
  expect(calls.list).toBe(list);
});

it.each<[string, (at: Awaited<ReturnType<typeof start>>) => Promise<unknown>]>([
  ["the role of the team", async ({ give }) => give("team", "ops", "viewer")],
  ["the membership", async ({ setTeam }) => setTeam([])],
])("a change by another server of %s counts for the next change at once", async (_, change) => {
  const at = await start();
  expect(await at.rolesNow()).toEqual(["admin"]);
  await change(at);
  expect(await at.rolesNow()).not.toContain("admin");
});

it("a user who is disabled elsewhere changes nothing more", async () => {
  const { rolesNow, put } = await start();
  expect(await rolesNow()).toEqual(["admin"]);
  const disabled = User.create({ name: "u1", disabled: true });
  await put(SERVER_KINDS.user, memberOfAccount("acme", "u1"), disabled);
  expect(await rolesNow()).toBeUndefined();
});

it("a session is over 12 hours after the last request, however long a page listens", async () => {
  const { sessions, clock } = await start();
  const here = sessions();
  const secret = await here.begin("acme", "u1", { remoteAddress: "", browser: "" });
  for (let hour = 0; hour < 12; hour += 1) {
    expect(await here.principalOf(secret, false)).toBeDefined();
    await clock.advance(HOUR_MS);
  }
  expect(await here.principalOf(secret, false)).toBeUndefined();
  const used = await here.begin("acme", "u1", { remoteAddress: "", browser: "" });
  for (let hour = 0; hour < 24; hour += 1) {
    expect(await here.principalOf(used)).toBeDefined();
    await clock.advance(HOUR_MS);
  }
});

it("a session is over seven days after its beginning, however much it is used, and is removed by the next one", async () => {
  const { sessions, clock, storage } = await start();
  const here = sessions();
  const begin = async () => here.begin("acme", "u1", { remoteAddress: "", browser: "" });
  const first = await begin();
  for (let hour = 0; hour < 7 * 24; hour += 1) {
    expect(await here.principalOf(first)).toBeDefined();
    await clock.advance(HOUR_MS);
  }
  const other = await here.begin("acme", "u2", { remoteAddress: "", browser: "" });
  expect(await here.principalOf(first)).toBeUndefined();
  expect((await here.principalOf(other))?.user).toBe("u2");
  expect((await here.list("acme")).map(({ user }) => user)).toEqual(["u2"]);
  const { type } = SERVER_KINDS.loginSession;
  expect(await storage.list("strong", type, accountTenancy("acme"), "")).toHaveLength(1);
});

it("many streams of a session read it once a second, and its end counts at once here, soon elsewhere", async () => {
  const { access, sessions, clock, calls } = await start();
  const [here, there] = [sessions(), sessions()];
  const secret = await here.begin("acme", "u1", { remoteAddress: "", browser: "" });
  await access.facts("acme");
  const { read } = calls;
  for (let at = 0; at < 200; at += 1) await here.principalOf(secret, false);
  expect(calls.read - read).toBeLessThanOrEqual(1);
  expect(await there.principalOf(secret)).toBeDefined();
  await here.endSecret(secret);
  expect(await here.principalOf(secret)).toBeUndefined();
  await clock.advance(1_000);
  expect(await there.principalOf(secret)).toBeUndefined();
});

it("a session that was ended elsewhere makes no change of an administrator", async () => {
  const { sessions } = await start();
  const [here, there] = [sessions(), sessions()];
  const secret = await here.begin("acme", "u1", { remoteAddress: "", browser: "" });
  const session = await there.principalOf(secret);
  await here.endSecret(secret);
  there.forget(session?.credential ?? "");
  expect(await there.principalOf(secret)).toBeUndefined();
});

function counting(inner: StorageBackend, calls: Record<"list" | "read", number>): StorageBackend {
  return new Proxy(inner, {
    get: (target, key) => {
      if (key === "list" || key === "read") calls[key] += 1;
      const member: unknown = Reflect.get(target, key, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
