import { Run_Mode } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { decayedStore } from "../testing/decayed-store.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { listTickets, sweepQueues } from "./sweep.ts";
import { idOf } from "./transaction.ts";

it("tickets and queues whose records have decayed hide no others", async () => {
  const decayed = new Set<string>();
  const storage = decayedStore(createMemoryStorage(), ({ name }) => decayed.has(name));
  const { stack, enqueue, parts } = createRunFixture(storage);
  const runs = [];
  for (const name of ["one", "two"]) {
    runs.push(await enqueue(await stack(name), name, Run_Mode.MODE_APPLY));
  }
  const [one, two] = runs;
  if (one === undefined || two === undefined) throw new Error("there are two runs");
  decayed.add(ticketPlace(one).name);
  const tickets = await listTickets(parts);
  expect(tickets.map(({ id }) => id.name)).toEqual([ticketPlace(two).name]);
  // A queue whose ticket was lost gets it again, whatever became of others.
  decayed.clear();
  decayed.add(one.stack.stack);
  const { id, version } = await storage.read("strong", idOf(SERVER_KINDS.ticket, ticketPlace(two)));
  await storage.deleteCAS(id, version);
  expect(await sweepQueues(parts)).toBe(1);
  expect((await listTickets(parts)).map(({ id }) => id.name)).toContain(ticketPlace(two).name);
});

it("counts what was repaired: nothing where each run has its ticket", async () => {
  const { stack, enqueue, parts } = createRunFixture();
  await enqueue(await stack("one"), "one", Run_Mode.MODE_APPLY);
  await enqueue(await stack("two"), "two", Run_Mode.MODE_PLAN_ONLY);
  expect(await sweepQueues(parts)).toBe(0);
});
