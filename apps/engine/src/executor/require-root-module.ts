import { readdir } from "node:fs/promises";
import { selectModuleFiles } from "@stackwright/lang";
import { ServerError } from "../domain/server-error.ts";
import type { ExecutionJob } from "./execution-job.ts";
import { rootName } from "./unpack-bundle.ts";

/**
 * `bundle_invalid` where a plan that is not to destroy everything would do so, as there are no configuration files. Hooks may have made
 * them; files that only override others, as a tool gets one from the server, are none. What was planned is what is applied.
 *
 * @param directory of the root module
 */
export async function requireRootModule(
  {
    configuration: { root = "" },
    step,
    mode,
  }: Pick<ExecutionJob, "configuration" | "step" | "mode">,
  directory: string,
): Promise<void> {
  if (step !== "plan" || mode === "destroy") return;
  if (selectModuleFiles(await readdir(directory)).primary.length > 0) return;
  throw new ServerError(
    "bundle_invalid",
    `${rootName(root)} has no configuration files (*.tf, *.tf.json): a plan without them would destroy everything; name the folder of the root module, or request a run that destroys`,
  );
}
