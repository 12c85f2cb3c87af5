import { parentPort, workerData } from "node:worker_threads";
import { type PlanForm, renderPlanForm } from "./plan-form.ts";

// A thread that renders one view of a plan.

const { view, form } = workerData as { readonly view: string; readonly form: PlanForm };
parentPort?.postMessage(renderPlanForm(view, form), []);
