import { createHash } from "node:crypto";
import { createManualClock } from "@stackwright/base/testing";
import { StackDirectory, type StackReference } from "@stackwright/core";
import {
  ConfigurationVersion,
  type Run_Mode,
  StackHead,
  StackPlan,
} from "@stackwright/proto/stackwright";
import { createUlidGenerator, type StorageBackend } from "@stackwright/storage";
import { createLeases, type Lease } from "@stackwright/storage/lease";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { type RecordKind, typeUrlOf } from "../domain/record-kind.ts";
import {
  memberPlace,
  type Place,
  projectTenancy,
  STACK_HEAD_KIND,
  STACK_PLAN_KIND,
  stackPlace,
} from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { WorkerTenure } from "../queue/claim.ts";
import { enqueueRun } from "../queue/enqueue.ts";
import { idOf } from "../queue/transaction.ts";

export const CONFIGURATION = "c".repeat(64);

/** A store in memory with one project, for tests of the run layer. */
export function createRunFixture(
  storage: StorageBackend = createMemoryStorage(),
  clock = createManualClock(),
) {
  const token = createUlidGenerator({ wallMs: () => clock.wallMs() });
  const parts = { storage, clock, token, random: () => 0.5 };
  const stacks = new StackDirectory({ storage, nextId: token, wallMs: () => clock.wallMs() });

  async function put<M>(kind: RecordKind<M>, place: Place, message: M): Promise<void> {
    const id = idOf(kind, place);
    const found = await storage.read("strong", id).catch(() => undefined);
    await storage.writeCAS({
      id: { ...id, uid: found?.id.uid ?? token() },
      version: found?.version ?? "",
      generation: token(),
      metadata: {},
      status: {},
      data: { typeUrl: typeUrlOf(kind.type), value: kind.codec.encode(message).finish() },
    });
  }

  return {
    parts,
    clock,
    storage,
    put,
    /** Puts something that is no message of the kind in a place. */
    damage: async <M>({ type }: RecordKind<M>, place: Place): Promise<void> => {
      const id = idOf({ type }, place);
      const found = await storage.read("strong", id).catch(() => undefined);
      await storage.writeCAS({
        id: { ...id, uid: found?.id.uid ?? token() },
        version: found?.version ?? "",
        generation: token(),
        metadata: {},
        status: {},
        data: { typeUrl: "damaged", value: new Uint8Array() },
      });
    },
    /** A stack with one configuration version. */
    stack: async (name: string, account = "acme", project = "web"): Promise<StackReference> => {
      const { reference } = await stacks.ensure({ account, project }, name);
      const version = ConfigurationVersion.create({ digest: CONFIGURATION });
      await put(SERVER_KINDS.configuration, memberPlace(reference, CONFIGURATION), version);
      return reference;
    },
    enqueue: async (stack: StackReference, name: string, mode: Run_Mode, autoApply = false) => {
      const reference = { stack, run: token() };
      const given = { reference, stackName: name, configuration: CONFIGURATION, mode, autoApply };
      await enqueueRun(parts, { ...given, actor: "ann" });
      return reference;
    },
    /** A lease as a worker has it. */
    worker: async (id: string): Promise<WorkerTenure & { readonly lease: Lease }> => {
      const leases = createLeases({ storage, owner: id, clock });
      const tenancy = { partition: "stackwright", peerName: "local", namespace: "~server" };
      const lease = await leases.tryAcquire({ tenancy, name: `worker.${id}` });
      if (lease === undefined) throw new Error(`the worker ${id} exists`);
      return { id, epoch: lease.tenure.epoch, guard: lease.guard, lease };
    },
    /** The fence of a stack, as an executor takes it; undefined while another has it. */
    fence: async (stack: StackReference, owner: string): Promise<Lease | undefined> =>
      createLeases({ storage, owner, clock }).tryAcquire(stackPlace(stack)),
    /** A plan, as an executor stores it. */
    plan: async (stack: StackReference, seed: string): Promise<string> => {
      const digest = createHash("sha256").update(seed).digest("hex");
      const message = StackPlan.create({ digest });
      await put(STACK_PLAN_KIND, memberPlace(stack, digest), message);
      return digest;
    },
    /** The head, as an executor writes it: open for a run, or at rest. */
    head: async (stack: StackReference, run: string): Promise<void> =>
      put(STACK_HEAD_KIND, stackPlace(stack), StackHead.create({ run, revision: 1n })),
    tenancy: projectTenancy({ account: "acme", project: "web" }),
  };
}

export type RunFixture = ReturnType<typeof createRunFixture>;
