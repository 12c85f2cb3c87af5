import { expect, it } from "vitest";
import { isJudgedAnew, patternsText, replayText } from "./policy-texts.ts";

const run = (
  outcome: "passed" | "failed" | "errored",
  before?: "passed" | "failed" | "errored",
) => ({
  project: "p",
  stack: "s",
  run: `${outcome} ${before ?? ""}`,
  outcome,
  findings: [],
  cut: 0,
  ...(before !== undefined && { before }),
});

it("a plan counts as judged otherwise where its outcome is another one, or is a new obstacle", () => {
  expect(isJudgedAnew(run("passed", "passed"))).toBe(false);
  expect(isJudgedAnew(run("failed", "passed"))).toBe(true);
  expect(isJudgedAnew(run("passed"))).toBe(false);
  expect(isJudgedAnew(run("errored"))).toBe(true);
  const runs = [run("passed", "failed"), run("failed"), run("errored", "errored")];
  expect(replayText({ runs, complete: true })).toBe(
    "3 plans: 1 pass, 1 fail, 1 cannot be judged; 2 judged otherwise than before",
  );
});

it("says which stacks a set is for", () => {
  expect(patternsText({ projects: [], stacks: [] })).toBe("all stacks");
  expect(patternsText({ projects: ["web"], stacks: [] })).toBe("all stacks of projects web");
  expect(patternsText({ projects: [], stacks: ["a", "b*"] })).toBe("stacks a, b* of all projects");
});
