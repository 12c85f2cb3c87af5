import type { BuildFailure } from "./build-failure.ts";

/** What came of one tool: a path, or the reason why there is none. */
export type BuildResult = BuiltTool | FailedTool;

interface BuiltTool {
  readonly status: "cached" | "built";
  readonly name: string;
  readonly version: string;
  readonly required: boolean;
  /** Hash of everything that the program is made of. */
  readonly key: string;
  /** The executable, in a folder of its own. */
  readonly path: string;
  readonly bytes: number;
  /** Duration of the build that made it, which for a cached one was an earlier one. */
  readonly seconds: number;
}

interface FailedTool extends BuildFailure {
  readonly status: "failed";
  readonly name: string;
  readonly version: string;
  readonly required: boolean;
}
