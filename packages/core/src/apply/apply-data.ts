import type { Value } from "@stackwright/cty";
import { evaluateBody, hasErrors, providerDiagnostic } from "@stackwright/lang";
import type { StepStatus } from "../events.ts";
import type { ResourceChange } from "../plan/change.ts";
import type { ReadyProvider } from "../providers/ready-provider.ts";
import { asWarningsOfCheck, checkOfData, unreadCheck } from "../walk/check-data.ts";
import { extractMarks, markObject } from "../walk/object-marks.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";
import type { ApplyRun } from "./apply-run.ts";
import { decideConditions } from "./deferred-checks.ts";

/** Reads a data source that could not be read while planning, and records what it says. */
export async function readDeferredData(
  run: ApplyRun,
  change: ResourceChange,
  ready: ReadyProvider,
  slot: InstanceSlot,
): Promise<StepStatus> {
  const config = run.configOf(change);
  const schema = ready.use.typeSchema("data", change.type);
  const bound = config && run.bodyOf(config, ready);
  if (config === undefined || schema === undefined || bound === undefined) {
    run.fail(
      "Data source not found",
      `${change.address} is not in the configuration.`,
      change.address,
    );
    return "failed";
  }
  if (await run.isHeldBack(change, slot)) return "failed";
  if (!(await decideConditions(run, slot, "precondition"))) return "failed";
  const scope = slot.resource.module.scope.forInstance(slot.context);
  const body = await run.evaluate(change, () => evaluateBody(bound, scope));
  if (body === undefined) return "failed";
  run.report(body.diagnostics);
  if (hasErrors(body.diagnostics)) return "failed";
  ready.use.secrets.addValue(body.value);
  const { plain, sensitive } = extractMarks(body.value);
  const reply = await run.timed(change, "read", async (context) =>
    ready.use.provider.readDataSource(
      { type: change.type, config: plain, deferralAllowed: false },
      context,
    ),
  );
  const found = reply.diagnostics.map((one) => providerDiagnostic(body, one, change.address));
  const check = checkOfData(slot);
  if (check !== undefined) {
    run.report(asWarningsOfCheck(check, found));
    if (hasErrors(found)) {
      run.checks.push(unreadCheck(check, found));
      run.unreadChecks.add(check);
      await releaseFormer(run, change);
      return "done";
    }
  } else run.report(found);
  if (hasErrors(found) || reply.state === undefined) return "failed";
  const value = markObject(reply.state, schema.block, [...sensitive, ...(reply.sensitive ?? [])]);
  ready.use.secrets.addValue(value);
  slot.value = value;
  await recordData(run, change, ready, value);
  return (await decideConditions(run, slot, "postcondition", value)) ? "done" : "failed";
}

/** What was read before stays, and holds on to nothing that it referred to then. */
async function releaseFormer(run: ApplyRun, change: ResourceChange): Promise<void> {
  const { writer } = run.given;
  const { address } = change;
  if (writer.object(address)?.value === undefined) return;
  const patch = { dependencies: run.dependencies(change) };
  await writer.write({ kind: "record", key: { address, deposed: "" }, patch });
}

/** Writes down what a data source said. */
export async function recordData(
  run: ApplyRun,
  change: ResourceChange,
  ready: ReadyProvider,
  value: Value,
): Promise<void> {
  const { writer } = run.given;
  const key = { address: change.address, deposed: "" };
  const content = run.content(change, ready, { value, privateBytes: new Uint8Array() });
  const object = run.objectPlan(change);
  if (writer.object(change.address)?.value === undefined) {
    await writer.write({ kind: "adopt", key, object, content });
    return;
  }
  const { dependencies, provider } = object;
  const patch = { content, dependencies, provider, observed: true };
  await writer.write({ kind: "record", key, patch });
}
