import { type Clock, systemClock } from "@stackwright/base/clock";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { CONSOLE_CODES } from "../access/access-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { CODE_MS, ConsoleCodes, MAX_OF_OWNER } from "./console-codes.ts";

const ALICE = { account: "acme", user: "alice", parent: "token-0123456789ab" };
const BEN = { ...ALICE, user: "ben", parent: "token-ba9876543210" };

function start() {
  const { parts, storage, clock } = createRunFixture(createMemoryStorage());
  // Time stands still for codes, and not for those who write at once and wait for one another.
  const after: Clock["after"] = (delayMs, task) => systemClock.after(delayMs, task);
  const racing = { ...parts, clock: { ...clock, after }, random: Math.random };
  // Each is that of one server of the store.
  const server = (): ConsoleCodes => new ConsoleCodes(racing);
  const stored = async () =>
    storage.list("strong", SERVER_KINDS.consoleCodes.type, CONSOLE_CODES, "");
  return { clock, server, stored };
}

it("any server of the store takes a code once, and the store has no secret of it", async () => {
  const { server, stored } = start();
  const [first, second] = [server(), server()];
  const code = await first.make(ALICE);
  const [record] = await stored();
  const bytes = Buffer.from(record?.data?.value ?? []).toString("latin1");
  expect(bytes).toContain("alice");
  expect(bytes + record?.id.name).not.toContain(code.slice(32));
  expect([await second.ownerOf(code), await second.ownerOf(code)]).toEqual([ALICE, ALICE]);
  for (const wrong of [
    "",
    "x",
    code.slice(1),
    `${code}x`,
    `${code.slice(0, 32)}${"A".repeat(43)}`,
  ]) {
    expect([wrong, await second.take(wrong)]).toEqual([wrong, undefined]);
  }
  const taken = await Promise.all([first, second, server()].map(async (one) => one.take(code)));
  expect(taken.filter((one) => one !== undefined)).toEqual([ALICE]);
  expect(await first.ownerOf(code)).toBeUndefined();
  expect(await stored()).toEqual([]);
});

it("codes are good for ten minutes, and what is left of them is removed", async () => {
  const { clock, server, stored } = start();
  const codes = server();
  const code = await codes.make(ALICE);
  clock.skip(CODE_MS - 1);
  expect(await codes.ownerOf(code)).toEqual(ALICE);
  clock.skip(1);
  expect([await codes.ownerOf(code), await codes.take(code)]).toEqual([undefined, undefined]);
  expect(await stored()).toHaveLength(1);
  await codes.make(BEN);
  expect(await stored()).toHaveLength(1);
});

it("the codes of one user make room for one another, and for those of no other user", async () => {
  const { server } = start();
  const codes = server();
  const other = await codes.make(BEN);
  const made: string[] = [];
  for (let at = 0; at < 100; at += 1) made.push(await codes.make(ALICE));
  const good = await Promise.all(made.map(async (code) => codes.ownerOf(code)));
  expect(good.map((one) => one !== undefined)).toEqual(
    made.map((_, at) => at >= made.length - MAX_OF_OWNER),
  );
  expect(await codes.take(other)).toEqual(BEN);
});

it("two servers that make codes of a user at once keep both", async () => {
  const { server } = start();
  const made = await Promise.all(
    [server(), server(), server()].map(async (one) => one.make(ALICE)),
  );
  const codes = server();
  expect(await Promise.all(made.map(async (code) => codes.take(code)))).toEqual(
    made.map(() => ALICE),
  );
});
