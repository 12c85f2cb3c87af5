import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Semaphore } from "@stackwright/base/limiter";
import { adoptState, hasChanges, importedState, NO_MIRROR, type Plan } from "@stackwright/core";
import {
  parseStateFile as parseFile,
  type TerraformState,
  TfstateError,
} from "@stackwright/tfstate";
import { type HeldLock, placeDigest, type StateBackend } from "@stackwright/tfstate/backend";
import type { CommandContext } from "../command-context.ts";
import { hintOf } from "../command-error.ts";
import { adoptionMarker } from "../session/adoption-marker.ts";
import { CollectingView } from "../session/collecting-view.ts";
import { makePlan } from "../session/create-plan.ts";
import { openEngine } from "../session/open-engine.ts";
import type { Project } from "../session/project.ts";
import type { PlanningOptions } from "../session/run-options.ts";
import { openReader, openWriter, parseDuration } from "../session/session.ts";
import { lockRecord } from "../session/write-back.ts";
import { comparePlans, type PlanComparison } from "./compare-plans.ts";
import { finishFence } from "./finish-fence.ts";

/** What is to be done with the old state once the stack has it. */
type OldStateTreatment = "fence" | "none";

export interface AdoptWorkspaceOptions extends PlanningOptions {
  /** Only report. */
  readonly dryRun: boolean;
  /** Record the state although the plan has changes. */
  readonly acceptChanges: boolean;
  readonly old: OldStateTreatment;
  /** Keep a copy of the state in the old backend. */
  readonly mirror: boolean;
  /** A command whose plan is compared with ours: `terraform`, `tofu` or a path. */
  readonly verify?: string;
  /** Shared by adoptions at the same time: an embedded store has one writer. */
  readonly recording?: Semaphore;
  /** Approves what was found; undefined: approved. */
  readonly approve?: (report: WorkspaceReport) => Promise<boolean>;
}

/** What became of one workspace. */
export interface WorkspaceReport {
  readonly workspace: string;
  readonly stack: string;
  readonly place: string;
  /**
   * `adopted` now, `adoptable` (dry run), `already` adopted before, `changes`: the plan is not empty, `none`: no state,
   * `declined`, `failed`.
   */
  readonly verdict:
    | "adopted"
    | "adoptable"
    | "already"
    | "changes"
    | "none"
    | "declined"
    | "failed";
  readonly lineage?: string;
  readonly serial?: string;
  readonly objects?: number;
  readonly outputs?: number;
  /** Planned changes by address; outputs as `output.NAME`. */
  readonly changes?: readonly { readonly address: string; readonly action: string }[];
  /** Objects that are other than recorded while the configuration agrees with them. */
  readonly drift?: readonly string[];
  readonly comparison?: PlanComparison;
  /** What keeps the other command from writing. */
  readonly old?: string;
  readonly problem?: string;
  readonly plan?: Plan;
}

interface Ground {
  readonly project: Project;
  readonly backend: StateBackend;
  readonly workspace: string;
  readonly stack: string;
  readonly options: AdoptWorkspaceOptions;
  readonly context: CommandContext;
}

interface LockedGround extends Ground {
  readonly held: HeldLock;
  /** Whether the lock stays: from the moment on in which the stack has the state. */
  readonly fence: { keep: boolean };
}

/**
 * Adopts the state of one workspace: locks it, plans against it before anything is recorded, records it in one step, and
 * keeps the other command from writing. Failures are part of the report.
 */
export async function adoptWorkspace(ground: Ground): Promise<WorkspaceReport> {
  const { workspace, stack, backend, context } = ground;
  const base = { workspace, stack, place: backend.place(workspace) };
  let held: HeldLock | undefined;
  const fence = { keep: false };
  let report: WorkspaceReport;
  try {
    const adopted = await adoptedBefore(ground);
    if (adopted !== undefined) return { ...base, ...adopted };
    // A workspace without a state is not locked: a lock would make one in some backends.
    if ((await backend.read(workspace, { signal: context.signal })) === undefined) {
      return { ...base, verdict: "none" };
    }
    held = await lockInTime(ground);
    report = await adoptLocked({ ...ground, held, fence }, base);
  } catch (error) {
    // The lock is released also when the command is stopped.
    const left = fence.keep ? "" : await released(held);
    if (context.signal.aborted) throw error;
    return { ...base, verdict: "failed", problem: `${messageOf(error)}${left}` };
  }
  const left = fence.keep ? "" : await released(held);
  return left === "" ? report : { ...report, problem: `${report.problem ?? ""}${left}`.trim() };
}

/** Releases a lock; what was adopted is adopted also where that fails. Empty, or what is to be done. */
async function released(held: HeldLock | undefined): Promise<string> {
  try {
    await held?.release();
    return "";
  } catch (error) {
    return ` The lock with ID ${held?.id} was not released (${messageOf(error)}); "terraform force-unlock ${held?.unlockArgument ?? held?.id}" releases it.`;
  }
}

/** In one line, with what the error says about its reason or about what to do. */
function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return [message, ...(hintOf(error)?.split(/\s*\n[\s│╷╵]*/) ?? [])].filter(Boolean).join(" ");
}

async function adoptedBefore({
  backend,
  workspace,
  stack,
  options,
  context,
}: Ground): Promise<
  Pick<WorkspaceReport, "verdict" | "lineage" | "serial" | "problem" | "old"> | undefined
> {
  const session = await openReader(context, { ...options, stack });
  try {
    const origin = session?.stack?.adoption;
    if (origin?.kind === "state" && !origin.handedBack) {
      const { lineage, serial, place } = origin;
      const found = { verdict: "already", lineage, serial: serial.toString() } as const;
      // What was given as a file has no fence.
      if (["", "file"].includes(origin.backend) || backend.type === "file") return found;
      if (origin.backend !== backend.type || place !== backend.place(workspace)) {
        const problem = `the stack "${stack}" has adopted another state: ${place}`;
        return { ...found, verdict: "failed", problem };
      }
      if (options.dryRun) return found;
      const store = session?.storeName ?? "";
      const marker = adoptionMarker({ stack, store, file: origin });
      const record = lockRecord("stackwright adopt");
      const { signal } = context;
      const old = await finishFence({ backend, workspace, origin, record, marker, signal });
      return old === undefined ? found : { ...found, old };
    }
    if (session?.stack === undefined || origin !== undefined) return undefined;
    const { objects } = await session.stateOf(session.stack).read({ signal: context.signal });
    return objects.size === 0
      ? undefined
      : { verdict: "failed", problem: `the stack "${stack}" has ${objects.size} objects already` };
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

async function adoptLocked(
  ground: LockedGround,
  base: Pick<WorkspaceReport, "workspace" | "stack" | "place">,
): Promise<WorkspaceReport> {
  const { backend, workspace, options, context } = ground;
  const { signal } = context;
  const bytes = await backend.read(workspace, { signal });
  if (bytes === undefined) return { ...base, verdict: "none" };
  const file = parseState(bytes);
  const counts = {
    lineage: file.lineage,
    serial: file.serial.toString(),
    objects: file.resources.reduce((sum, { instances }) => sum + instances.length, 0),
    outputs: file.outputs.length,
  };
  if (counts.objects === 0 && counts.outputs === 0) {
    return { ...base, ...counts, verdict: "none" };
  }
  const planned = await trialPlan(file, ground);
  const found = { ...base, ...counts, ...planned };
  if (planned.problem !== undefined) return { ...found, verdict: "failed" };
  const differs = (planned.comparison?.differences.length ?? 0) > 0;
  if ((planned.changes.length > 0 || differs) && !options.acceptChanges) {
    return { ...found, verdict: "changes" };
  }
  if (options.dryRun) return { ...found, verdict: "adoptable" };
  const approved = (await options.approve?.({ ...found, verdict: "adoptable" })) ?? true;
  if (!approved) return { ...found, verdict: "declined" };
  const write = async (): Promise<string> => record(file, bytes, planned.changes.length, ground);
  const old = await (options.recording === undefined ? write() : options.recording.run(write));
  return { ...found, verdict: "adopted", old };
}

/** A plan against the state, made in memory: nothing is recorded. */
async function trialPlan(
  file: TerraformState,
  { project, stack, workspace, options, context }: Ground,
): Promise<
  Pick<WorkspaceReport, "drift" | "problem" | "plan" | "comparison"> & {
    readonly changes: NonNullable<WorkspaceReport["changes"]>;
  }
> {
  const session = await openReader(context, { ...options, stack });
  try {
    const reference = {
      account: session?.project.account ?? "default",
      project: session?.project.project ?? "default",
      stack: session?.stack?.reference.stack ?? "",
    };
    const state = importedState(reference, file);
    const view = new CollectingView();
    await using engine = await openEngine(project, context, {
      state,
      session,
      registry: options.registry,
    });
    const made = await makePlan({ engine, project, state, workspace }, options, view, context);
    if (made === undefined) {
      const first = view.found.find(({ severity }) => severity === "error");
      const text = [first?.summary, first?.detail].filter(Boolean).join(": ");
      return { changes: [], problem: `no plan: ${text}` };
    }
    const { plan } = made;
    const comparison =
      options.verify === undefined
        ? undefined
        : await comparePlans(
            { command: options.verify, workspace, plan, engine, project },
            options,
            context,
          );
    return {
      plan,
      changes: changesOf(plan),
      drift: plan.drift.map(({ address }) => address),
      ...(comparison !== undefined && { comparison }),
    };
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
}

/** What applying a plan would do, one line per object and output. */
function changesOf(plan: Plan): { address: string; action: string }[] {
  if (!hasChanges(plan)) return [];
  const resources = plan.changes.flatMap(
    ({ address, action, reason, previousAddress, importing }) => {
      // That a check fails now says nothing of the state.
      if (action === "read" && reason === "read-because-check-nested") return [];
      if (action !== "no-op") return [{ address, action }];
      if (importing !== undefined) return [{ address, action: "import" }];
      return previousAddress === undefined ? [] : [{ address, action: "move" }];
    },
  );
  const outputs = plan.outputs
    .filter(({ action }) => action !== "no-op")
    .map(({ name, action }) => ({ address: `output.${name}`, action }));
  return [...resources, ...outputs];
}

/** Records the state, after it was read a second time, and fences the old one. Returns what fences it. */
async function record(
  file: TerraformState,
  bytes: Uint8Array,
  acceptedChanges: number,
  { backend, workspace, stack, options, context, held, fence }: LockedGround,
): Promise<string> {
  const { signal } = context;
  await using session = await openWriter(context, { ...options, stack });
  const keepsLock = options.old === "fence" && held.outlivesProcess;
  const marks = options.old === "fence" && !keepsLock && !options.mirror;
  const suffix = `adopted-${file.serial}`;
  await adoptState({
    stacks: session.stacks,
    stateOf: (reference) => session.stateOf({ ...session.stack, reference }),
    project: session.project,
    name: stack,
    file,
    origin: {
      kind: "state",
      timeMs: Date.now(),
      actor: session.newRun().cause,
      lineage: file.lineage,
      serial: file.serial,
      backend: backend.type,
      place: backend.place(workspace),
      placeDigest: placeDigest(backend, workspace) ?? "",
      workspace,
      sha256: sha256(bytes),
      terraformVersion: file.terraformVersion,
      acceptedChanges,
      lockId: keepsLock ? held.id : "",
      renamedTo: marks && backend.retire !== undefined ? suffix : "",
      mirror: { ...NO_MIRROR, enabled: options.mirror },
      handedBack: false,
    },
    beforeCommit: async () => {
      const again = await backend.read(workspace, { signal });
      if (again === undefined || sha256(again) !== sha256(bytes)) {
        throw new TfstateError(
          "TFSTATE_BACKEND_DIGEST",
          `${backend.place(workspace)}: another command wrote the state meanwhile, in spite of the lock`,
        );
      }
    },
    signal,
  });
  fence.keep = keepsLock;
  if (keepsLock) {
    return `locked with ID ${held.id}; "terraform force-unlock ${held.unlockArgument ?? held.id}" releases it`;
  }
  if (marks && backend.retire !== undefined) {
    const marker = adoptionMarker({ stack, store: session.storeName, file });
    const kept = await backend.retire(workspace, suffix, marker);
    return `kept as ${kept}; the old name holds a marker that the other command refuses`;
  }
  return options.mirror
    ? "kept in step, by a copy of each revision: do not use the other command on it"
    : "left as it is: do not use the other command on it";
}

function parseState(bytes: Uint8Array): TerraformState {
  if (bytes.length === 0) throw new TfstateError("TFSTATE_FILE_INVALID", "the state file is empty");
  return parseFile(new TextDecoder("utf-8", { fatal: false }).decode(bytes));
}

async function lockInTime({ backend, workspace, options, context }: Ground): Promise<HeldLock> {
  const deadline = performance.now() + parseDuration(options.lockTimeout);
  const record = lockRecord("stackwright adopt");
  for (;;) {
    try {
      return await backend.lock(workspace, record, { signal: context.signal });
    } catch (error) {
      const locked = error instanceof TfstateError && error.code === "TFSTATE_BACKEND_LOCKED";
      if (!locked || performance.now() >= deadline) throw error;
      await delay(500, undefined, { signal: context.signal });
    }
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
