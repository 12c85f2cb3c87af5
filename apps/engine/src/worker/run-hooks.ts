import type { StackReference } from "@stackwright/core";
import { type RunHook, RunHook_Stage } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { type Place, projectTenancy } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { HookStage, JobHook } from "../executor/execution-job.ts";
import { idOf } from "../queue/transaction.ts";

export const STORED_STAGES: Readonly<Record<HookStage, RunHook_Stage>> = {
  before_plan: RunHook_Stage.STAGE_BEFORE_PLAN,
  after_plan: RunHook_Stage.STAGE_AFTER_PLAN,
  before_apply: RunHook_Stage.STAGE_BEFORE_APPLY,
  after_apply: RunHook_Stage.STAGE_AFTER_APPLY,
};

/** Whose hooks: those of a project, or of a stack. */
export type HookOwner = Pick<StackReference, "account" | "project"> & { readonly stack?: string };

/** Where the hooks of a project or a stack are. Ids of stacks are ULIDs, so that none is called "project". */
export function hooksPlace({ stack = "project", ...project }: HookOwner): Place {
  return { tenancy: projectTenancy(project), name: stack };
}

/** The hooks that a run of a stack has: those of its project, then its own. */
export async function readRunHooks(
  { storage }: { readonly storage: StorageBackend },
  stack: StackReference,
): Promise<readonly JobHook[]> {
  const { account, project } = stack;
  const kind = SERVER_KINDS.hooks;
  const owned = await Promise.all(
    [{ account, project }, stack].map(async (owner) => {
      const found = await readStored(storage, "strong", idOf(kind, hooksPlace(owner)));
      return found === undefined ? [] : decodeRecord(kind, found).hooks;
    }),
  );
  return owned.flat().map(jobHookOf);
}

/** A hook as executors are given it. One of a stage that this release does not know fails its run, as it may forbid it. */
function jobHookOf(hook: RunHook): JobHook {
  const stages = Object.keys(STORED_STAGES) as HookStage[];
  const stage = stages.find((one) => STORED_STAGES[one] === hook.stage);
  if (stage === undefined) throw new TypeError(`the hook "${hook.name}" is of an unknown stage`);
  return {
    name: hook.name,
    stage,
    command: hook.command,
    script: hook.script,
    timeoutSeconds: hook.timeoutSeconds,
    onFailure: hook.onlyWarns ? "warn" : "fail",
    environment: Object.fromEntries(hook.environment),
  };
}
