import { createManualClock } from "@stackwright/base/testing";
import { RunTicket, RunTicket_Class, RunTicket_Step } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { projectTenancy, ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import {
  backgroundCapacity,
  type ListedTicket,
  MAX_RETRY_MS,
  orderTickets,
  RETRY_MS,
  retryMs,
} from "./choose-ticket.ts";
import { RUN_PROTOCOL } from "./run-protocol.ts";
import { ServedProjects } from "./served-projects.ts";
import { idOf } from "./transaction.ts";

const MINUTE = 60_000;

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

it("takes of projects with as many claims the one that waits the longest, then the older run", () => {
  const tickets = [
    ticketOf("a", { createdAtMs: 50n }),
    ticketOf("b", { createdAtMs: 40n }, "shop"),
    ticketOf("c", { createdAtMs: 60n }, "shop"),
    ticketOf("d", { createdAtMs: 45n }, "home"),
  ];
  expect(runsOf(orderTickets(tickets, 100))).toEqual(["b", "c", "d", "a"]);
});

it("takes of projects with as many claims the one that was given a step longer ago", () => {
  const tickets = [
    ticketOf("a", { createdAtMs: 10n }),
    ticketOf("b", { createdAtMs: 20n }, "shop"),
    ticketOf("c", { createdAtMs: 30n }, "home"),
  ];
  const ago = new Map([
    ["web", 1_000],
    ["shop", 5_000],
  ]);
  const served = {
    ago: ({ id }: ListedTicket) => ago.get(id.tenancy.namespace) ?? Infinity,
    agoOfClass: () => 0,
  };
  expect(runsOf(orderTickets(tickets, 100, "", served))).toEqual(["c", "b", "a"]);
});

it("lets the steps of others wait for one worker, however many a project has", () => {
  const workers = 4;
  // Steps take so many turns, and one ends at each.
  const waiting = Array.from({ length: 10_000 }, (_, index) =>
    ticketOf(`n${String(index).padStart(5, "0")}`, {}, "noisy"),
  );
  const claimed: ListedTicket[] = [];
  const waits: number[] = [];
  for (let turn = 1; turn <= 40; turn += 1) {
    // Another project requests a run at times, always behind all that the first one has.
    if (turn % 5 === 0) waiting.push(ticketOf(`o${turn}`, { createdAtMs: BigInt(turn) }, "calm"));
    if (claimed.length === workers) claimed.shift();
    const [next] = orderTickets([...waiting, ...claimed], turn);
    if (next === undefined) throw new Error("nothing to claim");
    waiting.splice(waiting.indexOf(next), 1);
    claimed.push({ ...next, ticket: { ...next.ticket, claim: CLAIM } });
    if (next.ticket.run.startsWith("o")) waits.push(turn - Number(next.ticket.createdAtMs));
  }
  expect(waits).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
});

it.each([1, 2, 4])(
  "lets others wait for two steps at most beside 10,000 old plans of a project, with %i at a time",
  async (workers) => {
    const clock = createManualClock(MINUTE);
    const served = new ServedProjects(clock);
    const free = Array.from({ length: 10_000 }, (_, index) =>
      ticketOf(`n${String(index).padStart(5, "0")}`, {}, "noisy"),
    );
    const claimed: { readonly of: ListedTicket; readonly end: number }[] = [];
    const waits: number[] = [];
    let requested = 0;
    // Steps of at most a minute, for half an hour and more: nearly all of that time the plans are older than ten minutes.
    for (let now = 0; now < 40 * MINUTE; now += MINUTE / 4) {
      if (now % (6 * MINUTE) === 0) {
        requested += 1;
        free.push(ticketOf(`o${requested}`, { createdAtMs: BigInt(now) }, "calm"));
      }
      for (const one of claimed.filter(({ end }) => end <= now)) {
        claimed.splice(claimed.indexOf(one), 1);
      }
      while (claimed.length < workers) {
        const listed = [...claimed.map(({ of }) => of), ...free];
        served.observe(listed);
        const [next] = orderTickets(listed, now, "", served);
        if (next === undefined) throw new Error("nothing to claim");
        free.splice(free.indexOf(next), 1);
        const claim = { ...CLAIM, tokenDigest: next.ticket.run };
        const of = { ...next, ticket: { ...next.ticket, claim } };
        served.serve(of);
        claimed.push({ of, end: now + ((1 + ((free.length * 7) % 4)) * MINUTE) / 4 });
        if (next.ticket.run.startsWith("o")) waits.push(now - Number(next.ticket.createdAtMs));
      }
      await clock.advance(MINUTE / 4);
    }
    expect(waits).toHaveLength(requested);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2 * MINUTE);
  },
);

it("lets a ticket pass one class once it waits for ten minutes and its project was given none of its class for as long", () => {
  const tickets = [
    ticketOf("old", { class: RunTicket_Class.CLASS_SPECULATIVE }),
    ticketOf("plan", { createdAtMs: 599_000n }, "shop"),
  ];
  const order = (now: number, agoOfClass: number) => {
    // Other steps were given to the project just now.
    const ago = ({ id }: ListedTicket) => (id.tenancy.namespace === "web" ? 2_000 : 1_000);
    return runsOf(orderTickets(tickets, now, "", { ago, agoOfClass: () => agoOfClass }));
  };
  expect(order(600_000, 599_999)).toEqual(["plan", "old"]);
  expect(order(599_999, 600_000)).toEqual(["plan", "old"]);
  expect(order(600_000, 600_000)).toEqual(["old", "plan"]);
});

it("lets no plan pass an apply, nor an apply a recovery, whatever its age", () => {
  const tickets = [
    ticketOf("plan"),
    ticketOf("apply", { step: RunTicket_Step.STEP_APPLY, createdAtMs: 1n }, "shop"),
    ticketOf("recovery", { step: RunTicket_Step.STEP_RECOVER, createdAtMs: 700_000n }, "home"),
  ];
  expect(runsOf(orderTickets(tickets, 700_000))).toEqual(["recovery", "apply", "plan"]);
});

it("lets old speculative plans of a project have no turn of its plans", () => {
  const speculative = { class: RunTicket_Class.CLASS_SPECULATIVE };
  const tickets = [
    ...Array.from({ length: 5 }, (_, index) => ticketOf(`a${index}`, speculative)),
    ticketOf("b", { createdAtMs: 700_000n }),
    ticketOf("c", { ...speculative, createdAtMs: 700_000n }, "shop"),
  ];
  const served = {
    ago: ({ id }: ListedTicket) => (id.tenancy.namespace === "web" ? 1_000 : 2_000),
    agoOfClass: () => 1_000,
  };
  const order = runsOf(orderTickets(tickets, 700_000, "", served));
  expect(order).toEqual(["b", "c", "a0", "a1", "a2", "a3", "a4"]);
});

it("leaves half of a worker to what users requested", () => {
  expect([1, 2, 3, 8].map(backgroundCapacity)).toEqual([1, 1, 1, 4]);
});

it("waits twice as long after each claim without a result, up to a bound", () => {
  expect([0, 1, 2, 3].map(retryMs)).toEqual([0, RETRY_MS, 2 * RETRY_MS, 4 * RETRY_MS]);
  expect([7, 8, 1_000, 100_000].map(retryMs)).toEqual(Array(4).fill(MAX_RETRY_MS));
});
