import { createStoredKeys, type KeyEncryptionKey } from "@stackwright/core";
import { RunTicket } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { isLeftToOthers, KEY_WAIT_MS } from "./left-to-others.ts";

function keyOf(byte: number): KeyEncryptionKey {
  return { id: `key-${byte}`, bytes: Buffer.alloc(32, byte) };
}

/** A step of a stack whose data keys are encrypted with the key 1. */
async function start() {
  const fixture = createRunFixture();
  const { storage, clock } = fixture;
  const keysWith = (byte: number) => createStoredKeys({ storage, current: keyOf(byte) });
  const stack = await fixture.stack("one");
  await keysWith(1).ensure(stack);
  const run = fixture.parts.token();
  const ticket = RunTicket.create({
    run,
    stack: stack.stack,
    createdAtMs: BigInt(clock.wallMs()),
  });
  const listed = { id: idOf(SERVER_KINDS.ticket, ticketPlace({ stack, run })), ticket };
  const isLeftBy = async (byte: number) =>
    isLeftToOthers({ storage, clock, keys: keysWith(byte) }, listed);
  return { ...fixture, isLeftBy };
}

it("a step whose key is missing is left to another server, and not by who is alone", async () => {
  const { isLeftBy, worker } = await start();
  await worker("A");
  expect(await isLeftBy(2)).toBe(false);
  // Workers elsewhere get keys of a server.
  await worker("token-1.B");
  expect(await isLeftBy(2)).toBe(false);
  const { lease } = await worker("C");
  expect(await isLeftBy(2)).toBe(true);
  expect(await isLeftBy(1)).toBe(false);
  await lease.release();
  expect(await isLeftBy(2)).toBe(false);
});

it("is not left for ever", async () => {
  const { isLeftBy, worker, clock } = await start();
  await worker("A");
  await worker("B");
  clock.skip(KEY_WAIT_MS - 1);
  expect(await isLeftBy(2)).toBe(true);
  clock.skip(1);
  expect(await isLeftBy(2)).toBe(false);
});
