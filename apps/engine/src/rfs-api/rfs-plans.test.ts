import { systemClock } from "@stackwright/base/clock";
import type { StoredKeys } from "@stackwright/core";
import { MemoryBlobs } from "@stackwright/core/testing";
import { RfsFormer, RfsStack, Run_Mode } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { pino } from "pino";
import { expect, it } from "vitest";
import { memberPlace, stackPlace, ticketPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { claimTicket } from "../queue/claim.ts";
import { enqueueRun } from "../queue/enqueue.ts";
import { beginPlanning, recordPlan } from "../queue/plan-steps.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { readRfsStack } from "../worker/deployed-values.ts";
import { rfsPlans } from "./rfs-plans.ts";
import { updateRecord } from "./rfs-stacks.ts";

/** A store that does something once, right after a batch in which a run was approved. */
function afterApproval(storage: StorageBackend, then: () => Promise<void>): StorageBackend {
  let isDone = false;
  return new Proxy(storage, {
    get: (target, name) => {
      if (name !== "batch") {
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      }
      const batch: StorageBackend["batch"] = async (operations, options) => {
        const written = await target.batch(operations, options);
        const isApproval = operations.some(
          (one) =>
            one.kind === "write" &&
            one.resource.version === "" &&
            one.resource.id.type.kind === SERVER_KINDS.ticket.type.kind,
        );
        if (isApproval && !isDone) {
          isDone = true;
          await then();
        }
        return written;
      };
      return batch;
    },
  });
}

it("leaves the values of what a stack went back to, where its apply failed before they were recorded", async () => {
  const storage = createMemoryStorage();
  const fixture = createRunFixture(storage);
  const { put, plan } = fixture;
  const parts = { ...fixture.parts, clock: systemClock };
  const stack = await fixture.stack("shop");
  const run = { stack, run: parts.token() };
  const given = { stackName: "shop", configuration: CONFIGURATION, actor: "ann", savedPlan: true };
  await enqueueRun(parts, { ...given, reference: run, mode: Run_Mode.MODE_APPLY });
  const worker = await fixture.worker("w");
  const ticket = idOf(SERVER_KINDS.ticket, ticketPlace(run));
  const claim = await claimTicket(parts, ticket, worker, parts.token());
  if (claim === undefined) throw new Error("the ticket is not free");
  await beginPlanning(parts, claim);
  const counts = { create: 1, update: 0, replace: 0, delete: 0, import: 0, move: 0, forget: 0 };
  await recordPlan(parts, claim, {
    digest: await plan(stack, "a"),
    baseRevision: 0n,
    summary: { ...counts, documentSha256: "", viewSha256: "" },
  });
  await put(SERVER_KINDS.rfsStack, stackPlace(stack), RfsStack.create({}));
  const record = { name: "p", run: run.run, description: "", createdAtMs: 0n, appliedAtMs: 0n };
  await put(SERVER_KINDS.rfsPlan, memberPlace(stack, "p"), record);

  const values = { variables: Uint8Array.of(1), variablesRun: "first", deploymentRun: "first" };
  const taken = {
    ...values,
    former: RfsFormer.create({ ...values, run: run.run, configuration: CONFIGURATION }),
    rollback: { deployment: run.run, run: "", refusal: "" },
  };
  const failing = afterApproval(storage, async () =>
    transact(parts, async (tx) => void (await updateRecord(tx, stack, () => taken))),
  );
  const cipher = { open: () => Buffer.from("{}") };
  const port = rfsPlans({
    ...parts,
    storage: failing,
    blobs: new MemoryBlobs(),
    keys: { load: async () => Promise.resolve(cipher) } as unknown as StoredKeys,
    logger: pino({ level: "silent" }),
  });
  const caller = { account: "acme", actor: "ann" } as Parameters<typeof port.apply>[0];
  const shown = { project: "web", name: "shop", id: stack.stack } as Parameters<
    typeof port.apply
  >[1];
  await port.apply(caller, shown, { id: run.run, name: "p" } as Parameters<typeof port.apply>[2]);
  expect(await readRfsStack({ storage }, stack)).toMatchObject(values);
});
