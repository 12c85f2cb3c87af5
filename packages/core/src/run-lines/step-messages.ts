import type { StepAction } from "../events.ts";

interface Words {
  readonly start: string;
  readonly progress: string;
  readonly noun: string;
}

/** The words of the reference command, which programs search for. */
const WORDS: Readonly<Partial<Record<StepAction, Words>>> = {
  create: { start: "Creating", progress: "Still creating", noun: "Creation" },
  update: { start: "Modifying", progress: "Still modifying", noun: "Modifications" },
  delete: { start: "Destroying", progress: "Still destroying", noun: "Destruction" },
  read: { start: "Refreshing", progress: "Still reading", noun: "Refresh" },
};

interface Step {
  readonly address: string;
  readonly action: StepAction;
  readonly id?: string;
}

export function startMessage(step: Step): string {
  const start = WORDS[step.action]?.start ?? step.action;
  return `${step.address}: ${start}...${idText(step)}`;
}

export function progressMessage({ address, action }: Step, seconds: number): string {
  return `${address}: ${WORDS[action]?.progress ?? action}... [${seconds}s elapsed]`;
}

/** How a step ended: `complete` or `errored`. */
export function endMessage(step: Step, end: "complete" | "errored", seconds: number): string {
  const noun = WORDS[step.action]?.noun ?? step.action;
  const id = end === "complete" ? idText(step) : "";
  return `${step.address}: ${noun} ${end} after ${seconds}s${id}`;
}

function idText({ id }: Step): string {
  return id === undefined ? "" : ` [id=${id}]`;
}
