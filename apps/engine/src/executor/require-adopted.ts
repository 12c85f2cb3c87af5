import { type Configuration, detectAdoption } from "@stackwright/core";
import { EngineError } from "@stackwright/core/errors";
import type { ExecutionJob } from "./execution-job.ts";

/**
 * Refuses to plan on an empty stack whose bundle shows that another command has a state of it, as the command does; and to plan
 * and apply on a stack that takes no more runs. `ENGINE_STATE_NOT_ADOPTED`.
 */
export async function requireAdopted(
  { step, adoption, workspace }: Pick<ExecutionJob, "step" | "adoption" | "workspace">,
  {
    root,
    directory,
    isEmpty,
  }: {
    /** The root module; absent where it has errors. */
    readonly root: Pick<Configuration["root"]["config"], "backend"> | undefined;
    readonly directory: string;
    /** Whether the stack has no objects. */
    readonly isEmpty: () => Promise<boolean>;
  },
): Promise<void> {
  // What an interrupted run left is resolved in any case.
  if (step === "recover") return;
  if (adoption === "ended") {
    throw notAdopted(
      "the stack takes no more runs: its state was handed back, or another stack has its name",
    );
  }
  if (step !== "plan" || adoption === "recorded" || root === undefined) return;
  const { backend } = root;
  const { evidence } = detectAdoption({ directory, env: {}, backend, stack: workspace });
  // The search for terragrunt leads out of the bundle.
  const found = evidence.filter(({ kind }) => kind !== "terragrunt");
  if (found.length === 0 || !(await isEmpty())) return;
  const texts = found.map(({ text }) => text).join("; ");
  throw notAdopted(
    `the configuration has a Terraform state that was not adopted (${texts}), and the stack is empty: run stackwright adopt, or stackwright adopt --fresh, against this server`,
  );
}

function notAdopted(message: string): EngineError {
  return new EngineError("ENGINE_STATE_NOT_ADOPTED", message);
}
