import {
  AccountVariableSet,
  PlanComparison,
  Run_Mode,
  Variable,
  Variable_Category,
} from "@stackwright/proto/stackwright";
import { tenancyOf } from "@stackwright/storage";
import { expect, it } from "vitest";
import { type RunReference, runPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { enqueueRun } from "../queue/enqueue.ts";
import { playPlan, startFakeWorker } from "../testing/fake-worker.ts";
import { CONFIGURATION } from "../testing/run-fixture.ts";
import { sealRunValues } from "./run-values.ts";

it("a plan beside that of a tool has the values that the other was requested with, but for those that are enforced", async () => {
  const { fixture, parts, keys, reference: stack, jobs, reaches } = await startFakeWorker(playPlan);
  const variables = [
    Variable.create({
      category: Variable_Category.CATEGORY_TERRAFORM,
      key: "b",
      value: Buffer.from("enforced"),
    }),
  ];
  const set = AccountVariableSet.create({ name: "rules", priority: true, variables });
  const place = { tenancy: tenancyOf({ kind: "account", account: stack.account }), name: "rules" };
  await fixture.put(SERVER_KINDS.accountVariableSet, place, set);
  await fixture.put(
    SERVER_KINDS.accountVariableSet,
    { ...place, name: "rules-2" },
    AccountVariableSet.create({ ...set, name: "rules-2" }),
  );
  const request = async (more: object): Promise<RunReference> => {
    const reference = { stack, run: parts.token() };
    const sealed = await sealRunValues(keys, reference, { a: '"given"', b: '"given"' });
    const given = { reference, stackName: "one", configuration: CONFIGURATION };
    const rest = { mode: Run_Mode.MODE_APPLY, autoApply: false, actor: "ann" };
    await enqueueRun(parts, { ...given, ...rest, variables: sealed, ...more });
    return reference;
  };
  const original = await request({});
  await reaches(original, "awaiting_approval");
  await fixture.put(SERVER_KINDS.comparison, runPlace(original), PlanComparison.create());

  await request({ variables: undefined, shadowOf: original.run, planOnly: true, background: true });

  await expect.poll(() => jobs.length, { timeout: 20_000 }).toBe(2);
  expect(jobs.map(({ replacedValues }) => replacedValues)).toEqual([["b"], ["b"]]);
  const sets = { scope: "account", set: "rules", others: ["rules-2"] };
  const contested = { key: "b", category: "terraform", isEnforced: true, ...sets };
  expect(jobs.map(({ contestedVariables }) => contestedVariables)).toEqual([
    [contested],
    [contested],
  ]);
  expect(jobs.map(({ runVariables }) => runVariables)).toEqual([
    { a: '"given"' },
    { a: '"given"' },
  ]);
});
