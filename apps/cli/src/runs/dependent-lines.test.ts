import { ClientError } from "@stackwright/client";
import { expect, it } from "vitest";
import { dependentLines } from "./dependent-lines.ts";
import type { ServerStack } from "./run-place.ts";

const PLACE = { project: "web", stack: "network" };

function linesOf(answer: () => Promise<unknown>) {
  const client = { listPlanDependents: answer } as unknown as ServerStack["client"];
  return dependentLines({ client, place: PLACE }, { id: "r" }, new AbortController().signal);
}

it("the stacks that depend on a plan are named with why, a bounded number of them", async () => {
  const app = { project: "web", stack: "app", distance: 1, outputs: ["vpc"], triggered: false };
  const front = { project: "shop", stack: "front", distance: 2, outputs: [], triggered: true };
  const stacks = [
    { ...app, through: [] },
    { ...front, through: [{ project: "web", stack: "app" }] },
  ];
  expect(await linesOf(async () => ({ data: { stacks, more: false } }))).toEqual([
    "Stacks that depend on outputs which the plan changes:",
    "  web/app: reads vpc",
    "  shop/front: through web/app, a run is requested",
  ]);
  const many = Array.from({ length: 25 }, () => ({ ...app, through: [] }));
  const lines = await linesOf(async () => ({ data: { stacks: many, more: false } }));
  expect([lines.length, lines.at(-1)]).toEqual([22, "  and 5 more"]);
});

it("nothing is said where nothing depends on a plan, or a server of an older release does not know", async () => {
  expect(await linesOf(async () => ({ data: { stacks: [], more: false } }))).toEqual([]);
  const unknown = new ClientError("not_found", "no route", { status: 404 });
  expect(await linesOf(async () => Promise.reject(unknown))).toEqual([]);
  const failed = new ClientError("internal", "the server failed", { status: 500 });
  await expect(linesOf(async () => Promise.reject(failed))).rejects.toBe(failed);
});
