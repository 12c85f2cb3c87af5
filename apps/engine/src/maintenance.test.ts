import { silentLogger } from "@stackwright/base/logger";
import { expect, it, onTestFinished } from "vitest";
import { projectDeletionPlace } from "./domain/kinds-of-projects.ts";
import { projectTenancy } from "./domain/run-places.ts";
import { SERVER_KINDS } from "./domain/server-kinds.ts";
import { runMaintenance } from "./maintenance.ts";
import { createRunFixture } from "./testing/run-fixture.ts";

const DECIDED = { account: "acme", project: "decided" };
const UNDECIDED = { account: "acme", project: "undecided" };
const KIND = SERVER_KINDS.projectDeletion;

/** The maintenance of one server, on a store with two deletions of projects; what is left of them and of a hook in each. */
async function start(mayReact: boolean) {
  const { storage, clock, put } = createRunFixture();
  const atMs = BigInt(clock.wallMs());
  for (const place of [DECIDED, UNDECIDED]) {
    await put(KIND, projectDeletionPlace(place), { atMs, decided: place === DECIDED });
    const hook = { tenancy: projectTenancy(place), name: "cloud" };
    await put(SERVER_KINDS.driftHook, hook, SERVER_KINDS.driftHook.codec.decode(new Uint8Array()));
  }
  const stop = new AbortController();
  const others = { count: 0 };
  const ended = runMaintenance(
    {
      registry: { parts: {}, sweep: async () => (others.count += 1) },
      store: { storage },
      serverClock: { standing: async () => ({ mayReact }) },
      scheduler: clock,
      metrics: { maintained: () => undefined },
      logger: silentLogger,
    } as unknown as Parameters<typeof runMaintenance>[0],
    stop.signal,
  );
  onTestFinished(async () => {
    stop.abort(new Error("the test has ended"));
    await ended;
  });
  const left = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    await using snapshot = await storage.snapshot();
    for await (const { id } of snapshot) found.push(`${id.type.kind} ${id.tenancy.namespace}`);
    return found.toSorted();
  };
  return { clock, left, others };
}

it("deletions of projects that were interrupted are finished or taken back within minutes, ahead of other remains", async () => {
  const { clock, left, others } = await start(true);
  expect(await left()).toHaveLength(4);
  // A minute, and a quarter of one at random.
  await clock.advance(75_000);
  await expect.poll(left).not.toContain("DriftHook decided");
  await clock.advance(75_000);
  await expect.poll(left).toEqual(["DriftHook undecided"]);
  expect(others.count).toBe(0);
});

it("a server whose clock is wrong leaves what is past its time to others", async () => {
  const { clock, left, others } = await start(false);
  const before = await left();
  // Longer than until the tasks of every ten minutes.
  for (let minute = 0; minute < 15; minute += 1) await clock.advance(60_000);
  expect(await left()).toEqual(before);
  expect(others.count).toBe(0);
});
