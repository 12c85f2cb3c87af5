import { type Clock, systemClock } from "@stackwright/base/clock";
import type { BatchOperation } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { DEVICE_LOGINS } from "../access/access-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { makeUserCode, readUserCode, shownUserCode } from "./device-codes.ts";
import { DEVICE_LOGIN_MS, DeviceLogins, POLL_MS } from "./device-logins.ts";

const KEY = Buffer.alloc(32, 7);
const KIND = SERVER_KINDS.deviceLogin;
const ASKER = { host: "build-1", remoteAddress: "192.0.2.1", role: "planner" } as const;

function start() {
  const fixture = createRunFixture(createMemoryStorage());
  const { parts, storage, clock } = fixture;
  // Time stands still for codes, and not for those who write at once and wait for one another.
  const after: Clock["after"] = (delayMs, task) => systemClock.after(delayMs, task);
  const racing = { ...parts, clock: { ...clock, after }, random: Math.random };
  const entries: { readonly action: string; readonly target: string; readonly actor: string }[] =
    [];
  const audit = {
    entry: ({ actor }: { actor: string }, facts: { action: string; target: string }) => {
      entries.push({ ...facts, actor });
      const id = { uid: "u", name: `e${entries.length}`, type: KIND.type, tenancy: AUDIT };
      const resource = {
        id,
        version: "",
        generation: "",
        metadata: {},
        status: {},
        data: undefined,
      };
      return { kind: "write", resource } as unknown as BatchOperation;
    },
  };
  // Each is that of one server of the store.
  const server = (): DeviceLogins =>
    new DeviceLogins({ ...racing, audit, codeKey: async () => KEY });
  const stored = async () => storage.list("strong", KIND.type, DEVICE_LOGINS, "");
  return { ...fixture, server, stored, entries };
}

const AUDIT = { partition: "a", peerName: "local", namespace: "audit" };

function by(user: string) {
  const caller = {
    account: "default",
    actor: `user-${user}`,
    requestId: "r",
    remoteAddress: "::1",
  };
  return { user, caller };
}

async function asked(logins: DeviceLogins, remoteAddress: string = ASKER.remoteAddress) {
  const result = await logins.ask({ ...ASKER, remoteAddress });
  if (result.kind !== "asked") throw new Error(result.kind);
  return result;
}

it("codes have 43 bits, and are read as people type them", () => {
  const code = makeUserCode();
  expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{10}$/);
  expect(Math.log2(20) * code.length).toBeGreaterThan(40);
  const shown = shownUserCode(code);
  expect(shown).toMatch(/^.{5}-.{5}$/);
  for (const typed of [code, shown, ` ${shown.toLowerCase()} `, code.replaceAll(/./g, "$& ")]) {
    expect(readUserCode(typed)).toBe(code);
  }
  for (const typed of ["", "AEIOU-AEIOU", shown.slice(1), `${shown}B`, code + " ".repeat(60)]) {
    expect(readUserCode(typed)).toBeUndefined();
  }
});

it("a login that began at one server is agreed to at another, and heard of at a third, once", async () => {
  const { server, entries, stored } = start();
  const { deviceCode, userCode } = await asked(server());
  const [record] = await stored();
  const text = JSON.stringify([record?.id, Buffer.from(record?.data?.value ?? []).toString()]);
  for (const secret of [userCode, deviceCode, deviceCode.split(".")[1] ?? ""]) {
    expect(text).not.toContain(secret);
  }
  expect(await server().waiting(userCode)).toMatchObject({ host: "build-1", role: "planner" });
  const agreed = await server().decide(userCode, "agreed", by("alice"));
  expect(agreed).toMatchObject({ account: "default", user: "alice" });
  expect(entries).toEqual([
    {
      action: "AgreeToDeviceLogin",
      target: "planner on build-1 at 192.0.2.1",
      actor: "user-alice",
    },
  ]);
  const polled = await Promise.all(
    [server(), server(), server()].map(async (one) => one.poll(deviceCode)),
  );
  expect(polled.map(({ kind }) => kind).toSorted()).toEqual(["agreed", "unknown", "unknown"]);
  expect(await server().poll(deviceCode)).toEqual({ kind: "unknown" });
  expect(await server().waiting(userCode)).toBeUndefined();
  expect(await stored()).toEqual([]);
});

it("the first answer of a user counts, of whichever user", async () => {
  const { server, entries } = start();
  const refused = await asked(server());
  const [first, second] = await Promise.all([
    server().decide(refused.userCode, "refused", by("alice")),
    server().decide(refused.userCode, "refused", by("mallory")),
  ]);
  expect([first, second].filter((one) => one === undefined)).toHaveLength(1);
  expect(await server().decide(refused.userCode, "agreed", by("mallory"))).toBeUndefined();
  expect(await server().waiting(refused.userCode)).toBeUndefined();
  expect(await server().poll(refused.deviceCode)).toEqual({ kind: "refused" });
  expect(await server().poll(refused.deviceCode)).toEqual({ kind: "unknown" });
  expect(new Set(entries.map(({ action }) => action))).toEqual(new Set(["RefuseDeviceLogin"]));
});

it("codes are over after ten minutes, answered or not", async () => {
  const { server, clock, stored } = start();
  const [late, unheard] = [await asked(server()), await asked(server())];
  expect(await server().decide(unheard.userCode, "agreed", by("alice"))).toBeDefined();
  clock.skip(DEVICE_LOGIN_MS - 1);
  expect(await server().waiting(late.userCode)).toBeDefined();
  clock.skip(1);
  expect(await server().waiting(late.userCode)).toBeUndefined();
  expect(await server().decide(late.userCode, "agreed", by("alice"))).toBeUndefined();
  for (const { deviceCode } of [late, unheard]) {
    expect(await server().poll(deviceCode)).toEqual({ kind: "expired" });
  }
  // The next one removes them.
  await asked(server());
  expect(await stored()).toHaveLength(1);
  expect(await server().poll(late.deviceCode)).toEqual({ kind: "unknown" });
});

it("a command that asks too early has to wait longer, whatever the answer is, and at each server", async () => {
  const { server, clock } = start();
  const { deviceCode, userCode } = await asked(server());
  const poll = async () => (await server().poll(deviceCode)).kind;
  expect(await poll()).toBe("pending");
  clock.skip(POLL_MS - 500);
  expect(await poll()).toBe("pending");
  clock.skip(2_000);
  expect(await poll()).toBe("slow_down");
  clock.skip(POLL_MS);
  expect(await poll()).toBe("slow_down");
  await server().decide(userCode, "agreed", by("alice"));
  expect(await poll()).toBe("slow_down");
  clock.skip(4 * POLL_MS);
  expect(await poll()).toBe("agreed");
});

it("the name of a login without its secret, and other texts, are of no use", async () => {
  const { server } = start();
  const { deviceCode, userCode } = await asked(server());
  await server().decide(userCode, "agreed", by("alice"));
  const [name = ""] = deviceCode.split(".");
  const other = `${name}.${"A".repeat(43)}`;
  for (const text of [other, name, userCode, "", `${deviceCode}A`, "../x"]) {
    expect([text, await server().poll(text)]).toEqual([text, { kind: "unknown" }]);
  }
  expect((await server().poll(deviceCode)).kind).toBe("agreed");
});

it("the open codes of one address, and of all, are bounded", async () => {
  const { server, clock, put } = start();
  const logins = server();
  const results = await Promise.all(Array.from({ length: 30 }, async () => logins.ask(ASKER)));
  const kinds = (kind: string) => results.filter((one) => one.kind === kind).length;
  expect([kinds("asked"), kinds("many_of_address")]).toEqual([10, 20]);
  // Of IPv6, a subscriber has a whole network.
  for (let i = 0; i < 10; i += 1) await asked(logins, `2001:db8::${i}`);
  expect(await logins.ask({ ...ASKER, remoteAddress: "2001:db8::ffff" })).toEqual({
    kind: "many_of_address",
  });
  const createdAtMs = BigInt(clock.wallMs());
  for (let i = 0; i < 980; i += 1) {
    const login = KIND.codec.decode(new Uint8Array());
    const place = { tenancy: DEVICE_LOGINS, name: i.toString(16).padStart(64, "0") };
    await put(KIND, place, { ...login, createdAtMs, remoteAddress: `198.51.100.${i}` });
  }
  expect(await logins.ask({ ...ASKER, remoteAddress: "203.0.113.1" })).toEqual({ kind: "many" });
  clock.skip(DEVICE_LOGIN_MS);
  expect((await logins.ask(ASKER)).kind).toBe("asked");
});

it("no network uses up the codes of all others", async () => {
  const { server } = start();
  const logins = server();
  const ask = async (remoteAddress: string) => (await logins.ask({ ...ASKER, remoteAddress })).kind;
  for (const [of, other] of [
    // A customer with 256 networks of IPv6, and a neighbour.
    [(i: number) => `2001:db8:1:${(i % 256).toString(16)}::1`, "2001:db8:2::1"],
    [(i: number) => `198.51.100.${i % 256}`, "198.51.101.1"],
  ] as const) {
    for (let i = 0; i < 50; i += 1) expect([i, await ask(of(i))]).toEqual([i, "asked"]);
    expect(await ask(of(60))).toBe("many_of_address");
    expect(await ask(other)).toBe("asked");
  }
});
