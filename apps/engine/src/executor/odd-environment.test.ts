import { expect, it } from "vitest";
import { testJob } from "../testing/test-job.ts";
import { executeJob } from "./execute-job.ts";
import type { ExecutionHost } from "./executor.ts";
import type { JobGround } from "./job-engine.ts";

const signals = { stop: new AbortController().signal, force: new AbortController().signal };

it.each(["plan", "apply"] as const)(
  "a %s shows no stored secret that no program can be given",
  async (step) => {
    const job = await testJob({
      step,
      environment: { TOKEN: "canary\0of-a-secret" },
      sensitive: { variables: [], environment: ["TOKEN"] },
    });
    // It ends before it asks its worker or reads its store.
    const ended = await executeJob(job, {} as ExecutionHost, signals, {} as JobGround);
    expect(ended).toMatchObject({
      phase: "failed",
      reasonCode: "unprocessable",
      reason: expect.stringContaining('the environment variable "TOKEN" has a NUL character'),
    });
    expect(JSON.stringify(ended)).not.toContain("canary");
  },
);
