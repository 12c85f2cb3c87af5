import { RunTicket, RunTicket_Class, RunTicket_Step } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { projectTenancy, ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { backgroundCapacity, type ListedTicket, orderTickets } from "./choose-ticket.ts";
import { RUN_PROTOCOL } from "./run-protocol.ts";
import { idOf } from "./transaction.ts";

const CLAIM = {
  worker: "w",
  epoch: 1n,
  tokenDigest: "",
  sinceMs: 0n,
  writesState: false,
  eventBatch: 0n,
  request: 0n,
};

function ticketOf(run: string, given: Partial<RunTicket> = {}, project = "web"): ListedTicket {
  const stack = { account: "acme", project, stack: "s" };
  const ticket = RunTicket.create({
    run,
    stack: "s",
    step: RunTicket_Step.STEP_PLAN,
    class: RunTicket_Class.CLASS_BLOCKING,
    ...given,
  });
  const place = { ...ticketPlace({ stack, run }), tenancy: projectTenancy(stack) };
  return { id: idOf(SERVER_KINDS.ticket, place), ticket };
}

const runsOf = (tickets: readonly ListedTicket[]) => tickets.map(({ ticket }) => ticket.run);

it("orders recoveries, applies, plans, speculative plans, plans of schedules", () => {
  const tickets = [
    ticketOf("background", { background: true, class: RunTicket_Class.CLASS_SPECULATIVE }),
    ticketOf("speculative", { class: RunTicket_Class.CLASS_SPECULATIVE }),
    ticketOf("plan"),
    ticketOf("apply", { step: RunTicket_Step.STEP_APPLY }),
    ticketOf("recover", { step: RunTicket_Step.STEP_RECOVER }),
    ticketOf("claimed", { claim: CLAIM }),
  ];
  const order = ["recover", "apply", "plan", "speculative", "background"];
  expect(runsOf(orderTickets(tickets, 0))).toEqual(order);
});

it("leaves what a newer release has to execute", () => {
  const newer = ticketOf("newer", { protocol: RUN_PROTOCOL + 1 });
  const tickets = [ticketOf("former"), newer, ticketOf("own", { protocol: RUN_PROTOCOL })];
  expect(runsOf(orderTickets(tickets, 0))).toEqual(["former", "own"]);
});

it("has the tickets of a pool alone, and counts the claims of no other", () => {
  const tickets = [
    ticketOf("a", { pool: "gpu" }),
    ticketOf("b", { pool: "gpu" }, "shop"),
    ticketOf("c"),
    // In the default pool: of no concern to the fairness of the other.
    ticketOf("d", { claim: CLAIM }),
  ];
  expect(runsOf(orderTickets(tickets, 0, "gpu"))).toEqual(["a", "b"]);
  expect(runsOf(orderTickets(tickets, 0))).toEqual(["c"]);
  tickets.push(ticketOf("e", { pool: "gpu", claim: CLAIM }));
  expect(runsOf(orderTickets(tickets, 0, "gpu"))).toEqual(["b", "a"]);
});

it("lets a ticket pass one class after ten minutes", () => {
  const tickets = [
    ticketOf("background", { background: true }),
    ticketOf("speculative", { class: RunTicket_Class.CLASS_SPECULATIVE, createdAtMs: 700_000n }),
  ];
  expect(runsOf(orderTickets(tickets, 599_999))).toEqual(["speculative", "background"]);
  expect(runsOf(orderTickets(tickets, 700_000))).toEqual(["background", "speculative"]);
});

it("leaves half of a worker to what users requested", () => {
  expect([1, 2, 3, 8].map(backgroundCapacity)).toEqual([1, 1, 1, 4]);
});
