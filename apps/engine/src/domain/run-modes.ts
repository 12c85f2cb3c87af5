import { Run_Mode } from "@stackwright/proto/stackwright";

/** A mode as the API, policies, tokens of runs, hooks and notifications call it. */
export type RunModeName = "apply" | "plan_only" | "destroy" | "refresh_only" | "import";

export const MODE_OF: Readonly<Record<RunModeName, Run_Mode>> = {
  apply: Run_Mode.MODE_APPLY,
  plan_only: Run_Mode.MODE_PLAN_ONLY,
  destroy: Run_Mode.MODE_DESTROY,
  refresh_only: Run_Mode.MODE_REFRESH_ONLY,
  import: Run_Mode.MODE_IMPORT,
};

/** The name of a mode; undefined for the run of a command, which has none. */
export function modeNameOf(mode: Run_Mode): RunModeName | undefined {
  return (Object.keys(MODE_OF) as RunModeName[]).find((name) => MODE_OF[name] === mode);
}
