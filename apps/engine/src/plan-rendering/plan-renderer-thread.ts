import { parentPort, workerData } from "node:worker_threads";
import { type PlanForm, renderPlanForm } from "./plan-form.ts";

// A thread that renders one view of a plan.

const { view, form, maxLength } = workerData as {
  readonly view: string;
  readonly form: PlanForm;
  readonly maxLength: number;
};
const text = renderPlanForm(view, form);
if (text.length > maxLength) throw new RangeError(`the text has ${text.length} characters`);
parentPort?.postMessage(text, []);
