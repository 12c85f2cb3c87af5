import { Run_Mode } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { RUN_KIND, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { claimTicket } from "./claim.ts";
import { RUN_PROTOCOL } from "./run-protocol.ts";
import { freeTicket } from "./stack-queue.ts";
import { listTickets } from "./sweep.ts";
import { transact } from "./transaction.ts";

it("a step of a run of a newer release is left, whoever makes its ticket", async () => {
  const { parts, stack, enqueue, worker } = createRunFixture();
  const run = await enqueue(await stack("one"), "one", Run_Mode.MODE_APPLY);
  const [listed] = await listTickets(parts);
  if (listed === undefined) throw new Error("there is no ticket");
  expect(listed.ticket.protocol).toBe(RUN_PROTOCOL);
  await transact(parts, async (tx) => {
    const row = await tx.get(RUN_KIND, runPlace(run));
    tx.update(row, { protocol: RUN_PROTOCOL + 1 });
    // As where somebody approves it at a server of this release.
    const { step } = listed.ticket;
    const ticket = freeTicket({ ...row.message, protocol: RUN_PROTOCOL + 1 }, step, tx.nowMs);
    tx.update(await tx.get(SERVER_KINDS.ticket, listed.id), ticket);
  });
  const [newer] = await listTickets(parts);
  expect(newer?.ticket.protocol).toBe(RUN_PROTOCOL + 1);
  expect(await claimTicket(parts, listed.id, await worker("A"), "digest")).toBeUndefined();
});
