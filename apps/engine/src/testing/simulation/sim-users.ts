import type { NamedStack, StackReference } from "@stackwright/core";
import type { VirtualScheduler } from "@stackwright/core/testing";
import {
  Run_Phase as P,
  type PlanSet,
  PlanSet_Phase,
  Project,
  Project_AutoApply,
  Project_Supersede,
  Run_Mode,
} from "@stackwright/proto/stackwright";
import { isStorageError } from "@stackwright/storage";
import { ChangeEntry } from "../../access/change-entry.ts";
import { projectPlace } from "../../domain/project-settings.ts";
import { projectTenancy } from "../../domain/run-places.ts";
import { isServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { advanceSetOf } from "../../plan-set/advance-open-sets.ts";
import { advancePlanSet } from "../../plan-set/advance-plan-set.ts";
import { createPlanSet } from "../../plan-set/create-plan-set.ts";
import { approvePlanSet, cancelPlanSet, discardPlanSet } from "../../plan-set/decide-plan-set.ts";
import { cancelRun } from "../../queue/cancel.ts";
import { approveRun, discardRun } from "../../queue/decide.ts";
import { enqueueRun } from "../../queue/enqueue.ts";
import { freeze, overrideFreeze, unfreeze } from "../../queue/freeze.ts";
import { overridePolicies } from "../../queue/override-policies.ts";
import { lockStack, unlockStack } from "../../queue/stack-lock.ts";
import { type TransactionParts, transact } from "../../queue/transaction.ts";
import type { RunModel } from "./run-model.ts";
import { ENDS } from "./run-phases.ts";
import type { RunSabotage } from "./sabotage.ts";
import { isEnded } from "./set-rules.ts";
import type { SimAction } from "./sim-case.ts";
import type { SimRequest } from "./sim-request.ts";
import type { SimServer } from "./sim-server.ts";
import { CONFIGURATION } from "./sim-stacks.ts";
import { removeStack, requireStack } from "./stack-removal.ts";

const SUPERSEDES = [
  Project_Supersede.SUPERSEDE_UNSPECIFIED,
  Project_Supersede.SUPERSEDE_PENDING,
  Project_Supersede.SUPERSEDE_UNAPPROVED,
] as const;
const AUTO_APPLIES = [
  Project_AutoApply.AUTO_APPLY_UNSPECIFIED,
  Project_AutoApply.AUTO_APPLY_NEVER,
  Project_AutoApply.AUTO_APPLY_ALWAYS,
] as const;

interface SimUsersParts {
  readonly scheduler: VirtualScheduler;
  readonly model: RunModel;
  readonly stacks: readonly NamedStack[];
  readonly sabotage: RunSabotage;
  /** Whether some runs are requested in stages. */
  readonly isStaged: boolean;
  /** Whether stacks are deleted. */
  readonly hasDeletions: boolean;
}

/** Those who use the servers of a simulation, and what they have asked for so far. */
export class SimUsers {
  readonly #parts: SimUsersParts;
  readonly #requests: Map<string, SimRequest>;

  /** @param requests those that the model sees */
  constructor(parts: SimUsersParts, requests: Map<string, SimRequest>) {
    this.#parts = parts;
    this.#requests = requests;
  }

  /** Whether a request waits for an answer that may come. */
  get isAwaited(): boolean {
    return [...this.#requests.values()].some(
      ({ outcome, mayBeLost }) => outcome === undefined && !mayBeLost,
    );
  }

  /** A server died: what it was asked may never be answered. */
  loseAnswers(): void {
    for (const request of this.#requests.values()) {
      if (request.outcome === undefined) request.mayBeLost = true;
    }
  }

  /** What a user does; rejects never. */
  async act(action: SimAction, server: SimServer | undefined): Promise<void> {
    const stack = this.#parts.stacks[action.stack];
    if (server === undefined || stack === undefined || server.process.isDead) return;
    const { scheduler, model } = this.#parts;
    const { process } = server;
    const id = `r${this.#requests.size + 1}`;
    const store = server.parts.storage.forRequest(id);
    let entries = 0;
    const parts: TransactionParts = {
      ...server.parts,
      storage: store,
      companion: new ChangeEntry(() => {
        entries += 1;
        return {
          kind: "write",
          resource: {
            id: {
              uid: `${id}.${entries}`,
              name: `${id}.${entries}`,
              type: { group: "stackwright", groupVersion: "v1", kind: "SimAudit" },
              tenancy: projectTenancy(stack.reference),
            },
            version: "",
            generation: `${id}.${entries}`,
            metadata: {},
            status: {},
          },
        };
      }),
    };
    const made = this.#request(id, action, stack, parts, server);
    if (made === undefined) return;
    const { request, send } = made;
    this.#requests.set(id, request);
    // The request is on its way.
    await new Promise<void>((resolve) => {
      scheduler.after((action.pick % 7) * 300, resolve);
    });
    if (process.isDead) {
      request.mayBeLost = true;
      return;
    }
    try {
      if (this.#parts.hasDeletions) await requireStack(parts, stack, action.kind);
      await send();
      request.outcome = "ok";
    } catch (error) {
      if (isServerError(error)) request.outcome = error.code;
      else if (isStorageError(error, "STORAGE_INCONSISTENT")) request.outcome = "unknown";
      else {
        request.outcome = "failed";
        const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
        model.records.fail(9, `${action.kind} ${id} failed: ${text}`);
      }
    }
    model.answered(request);
  }

  #request(
    id: string,
    { kind, actor, pick }: SimAction,
    named: NamedStack,
    parts: TransactionParts,
    /** Its parts are for what follows from the request, which the audit trail does not have. */
    { parts: follow, claims: { keys, blobs } }: SimServer,
  ): { readonly request: SimRequest; readonly send: () => Promise<unknown> } | undefined {
    const { name, reference: stack } = named;
    const open = this.#parts.model.records
      .runsOf(stack.stack)
      .filter(({ phase }) => !ENDS.has(phase));
    const waiting = open.find(({ phase }) => phase === P.PHASE_AWAITING_APPROVAL);
    const some = open[pick % Math.max(1, open.length)];
    const request = (
      run: string,
      given: Pick<SimRequest, "planDigest" | "autoApply" | "set" | "stack"> & {
        readonly mayBeIdle?: boolean;
      } = {},
    ): SimRequest => ({
      id,
      kind,
      actor,
      run,
      mayBeIdle: false,
      mayBeLost: false,
      commits: 0,
      outcome: undefined,
      ...given,
    });
    const runOf = (run: string) => ({ stack, run });
    const ms = (pick % 4) * 15_000;
    const until = { actor, reason: "of the simulation", forMs: ms === 0 ? undefined : ms };
    const target = pick % 3 === 0 ? { account: stack.account, project: stack.project } : stack;
    switch (kind) {
      case "enqueue": {
        const run = parts.token();
        const autoApply = [true, false, undefined][pick % 3];
        const mode = pick % 5 === 0 ? Run_Mode.MODE_PLAN_ONLY : Run_Mode.MODE_APPLY;
        const isStaged = this.#parts.isStaged && pick % 2 === 0 && mode === Run_Mode.MODE_APPLY;
        return {
          request: request(run, { autoApply }),
          send: async () =>
            enqueueRun(parts, {
              reference: runOf(run),
              stackName: name,
              configuration: CONFIGURATION,
              mode,
              actor,
              savedPlan: pick % 7 === 0,
              ...(isStaged && { stage: {} }),
              ...(autoApply !== undefined && { autoApply }),
            }),
        };
      }
      case "approve": {
        const run = waiting ?? some;
        if (run === undefined) return undefined;
        const { planDigest } = run;
        return {
          request: request(run.id, { planDigest, mayBeIdle: true }),
          send: async () =>
            approveRun(
              parts,
              runOf(run.id),
              this.#parts.sabotage.approvesAny === true
                ? {
                    actor,
                    planDigest: this.#parts.model.records.runs.get(run.id)?.planDigest ?? "",
                  }
                : { actor, planDigest },
            ),
        };
      }
      case "discard": {
        const run = waiting ?? some;
        if (run === undefined) return undefined;
        return {
          request: request(run.id),
          send: async () => {
            await discardRun(parts, runOf(run.id), { actor });
            await advanceSetOf(follow, runOf(run.id));
          },
        };
      }
      case "cancel": {
        if (some === undefined) return undefined;
        return {
          request: request(some.id, { mayBeIdle: true }),
          send: async () => {
            await cancelRun(parts, runOf(some.id), { actor, force: pick % 2 === 0 });
            await advanceSetOf(follow, runOf(some.id));
          },
        };
      }
      case "override": {
        if (some === undefined) return undefined;
        return {
          request: request(some.id),
          send: async () => overrideFreeze(parts, runOf(some.id), until),
        };
      }
      case "pass": {
        const held = open.find(({ phase }) => phase === P.PHASE_POLICY_FAILED);
        if (held === undefined) return undefined;
        const { planDigest } = held;
        return {
          request: request(held.id, { planDigest }),
          send: async () => {
            await overridePolicies(parts, runOf(held.id), {
              actor,
              reason: "of the simulation",
              planDigest,
              requireRole: () => undefined,
            });
            await advanceSetOf(follow, runOf(held.id));
          },
        };
      }
      case "lock":
        return { request: request(""), send: async () => lockStack(parts, stack, until) };
      case "unlock":
        return {
          request: request("", { mayBeIdle: true }),
          send: async () => unlockStack(parts, stack, { actor, force: pick % 2 === 0 }),
        };
      case "freeze":
        return { request: request(""), send: async () => freeze(parts, target, until) };
      case "unfreeze":
        return {
          request: request("", { mayBeIdle: true }),
          send: async () => unfreeze(parts, target),
        };
      case "settings":
        return { request: request(""), send: async () => settle(parts, stack, pick) };
      case "set":
        return this.#newSet(request, stack, actor, pick, parts, follow);
      case "approve-set":
      case "discard-set":
      case "cancel-set": {
        const set = this.#openSet(stack, kind === "cancel-set" ? pick % 2 : 1);
        if (set === undefined) return undefined;
        const { id: ofSet, digest } = set;
        const { account, project } = stack;
        const reference = { project: { account, project }, set: ofSet };
        const send = async (): Promise<void> => {
          if (kind === "discard-set") await discardPlanSet(parts, reference, { actor });
          else if (kind === "cancel-set") await cancelPlanSet(parts, reference, { actor });
          else {
            const shown =
              this.#parts.sabotage.approvesAny === true ? this.#digestOf(ofSet) : digest;
            await approvePlanSet(parts, reference, { actor, digest: shown });
          }
          await advancePlanSet(follow, reference);
        };
        const mayBeIdle = kind === "approve-set";
        return { request: request("", { set: ofSet, planDigest: digest, mayBeIdle }), send };
      }
      case "delete":
        return {
          request: request("", { stack: stack.stack }),
          send: async () => removeStack({ ...parts, keys, blobs }, follow, named, actor),
        };
      default:
        throw new Error(kind satisfies never);
    }
  }

  /** A set of stacks of the project of a stack. */
  #newSet(
    request: (run: string, given: Pick<SimRequest, "set">) => SimRequest,
    { account, project, stack: id }: StackReference,
    actor: string,
    pick: number,
    parts: TransactionParts,
    follow: TransactionParts,
  ): { readonly request: SimRequest; readonly send: () => Promise<unknown> } {
    const reference = { project: { account, project }, set: parts.token() };
    const members = this.#parts.stacks
      .filter(({ reference: one }) => one.project === project && (one.stack === id || pick % 4 > 0))
      .map(({ name, reference: stack }) => ({ stack, name, configuration: CONFIGURATION }));
    return {
      request: request("", { set: reference.set }),
      send: async () => {
        await createPlanSet(parts, {
          reference,
          members: pick % 2 === 0 ? members : members.toReversed(),
          mode: pick % 9 === 0 ? Run_Mode.MODE_PLAN_ONLY : Run_Mode.MODE_APPLY,
          actor,
          message: "",
        });
        await advancePlanSet(follow, reference);
      },
    };
  }

  /** A set that has not ended with the stack in it; one that waits for an approval where there is one. */
  #openSet({ stack }: StackReference, waits: number): PlanSet | undefined {
    const open = [...this.#parts.model.records.sets.rows.values()].filter(
      ({ phase, members }) => !isEnded(phase) && members.some((one) => one.stack === stack),
    );
    const waiting = open.find(({ phase }) => phase === PlanSet_Phase.PHASE_AWAITING_APPROVAL);
    return waits === 1 ? (waiting ?? open[0]) : open[0];
  }

  #digestOf(set: string): string {
    const found = [...this.#parts.model.records.sets.rows.values()].find(({ id }) => id === set);
    return found?.digest ?? "";
  }
}

/** Other settings of a project. */
async function settle(parts: TransactionParts, stack: StackReference, pick: number): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await tx.findOrNew(SERVER_KINDS.project, projectPlace(stack), () =>
      Project.create({ name: stack.project }),
    );
    tx.update(row, {
      requiredApprovals: pick % 3,
      excludeAuthor: pick % 4 === 0,
      supersede: SUPERSEDES[pick % 3] ?? Project_Supersede.SUPERSEDE_UNSPECIFIED,
      autoApply: AUTO_APPLIES[(pick >> 2) % 3] ?? Project_AutoApply.AUTO_APPLY_UNSPECIFIED,
    });
  });
}
