import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "@stackwright/proto/grpc";
import { Run_Mode } from "@stackwright/proto/stackwright";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { createRemoteStorage, createStorageService } from "@stackwright/storage/remote";
import { expect, it, onTestFinished } from "vitest";
import { STACK_HEAD_KIND, stackPlace } from "../domain/run-places.ts";
import { claimTicket } from "../queue/claim.ts";
import { releaseClaim } from "../queue/release.ts";
import { createRunToken, digestOfRunToken } from "../queue/run-token.ts";
import { listTickets } from "../queue/sweep.ts";
import { idOf } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { ClaimGrants } from "./claim-grants.ts";

/** The store as the executor of a claim has it, by the token of the claim. */
async function start(writesState: boolean) {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const scratch = stack.use(await mkdtempDisposable(join(tmpdir(), "claim-grants-")));
  const socketPath = join(scratch.path, "s");
  const fixture = createRunFixture(stack.use(createMemoryStorage()));
  const { parts, storage, clock } = fixture;
  const own = await fixture.stack("one");
  await fixture.head(own, "");
  const run = await fixture.enqueue(own, "one", Run_Mode.MODE_APPLY);
  const worker = await fixture.worker("w");
  const token = createRunToken(run);
  const [ticket] = await listTickets(parts);
  if (ticket === undefined) throw new Error("nothing to claim");
  const options = { writesState };
  await claimTicket(parts, ticket.id, worker, digestOfRunToken(token), options);
  const grants = new ClaimGrants({ storage, clock });
  const authorize = async (given: string | undefined) => grants.authorize(given ?? "");
  const services = [createStorageService({ storage, authorize })];
  stack.adopt(await startServer({ address: { socketPath }, services }), async (server) =>
    server.close({ graceMs: 0 }),
  );
  const remote = stack.use(await createRemoteStorage({ address: { socketPath }, token }));
  const head = await remote.read("strong", idOf(STACK_HEAD_KIND, stackPlace(own)));
  return { parts, remote, head, ticket, worker };
}

const DENIED = { code: "STORAGE_PERMISSION_DENIED" };

it("the token of a claim writes the state where its claim says so alone", async () => {
  const planning = await start(false);
  await expect(planning.remote.writeCAS(planning.head)).rejects.toMatchObject(DENIED);
  const applying = await start(true);
  await applying.remote.writeCAS({ ...applying.head, generation: "next" });
});

it("the token of a claim that was released is for nothing", async () => {
  const { parts, remote, head, ticket, worker } = await start(true);
  const claim = { ticket: ticket.id, worker: worker.id, guard: worker.guard };
  await releaseClaim(parts, { ...claim, actor: "sweep", reason: "the worker is gone" });
  await expect(remote.read("strong", head.id)).rejects.toMatchObject(DENIED);
});
