import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { ExecutionJob } from "../executor/execution-job.ts";

/** The job of a plan of nothing, in a folder that goes with the test. */
export async function testJob(change: Partial<ExecutionJob> = {}): Promise<ExecutionJob> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "child-"));
  onTestFinished(() => scratch.remove());
  return {
    name: "sw-1-1",
    stack: { account: "acme", project: "web", stack: "1" },
    run: "1",
    step: "plan",
    mode: "normal",
    workspace: "one",
    adoption: "none",
    provisioners: false,
    configuration: { digest: "", archiveSha256: "" },
    targets: [],
    replace: [],
    variables: {},
    environment: {},
    sensitive: { variables: [], environment: [] },
    folder: scratch.path,
    providersFolder: join(scratch.path, "providers"),
    keys: [],
    ...change,
  };
}
