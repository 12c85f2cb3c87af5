import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import type { Logger } from "@stackwright/base/logger";
import { keepUnstoredState, removeStepFolder } from "./unstored-states.ts";

/** The folder of one step. */
export interface StepFolder {
  readonly path: string;
  /** Keeps a state in it that is not stored; its place, or undefined where there is none. */
  keepState(): Promise<string | undefined>;
  /** Removes it, unless a state in it can neither be stored nor kept. */
  remove(): Promise<void>;
}

/** Where the steps of a worker are executed. */
export interface StepFolders {
  /** Where providers are installed, for all steps. */
  readonly providers: string;
  open(run: string): Promise<StepFolder>;
}

/** Folders below that of the worker, with mode 0700. */
export function createStepFolders(root: string, logger: Logger): StepFolders {
  const keeping = { directory: join(root, ".."), logger };
  return {
    providers: join(root, "..", "providers"),
    open: async (run) => {
      const path = await mkdtemp(join(root, `run-${run}-`));
      return {
        path,
        // One that cannot be kept stays where it is, as the removal says.
        keepState: async () => keepUnstoredState(keeping, path, run).catch(() => undefined),
        remove: async () => {
          await removeStepFolder(keeping, path, run);
        },
      };
    },
  };
}
