import { deepMarks, Mark, unmarkDeep, type Value } from "@stackwright/cty";
import { type EvaluationScope, evaluateBody, hasErrors } from "@stackwright/lang";
import type { ResourceChange } from "../plan/change.ts";
import {
  type BoundProvisioner,
  bindProvisioners,
  type Provisioning,
} from "../provisioners/bind-provisioners.ts";
import { EVERYWHERE, type PlannedProvisioner } from "../provisioners/planned-provisioner.ts";
import type { Redactor } from "../secrets/redactor.ts";
import type { ApplyRun } from "./apply-run.ts";

/** An object whose provisioners run. */
interface ProvisionedObject {
  readonly run: ApplyRun;
  readonly change: ResourceChange;
  readonly provisioning: Provisioning;
  /** Names that the provisioners see, `self` among them. */
  readonly scope: EvaluationScope;
  readonly secrets: Redactor;
}

/**
 * Runs the planned provisioners of an object one after the other. False where one failed whose failure counts; the rest
 * did not run then. Everything that went wrong is reported.
 */
export async function runProvisioners(
  object: ProvisionedObject,
  when: PlannedProvisioner["when"],
): Promise<boolean> {
  const { provisioners } = bindProvisioners(object.provisioning);
  for (const step of object.change.provisioners ?? []) {
    if (step.when !== when) continue;
    const bound = provisioners[step.index];
    if (bound === undefined) continue;
    if (!(await runOne(object, bound))) return false;
  }
  return true;
}

async function runOne(object: ProvisionedObject, bound: BoundProvisioner): Promise<boolean> {
  const { run, change, scope, secrets } = object;
  const { address, deposed } = change;
  const { type, onFailure, range } = bound.config;
  const evaluated = await run.evaluate(change, () => ({
    config: evaluateBody(bound.body, scope, EVERYWHERE),
    connection: bound.connection && evaluateBody(bound.connection, scope, EVERYWHERE),
  }));
  if (evaluated === undefined) return false;
  const { config, connection } = evaluated;
  const diagnostics = [...config.diagnostics, ...(connection?.diagnostics ?? [])];
  run.report(diagnostics.map((one) => ({ ...one, address: one.address ?? address })));
  if (hasErrors(diagnostics)) return false;
  const values = [config.value, ...(connection === undefined ? [] : [connection.value])];
  for (const value of values) secrets.addValue(value);
  const [plain, plainConnection] = values.map((value) => unmarkDeep(value)[0]);
  if (plain === undefined) return false;
  const suppressed = suppression(values);
  const { clock, onEvent, provisioners, stop } = run.given;
  const begun = clock.monotonicMs();
  const signal = AbortSignal.any([stop, run.given.force]);
  const event = (status: "start" | "done" | "failed"): void => {
    const elapsedMs = clock.monotonicMs() - begun;
    onEvent({ type: "provision", address, deposed, provisioner: type, status, elapsedMs });
  };
  const output = (line: string): void => {
    onEvent({ type: "provision-output", address, deposed, provisioner: type, line });
  };
  event("start");
  try {
    if (!values.every((value) => value.isWhollyKnown))
      throw new Error("an argument has a value that is not known");
    if (provisioners === undefined) throw new Error("provisioners are not allowed in this run");
    let said = false;
    await provisioners.run(
      { type, config: plain, connection: plainConnection },
      {
        signal,
        onOutput: (line) => {
          if (suppressed === undefined) output(line);
          else if (!said) output(`(output suppressed due to ${suppressed} value in config)`);
          said = true;
        },
      },
    );
    event("done");
    return true;
  } catch (error) {
    event("failed");
    const problem = error instanceof Error ? error.message : String(error);
    const detail =
      suppressed === undefined
        ? problem
        : `The provisioner failed. Its message is not shown, because its configuration contains a ${suppressed} value.`;
    // After an interruption nothing continues: what comes next has not run, or would be the destruction of the object.
    const continued = onFailure === "continue" && !signal.aborted;
    run.report([
      {
        severity: continued ? "warning" : "error",
        code: "ENGINE_PROVISIONER",
        summary: `${type} provisioner error`,
        detail: continued ? `${detail}\n\nThe run continues, as on_failure specifies.` : detail,
        address,
        subject: range,
      },
    ]);
    return continued;
  }
}

/** What in the configuration of a provisioner forbids to show its output. */
function suppression(values: readonly Value[]): "sensitive" | "ephemeral" | undefined {
  const marks = values.map((value) => deepMarks(value));
  if (marks.some((found) => found.has(Mark.sensitive))) return "sensitive";
  return marks.some((found) => found.has(Mark.ephemeral)) ? "ephemeral" : undefined;
}
