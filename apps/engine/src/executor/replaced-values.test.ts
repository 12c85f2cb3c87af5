import { expect, it } from "vitest";
import type { RunLogEvent } from "../domain/run-log-event.ts";
import { testJob } from "../testing/test-job.ts";
import { executeJob } from "./execute-job.ts";
import type { ExecutionHost } from "./executor.ts";
import type { JobGround } from "./job-engine.ts";

const signals = { stop: new AbortController().signal, force: new AbortController().signal };

it.each([
  ["plan", 1],
  ["apply", 0],
] as const)(
  "a %s says %i times that a set with priority has another value",
  async (step, times) => {
    const events: RunLogEvent[] = [];
    const onEvent = (event: RunLogEvent): undefined => void events.push(event);
    const job = await testJob({ step, replacedValues: ["region"] });
    // It ends where it would read its store.
    await executeJob(job, { onEvent } as unknown as ExecutionHost, signals, {} as JobGround);
    const warnings = events.filter(({ type }) => type === "diagnostic");
    expect(warnings).toHaveLength(times);
    for (const warning of warnings) {
      expect(warning).toMatchObject({
        severity: "warning",
        detail: expect.stringContaining('a value of the variable "region"') as string,
      });
    }
  },
);

it("a plan says which variable set wins where several are as strong", async () => {
  const events: RunLogEvent[] = [];
  const onEvent = (event: RunLogEvent): undefined => void events.push(event);
  const place = { scope: "project", set: "a", others: ["b", "c"] } as const;
  const contested = { key: "region", category: "terraform", isEnforced: true, ...place } as const;
  const job = await testJob({ step: "plan", contestedVariables: [contested] });
  await executeJob(job, { onEvent } as unknown as ExecutionHost, signals, {} as JobGround);
  expect(events.filter(({ type }) => type === "diagnostic")).toEqual([
    expect.objectContaining({
      severity: "warning",
      detail: expect.stringMatching(
        /^"region" \(terraform\) is in the set "a" of the project, and in "b", "c", .* Keep it in one of them\.$/,
      ),
    }),
  ]);
});
