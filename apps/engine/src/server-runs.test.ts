import { randomBytes } from "node:crypto";
import { systemClock } from "@stackwright/base/clock";
import { createRuns, type RunPhase, STORED_RUN_PHASES } from "@stackwright/core";
import { MemoryBlobs } from "@stackwright/core/testing";
import { Run, Run_Mode } from "@stackwright/proto/stackwright";
import { CredentialStore, createKeyRing, createRegistry } from "@stackwright/registry";
import { createRemoteStorage } from "@stackwright/storage/remote";
import { expect, it, onTestFinished } from "vitest";
import { typeUrlOf } from "./domain/record-kind.ts";
import { memberPlace, RUN_KIND, runPlace } from "./domain/run-places.ts";
import { idOf } from "./queue/transaction.ts";
import { startStorageEndpoint } from "./storage-endpoint.ts";
import { createRunFixture } from "./testing/run-fixture.ts";

/** A store with a run of the server, and as a command with a token of all stacks has it. */
async function start() {
  const stack = new AsyncDisposableStack();
  onTestFinished(() => stack.disposeAsync());
  const fixture = createRunFixture();
  const { storage } = fixture;
  const blobs = new MemoryBlobs();
  const keys = createKeyRing([randomBytes(32)]);
  const { records } = createRegistry({ storage, blobs, keys }).parts;
  const credentials = new CredentialStore({ records, keys, clock: systemClock, cacheMs: 0 });
  const endpoint = stack.use(
    await startStorageEndpoint({ storage, blobs, credentials, host: "127.0.0.1", port: 0 }),
  );
  const { token } = await credentials.createToken({
    account: "acme",
    roles: ["operator", "worker"],
  });
  const remote = stack.use(await createRemoteStorage({ address: endpoint.address, token }));
  const reference = await fixture.stack("one");
  const run = await fixture.enqueue(reference, "one", Run_Mode.MODE_APPLY);
  const id = idOf(RUN_KIND, runPlace(run));
  const runs = createRuns(reference, {
    storage: remote,
    scheduler: systemClock,
    token: fixture.parts.token,
  });
  return { ...fixture, remote, reference, run, id, runs };
}

it("no token of the store forges the approval of a run of the server", async () => {
  const { remote, id, reference, storage } = await start();
  const stored = await remote.read("strong", id);
  const message = RUN_KIND.codec.decode(stored.data?.value ?? new Uint8Array());
  const data = (run: Run) => ({
    typeUrl: typeUrlOf(RUN_KIND.type),
    value: Run.encode(run).finish(),
  });
  const forged = {
    ...message,
    phase: STORED_RUN_PHASES.approved,
    approvals: [{ actor: "bea", planDigest: "", comment: "", atMs: 1n }],
  };
  const denied = { code: "STORAGE_PERMISSION_DENIED" };
  await expect(remote.writeCAS({ ...stored, data: data(forged) })).rejects.toMatchObject(denied);
  const asCommand = data({ ...forged, mode: Run_Mode.MODE_UNSPECIFIED });
  await expect(remote.writeCAS({ ...stored, data: asCommand })).rejects.toMatchObject(denied);
  await expect(remote.deleteCAS(stored.id, stored.version)).rejects.toMatchObject(denied);
  const other = idOf(RUN_KIND, memberPlace(reference, "made"));
  const made = { ...stored, id: { ...other, uid: "2" }, version: "", data: data(forged) };
  await expect(remote.writeCAS(made)).rejects.toMatchObject(denied);
  expect((await storage.read("strong", id)).version).toBe(stored.version);
});

it("a command writes its own runs, and leaves those of the server to it", async () => {
  const { runs, run, storage, id, put } = await start();
  const own = await runs.create({ id: "own", cause: "user:ann" });
  await runs.transition(own.id, "queued", "preparing");
  await runs.transition(own.id, "preparing", "failed");
  await runs.remove(own.id);
  expect((await runs.list()).map((one) => [one.id, one.ofServer])).toEqual([[run.run, true]]);
  const refusal = { code: "ENGINE_STATE_TRANSITION" };
  await expect(runs.transition(run.run, "queued", "canceled")).rejects.toMatchObject(refusal);
  const ended: RunPhase = "failed";
  const stored = RUN_KIND.codec.decode(
    (await storage.read("strong", id)).data?.value ?? new Uint8Array(),
  );
  await put(RUN_KIND, runPlace(run), { ...stored, phase: STORED_RUN_PHASES[ended] });
  await expect(runs.remove(run.run)).rejects.toMatchObject(refusal);
});
