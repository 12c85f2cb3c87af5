import { createManualClock, type ManualClock } from "@stackwright/base/testing";
import { RunTicket, RunTicket_Step } from "@stackwright/proto/stackwright";
import { beforeEach, expect, it } from "vitest";
import { projectTenancy, ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { ListedTicket } from "./choose-ticket.ts";
import { ServedProjects } from "./served-projects.ts";
import { idOf } from "./transaction.ts";

let clock: ManualClock;
let served: ServedProjects;

beforeEach(() => {
  clock = createManualClock();
  served = new ServedProjects(clock);
});

/** @param token that of its claim; empty for a free one */
function ticketOf(run: string, project: string, token = "", pool = ""): ListedTicket {
  const stack = { account: "acme", project, stack: "s" };
  const claim = {
    worker: "w",
    epoch: 1n,
    tokenDigest: token,
    sinceMs: 0n,
    writesState: false,
    eventBatch: 0n,
    request: 0n,
  };
  const ticket = RunTicket.create({ run, stack: "s", pool, ...(token !== "" && { claim }) });
  const place = { ...ticketPlace({ stack, run }), tenancy: projectTenancy(stack) };
  return { id: idOf(SERVER_KINDS.ticket, place), ticket };
}

it("knows of no project at first", () => {
  served.observe([ticketOf("a", "web")]);
  expect(served.ago(ticketOf("b", "web"))).toBe(Number.POSITIVE_INFINITY);
});

it("counts from the claim of this process", async () => {
  served.serve(ticketOf("a", "web"));
  await clock.advance(500);
  expect(served.ago(ticketOf("b", "web"))).toBe(500);
  expect(served.ago(ticketOf("c", "shop"))).toBe(Number.POSITIVE_INFINITY);
});

it("counts a claim of others from when it was seen first, and a later one of the same run again", async () => {
  served.observe([ticketOf("a", "web", "first")]);
  await clock.advance(500);
  served.observe([ticketOf("a", "web", "first"), ticketOf("b", "web")]);
  expect(served.ago(ticketOf("b", "web"))).toBe(500);
  served.observe([ticketOf("a", "web", "second"), ticketOf("b", "web")]);
  expect(served.ago(ticketOf("b", "web"))).toBe(0);
});

it("counts the pools of a project apart", () => {
  served.serve(ticketOf("a", "web", "", "gpu"));
  expect(served.ago(ticketOf("b", "web", "", "gpu"))).toBe(0);
  expect(served.ago(ticketOf("c", "web"))).toBe(Number.POSITIVE_INFINITY);
});

it("counts the classes of steps apart, beside all of them", async () => {
  const apply = (run: string) => {
    const one = ticketOf(run, "web");
    return { ...one, ticket: { ...one.ticket, step: RunTicket_Step.STEP_APPLY } };
  };
  served.serve(apply("a"));
  await clock.advance(500);
  const plan = ticketOf("b", "web");
  expect([served.ago(plan), served.agoOfClass(plan)]).toEqual([500, Number.POSITIVE_INFINITY]);
  served.serve(plan);
  expect([served.ago(apply("c")), served.agoOfClass(apply("c"))]).toEqual([0, 500]);
});

it("counts a claim of its own once, though the next look shows it for the first time", async () => {
  served.serve(ticketOf("a", "web"));
  await clock.advance(500);
  served.observe([ticketOf("a", "web", "token")]);
  expect(served.ago(ticketOf("b", "web"))).toBe(500);
  await clock.advance(500);
  served.observe([ticketOf("a", "web", "token")]);
  expect(served.ago(ticketOf("b", "web"))).toBe(1_000);
});

it("forgets what was served the longest ago beyond 10,000 projects with one class of steps each", () => {
  const at = (index: number) => ticketOf(`r${index}`, `p${index}`);
  for (let index = 0; index < 10_000; index += 1) served.serve(at(index));
  served.serve(at(0));
  expect(served.ago(at(1))).toBe(0);
  served.serve(at(10_000));
  expect([0, 2, 10_000].map((index) => served.ago(at(index)))).toEqual([0, 0, 0]);
  expect(served.ago(at(1))).toBe(Number.POSITIVE_INFINITY);
});
