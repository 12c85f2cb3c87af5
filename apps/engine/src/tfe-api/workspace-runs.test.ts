import { randomBytes } from "node:crypto";
import { createStoredKeys, type NamedStack } from "@stackwright/core";
import { MemoryBlobs } from "@stackwright/core/testing";
import { Run_Mode } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { claimTicket } from "../queue/claim.ts";
import { beginPlanning } from "../queue/plan-steps.ts";
import { listTickets } from "../queue/sweep.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { workspaceRuns } from "./workspace-runs.ts";

it("ends a run at once for admins; for others once it had its time to stop", async () => {
  const fixture = createRunFixture();
  const { parts, storage } = fixture;
  const reference = await fixture.stack("one");
  const { run: id } = await fixture.enqueue(reference, "one", Run_Mode.MODE_APPLY);
  const worker = await fixture.worker("w");
  const [ticket] = await listTickets(parts);
  const claim = ticket && (await claimTicket(parts, ticket.id, worker, parts.token()));
  if (claim === undefined) throw new Error("nothing to claim");
  await beginPlanning(parts, claim);
  const served = {
    ...parts,
    blobs: new MemoryBlobs(),
    keys: createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } }),
  };
  const runs = workspaceRuns({
    ...served,
    audited: () => served,
    stackOf: async () => ({ name: "one", reference }) as NamedStack,
  });
  const admin = { account: "acme", actor: "ann", isOperator: true, isAdmin: true, projects: [] };
  const other = { ...admin, actor: "ben", isAdmin: false };
  const workspace = reference.stack;
  const run = await runs.get(other, workspace, id);
  if (run === undefined) throw new Error("no run");
  await runs.cancel(other, run, { force: false });
  await expect(runs.cancel(other, run, { force: true })).rejects.toMatchObject({
    code: "conflict",
  });
  await runs.cancel(admin, run, { force: true });
});
