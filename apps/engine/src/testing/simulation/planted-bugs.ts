import {
  PlanSet,
  PlanSet_Phase,
  Project,
  Project_AutoApply,
  Run,
  Run_Phase,
  RunLogSegment,
  RunTicket,
  RunTicket_Step,
  Schedule,
  StackDeletion,
  StackOutputs,
  StackQueue,
} from "@stackwright/proto/stackwright";
import { type BatchOperation, type Resource, StorageError } from "@stackwright/storage";
import type { RunSabotage } from "./sabotage.ts";
import type { SimBatch } from "./sim-store.ts";

interface Codec<M> {
  encode(message: M): { finish(): Uint8Array };
  decode(bytes: Uint8Array): M;
}

const kindOf = (operation: BatchOperation): string =>
  operation.kind === "write" ? operation.resource.id.type.kind : operation.id.type.kind;

function changed<M>(
  resource: Resource,
  kind: string,
  codec: Codec<M>,
  change: (message: M) => M,
): Resource {
  if (resource.id.type.kind !== kind || resource.data === undefined) return resource;
  const { typeUrl, value } = resource.data;
  const bytes = codec.encode(change(codec.decode(value))).finish();
  return { ...resource, data: { typeUrl, value: bytes } };
}

/** A bug in the records of a kind. */
const writing =
  <M>(kind: string, codec: Codec<M>, change: (message: M) => M) =>
  (): RunSabotage => ({
    alter: ({ operations, options }) => ({
      options,
      operations: operations.map((one) =>
        one.kind === "write"
          ? { ...one, resource: changed(one.resource, kind, codec, change) }
          : one,
      ),
    }),
  });

/** A bug in which operations of batches are forgotten. */
const forgetting =
  (forgotten: (one: BatchOperation, batch: SimBatch) => boolean) => (): RunSabotage => ({
    alter: (batch) => ({
      ...batch,
      operations: batch.operations.filter((one) => !forgotten(one, batch)),
    }),
  });

/** A check that is forgotten: users, or workers, do not see what they should. */
const blindTo =
  <M>(whose: "requests" | "workers", kind: string, codec: Codec<M>, change: (message: M) => M) =>
  (): RunSabotage => ({
    alterRead: (resource, isRequest) =>
      isRequest === (whose === "requests") ? changed(resource, kind, codec, change) : resource,
  });

/** What is read of a kind may be another one by the moment of the write. */
const unguarded = (kind: string) => (): RunSabotage => ({
  alter: ({ operations, options }) => ({
    operations,
    options: {
      ...options,
      guards: (options?.guards ?? []).filter(({ id }) => id.type.kind !== kind),
    },
  }),
});

/** What is held up is not seen, nor is that it is held up looked at again in the moment of the write. */
const ignoring = (kind: string) => (): RunSabotage => ({
  ...unguarded(kind)(),
  hidden: (id, isRequest) => !isRequest && id.type.kind === kind,
});

const phaseIn =
  (...phases: readonly Run_Phase[]) =>
  (one: BatchOperation): boolean =>
    one.kind === "write" &&
    one.resource.id.type.kind === "Run" &&
    phases.includes(Run.decode(one.resource.data?.value ?? new Uint8Array()).phase);

const hasExpired = ({ phase, reasonCode }: Run): boolean =>
  phase === Run_Phase.PHASE_DISCARDED && reasonCode === "approval_expired";

const isExpired = (one: BatchOperation): boolean =>
  one.kind === "write" &&
  one.resource.id.type.kind === "Run" &&
  hasExpired(Run.decode(one.resource.data?.value ?? new Uint8Array()));

/**
 * Bugs as the run layer could have them, each with the rules of the model one of which has to notice, and a seed that shows it.
 */
export const BUGS: readonly (readonly [
  title: string,
  rules: readonly number[],
  seed: number,
  sabotage: () => RunSabotage,
])[] = [
  [
    "a run that leaves the queue and takes its successor along",
    [2],
    4,
    writing("StackQueue", StackQueue, (queue) => ({ ...queue, pending: queue.pending.slice(1) })),
  ],
  [
    "a queue whose newest run is the next one",
    [2],
    8,
    writing("StackQueue", StackQueue, (queue) => ({
      ...queue,
      pending: queue.pending.toReversed(),
    })),
  ],
  [
    "a number that is given twice",
    [2],
    4,
    writing("StackQueue", StackQueue, (queue) => ({ ...queue, lastNumber: 1n })),
  ],
  [
    "an approval that gives no ticket",
    [3],
    1,
    forgetting(
      (one, { operations }) =>
        kindOf(one) === "RunTicket" && operations.some(phaseIn(Run_Phase.PHASE_APPROVED)),
    ),
  ],
  [
    "an ended run that keeps its ticket",
    [3],
    1,
    forgetting((one) => one.kind === "delete" && kindOf(one) === "RunTicket"),
  ],
  [
    "a rule of approvals that is not the one of the project",
    [4],
    1,
    writing("Run", Run, (run) => ({ ...run, requiredApprovals: 1, excludeAuthor: false })),
  ],
  [
    "an approval of another plan than the one that was shown",
    [4],
    51,
    () => ({ approvesAny: true }),
  ],
  [
    "a plan that is applied without approval, whatever its project says",
    [4],
    4,
    blindTo("workers", "Project", Project, (project) => ({
      ...project,
      autoApply: Project_AutoApply.AUTO_APPLY_ALWAYS,
    })),
  ],
  [
    "a ticket that is claimed although another worker has it",
    [5, 11],
    2,
    () => {
      let reads = 0;
      const blind = blindTo("workers", "RunTicket", RunTicket, (ticket) => {
        reads += 1;
        return reads % 5 === 0 ? { ...ticket, claim: undefined } : ticket;
      });
      return blind();
    },
  ],
  ["a claim past a lock", [5], 7, ignoring("StackLock")],
  ["a claim past a freeze", [5], 56, ignoring("Freeze")],
  [
    "a cancel that ends a run which a worker has",
    [5],
    12,
    blindTo("requests", "RunTicket", RunTicket, (ticket) => ({ ...ticket, claim: undefined })),
  ],
  [
    "a newer run that ends an approved one",
    [1],
    4,
    blindTo("requests", "Run", Run, (run) =>
      run.phase === Run_Phase.PHASE_APPROVED
        ? { ...run, phase: Run_Phase.PHASE_AWAITING_APPROVAL }
        : run,
    ),
  ],
  [
    "an apply under an epoch of before",
    [6],
    2,
    writing("Run", Run, (run) => ({ ...run, epoch: run.epoch > 1n ? run.epoch - 1n : run.epoch })),
  ],
  [
    "events that are lost",
    [7],
    1,
    writing("RunLogSegment", RunLogSegment, (segment) => ({
      ...segment,
      events: segment.events.slice(1),
    })),
  ],
  [
    "an executor that is refused and begins all the same",
    [6, 8],
    92,
    () => ({ ignoresRefusal: true }),
  ],
  ["a recovery that makes again what was made", [8], 22, () => ({ repeats: true })],
  ["an apply that says more than was done", [8], 211, () => ({ overstates: true })],
  [
    "a request that is refused although it was done, as its answer was lost",
    [9],
    135,
    () => {
      let writes = 0;
      return {
        alter: ({ operations, options }) => ({
          options,
          operations: operations.map((one) =>
            one.kind === "write" && kindOf(one) !== "Fence" && kindOf(one) !== "SimRevision"
              ? { ...one, resource: { ...one.resource, generation: `g${(writes += 1)}` } }
              : one,
          ),
        }),
      };
    },
  ],
  [
    "a change without an entry in the audit trail",
    [9],
    1,
    forgetting((one) => kindOf(one) === "SimAudit"),
  ],
  [
    "a claim whose end counts twice",
    [11],
    13,
    writing("RunTicket", RunTicket, (ticket) => ({
      ...ticket,
      attempts: ticket.attempts === 1 ? 2 : ticket.attempts,
    })),
  ],
  [
    "a dead worker whose claims are never given back",
    [12],
    1,
    () => ({
      alter: (batch, process) => {
        const isRelief = batch.options?.guards?.some(
          ({ id }) => id.type.kind === "Fence" && id.name.startsWith("worker."),
        );
        const isClaim = batch.operations.some(
          (one) =>
            one.kind === "write" &&
            kindOf(one) === "RunTicket" &&
            RunTicket.decode(one.resource.data?.value ?? new Uint8Array()).claim !== undefined,
        );
        if (isRelief === true && !isClaim && process.name.includes("server")) {
          throw new StorageError("STORAGE_CAS_FAILURE");
        }
        return batch;
      },
    }),
  ],
  [
    "a worker that takes applies last",
    [10],
    63,
    blindTo("workers", "RunTicket", RunTicket, (ticket) => ({
      ...ticket,
      background: ticket.background || ticket.step === RunTicket_Step.STEP_APPLY,
    })),
  ],
  [
    "a claim of a remote worker that its own earlier request releases",
    [5],
    13,
    writing("RunTicket", RunTicket, (ticket) => ({
      ...ticket,
      claim: ticket.claim && { ...ticket.claim, request: 0n },
    })),
  ],
  [
    "a claim whose answer was lost, which its worker keeps for ever",
    [12],
    13,
    () => ({ keepsLost: true }),
  ],
  [
    "what a remote worker gives back at its end, which counts as lost",
    [11],
    14,
    () => ({ countsEnds: true }),
  ],
  [
    "a time of a schedule that is not noted",
    [13],
    3,
    forgetting((one) => kindOf(one) === "Schedule"),
  ],
  [
    "a schedule that requests its run before the time",
    [13],
    37,
    blindTo("workers", "Schedule", Schedule, (schedule) => ({
      ...schedule,
      nextAtMs: schedule.nextAtMs === 0n ? 0n : schedule.nextAtMs - 30_000n,
    })),
  ],
  [
    "a schedule that requests a run while its last one has not ended",
    [13],
    195,
    blindTo("workers", "Schedule", Schedule, (schedule) => ({ ...schedule, lastRun: "" })),
  ],
  [
    "a trigger that does not see the newest outputs",
    [14],
    4,
    blindTo("workers", "StackOutputs", StackOutputs, (outputs) => ({
      ...outputs,
      revision: outputs.revision - 1n,
    })),
  ],
  [
    "a change that a trigger does not take note of",
    [14],
    4,
    forgetting((one) => kindOf(one) === "RunTrigger"),
  ],
  [
    "a trigger that requests a run while one waits",
    [14],
    79,
    blindTo("workers", "Run", Run, (run) => ({ ...run, cause: "" })),
  ],
  [
    "a plan that waits for its approval without an end",
    [20],
    1,
    writing("Run", Run, (run) => ({ ...run, approvalDeadlineMs: 0n })),
  ],
  [
    "a plan that is given up before its time is over",
    [20],
    9,
    blindTo("workers", "Run", Run, (run) =>
      run.approvalDeadlineMs === 0n
        ? run
        : { ...run, approvalDeadlineMs: run.approvalDeadlineMs - 60_000n },
    ),
  ],
  [
    "an approved run that ended with its time, which a worker applies all the same",
    [20],
    138,
    () => ({
      ...forgetting(
        (one, { operations }) =>
          one.kind === "delete" && kindOf(one) === "RunTicket" && operations.some(isExpired),
      )(),
      ...blindTo("workers", "Run", Run, (run) =>
        hasExpired(run) && run.approvals.length > 0
          ? { ...run, phase: Run_Phase.PHASE_APPROVED, approvalValidMs: 0n }
          : run,
      )(),
    }),
  ],
  ["a plan that passes whatever policies say", [15], 1, () => ({ passesAll: true })],
  [
    "a permission to pass policies of the author of the run",
    [4, 15],
    7,
    blindTo("requests", "Run", Run, (run) => ({ ...run, excludeAuthor: false })),
  ],
  [
    "a stage that forgets what its plan leaves",
    [16],
    1,
    writing("Run", Run, ({ stage, ...run }) => ({
      ...run,
      stage: stage && { ...stage, left: [] },
    })),
  ],
  [
    "a further stage that does not know what the one before it left",
    [16],
    1,
    writing("Run", Run, ({ stage, ...run }) => ({
      ...run,
      stage: stage && { ...stage, before: [] },
    })),
  ],
  [
    "a further stage that is the first one again",
    [16],
    1,
    writing("Run", Run, ({ stage, ...run }) => ({
      ...run,
      stage: stage && { ...stage, number: 1 },
    })),
  ],
  [
    "a further stage that goes without the approval that the first one needed",
    [4, 16],
    1,
    writing("Run", Run, (run) =>
      (run.stage?.previous ?? "") === "" ? run : { ...run, autoApply: true },
    ),
  ],
  [
    "a plan set that is approved by one where two have to",
    [18],
    21,
    writing("PlanSet", PlanSet, (set) => ({ ...set, requiredApprovals: 1, excludeAuthor: false })),
  ],
  [
    "a set whose stacks may be in another one",
    [17],
    1,
    blindTo("requests", "StackQueue", StackQueue, (queue) => ({ ...queue, planSet: "" })),
  ],
  [
    "a set that forgets which plans were made with which",
    [18],
    70,
    writing("PlanSet", PlanSet, (set) => ({
      ...set,
      members: set.members.map((member) => ({ ...member, reads: [] })),
    })),
  ],
  [
    "a plan that waits for another one, and is not made once that is there",
    [3, 12],
    17,
    forgetting(
      (one, { operations }) =>
        one.kind === "write" &&
        kindOf(one) === "RunTicket" &&
        operations.some((other) => kindOf(other) === "PlanSet") &&
        !operations.some((other) => kindOf(other) === "StackQueue"),
    ),
  ],
  [
    "a set that is settled before its runs have ended",
    [19],
    1,
    writing("PlanSet", PlanSet, (set) => ({ ...set, settled: ENDS_OF_SETS.has(set.phase) })),
  ],
  [
    "a set of which nothing is applied once it is approved",
    [19],
    6,
    blindTo("workers", "PlanSet", PlanSet, (set) =>
      set.phase === PlanSet_Phase.PHASE_APPLYING
        ? { ...set, phase: PlanSet_Phase.PHASE_AWAITING_APPROVAL }
        : set,
    ),
  ],
  [
    "a run of a set that is requested once the set has ended",
    [17],
    1,
    blindTo("workers", "PlanSet", PlanSet, (set) =>
      set.phase === PlanSet_Phase.PHASE_CANCELED
        ? { ...set, phase: PlanSet_Phase.PHASE_PLANNING, settled: false }
        : set,
    ),
  ],
  [
    "a stack that is deleted while it has runs",
    [21],
    6,
    blindTo("requests", "StackQueue", StackQueue, (queue) => ({
      ...queue,
      current: "",
      pending: [],
    })),
  ],
  [
    "a run that is requested in the moment in which its stack is deleted",
    [21],
    5,
    unguarded("Stack"),
  ],
  [
    "a stack that is deleted while its plan set has not ended",
    [21],
    98,
    blindTo("requests", "StackQueue", StackQueue, (queue) => ({ ...queue, planSet: "" })),
  ],
  [
    "a stack that is deleted past a lock",
    [21],
    18,
    () => ({
      ...unguarded("StackLock")(),
      hidden: (id, isRequest) => isRequest && id.type.kind === "StackLock",
    }),
  ],
  [
    "a deletion of which there is no record",
    [21],
    5,
    forgetting((one) => one.kind === "write" && kindOf(one) === "StackDeletion"),
  ],
  [
    "a deletion that is taken for finished before it is",
    [21],
    7,
    writing("StackDeletion", StackDeletion, (deletion) => ({
      ...deletion,
      removedAtMs: deletion.removedAtMs === 0n ? deletion.atMs : deletion.removedAtMs,
    })),
  ],
  [
    "a deletion that does not wait for late writes",
    [21],
    5,
    () => ({
      alter: ({ operations, options }) => ({
        options,
        operations: operations.map((one) => {
          if (one.kind === "delete" || kindOf(one) !== "StackDeletion") return one;
          const { id, version, data } = one.resource;
          const { removedAtMs } = StackDeletion.decode(data?.value ?? new Uint8Array());
          return removedAtMs === 0n ? one : { kind: "delete" as const, id, version };
        }),
      }),
    }),
  ],
  [
    "a trigger that follows a stack which was deleted",
    [14, 21],
    5,
    forgetting((one) => one.kind === "delete" && kindOf(one) === "RunTrigger"),
  ],
  [
    "logs that are kept of a stack which was deleted",
    [21],
    7,
    forgetting((one) => one.kind === "delete" && kindOf(one) === "RunLogSegment"),
  ],
];

const ENDS_OF_SETS: ReadonlySet<PlanSet_Phase> = new Set([
  PlanSet_Phase.PHASE_APPLIED,
  PlanSet_Phase.PHASE_NO_CHANGES,
  PlanSet_Phase.PHASE_PLAN_FINISHED,
  PlanSet_Phase.PHASE_FAILED,
  PlanSet_Phase.PHASE_DISCARDED,
  PlanSet_Phase.PHASE_CANCELED,
]);
