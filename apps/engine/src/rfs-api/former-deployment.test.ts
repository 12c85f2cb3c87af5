import { STORED_RUN_PHASES } from "@stackwright/core";
import { Run, Run_Mode, RunStage } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { formerDeployment } from "./former-deployment.ts";

const NO_VALUES = {
  variables: new Uint8Array(),
  variablesRun: "",
  deploymentRun: "first",
  former: undefined,
};

it("is a configuration that was deployed completely, and none that a run only refreshed by or left parts of", () => {
  const applied = (id: string, given: Partial<Run> = {}) =>
    Run.create({
      id,
      configuration: `configuration of ${id}`,
      mode: Run_Mode.MODE_APPLY,
      phase: STORED_RUN_PHASES.applied,
      ...given,
    });
  const first = applied("first");
  const later = [
    applied("refreshed", { mode: Run_Mode.MODE_REFRESH_ONLY }),
    applied("in part", { targets: ["a.b"] }),
    applied("stage", { stage: RunStage.create({ number: 1, left: ["a.b"] }) }),
    applied("failed", { phase: STORED_RUN_PHASES.failed }),
  ];
  const stack = {
    reference: { account: "acme", project: "web", stack: "s" },
    name: "shop",
    description: "",
    adoption: undefined,
    createdAtMs: 0,
  };
  for (const newest of later) {
    const facts = { stack, run: "new", runs: [newest, first], isEmpty: false };
    const { configuration } = formerDeployment(NO_VALUES, facts);
    expect([newest.id, configuration]).toEqual([newest.id, "configuration of first"]);
  }
  const last = applied("last", { stage: RunStage.create({ number: 2 }) });
  const facts = { stack, run: "new", runs: [last, first], isEmpty: false };
  const values = { ...NO_VALUES, deploymentRun: "last" };
  expect(formerDeployment(values, facts).configuration).toBe("configuration of last");
});
