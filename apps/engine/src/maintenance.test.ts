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

it("deletions of projects that were interrupted are finished or taken back within minutes, ahead of other remains", async () => {
  const { storage, clock, put } = createRunFixture();
  const atMs = BigInt(clock.wallMs());
  for (const place of [DECIDED, UNDECIDED]) {
    await put(KIND, projectDeletionPlace(place), { atMs, decided: place === DECIDED });
    const hook = { tenancy: projectTenancy(place), name: "cloud" };
    await put(SERVER_KINDS.driftHook, hook, SERVER_KINDS.driftHook.codec.decode(new Uint8Array()));
  }
  const stop = new AbortController();
  let others = 0;
  const ended = runMaintenance(
    {
      registry: { parts: {}, sweep: async () => (others += 1) },
      store: { storage },
      serverClock: { standing: async () => ({ mayReact: true }) },
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
  expect(await left()).toHaveLength(4);
  // A minute, and a quarter of one at random.
  await clock.advance(75_000);
  await expect.poll(left).not.toContain("DriftHook decided");
  await clock.advance(75_000);
  await expect.poll(left).toEqual(["DriftHook undecided"]);
  expect(others).toBe(0);
});
