import type { Run, RunLogEvent } from "@stackwright/client";
import { ACTION_WORDS, duration } from "../render/live-run.ts";
import { printable } from "../terminal/printable.ts";
import type { Style } from "../terminal/style.ts";

/** What a phase means to a user who waits. */
const PHASES: Readonly<Record<string, string>> = {
  queued: "waits in the queue of the stack",
  preparing: "is prepared by a worker",
  planning: "is being planned",
  planned: "is planned",
  awaiting_approval: "waits for approval",
  approved: "is approved",
  applying: "is being applied",
  policy_failed: "has a plan that a policy refuses",
  plan_finished: "is planned, and applies nothing",
  applied: "is applied",
  no_changes: "has no changes",
  partially_applied: "is partially applied",
  failed: "failed",
  discarded: "is discarded",
  canceled: "is canceled",
  superseded: "is superseded by another run",
  rolled_back: "is rolled back",
};

/** Phases in which a run has ended, and whether it did what was requested. */
export const OUTCOMES: Readonly<Partial<Record<Run["phase"], boolean>>> = {
  applied: true,
  no_changes: true,
  plan_finished: true,
  partially_applied: false,
  failed: false,
  discarded: false,
  canceled: false,
  superseded: false,
  rolled_back: false,
};

function isEnded(phase: string): boolean {
  return Object.hasOwn(OUTCOMES, phase);
}

/** The phase of a run as a sentence: `Run 3 is applied.` */
export function phaseText(number: number, phase: string): string {
  return `Run ${number} ${PHASES[phase] ?? `is in the phase ${printable(phase)}`}`;
}

/** The lines of an event for a user; none for those that are shown otherwise. */
export function eventLines(
  event: RunLogEvent,
  run: Pick<Run, "number">,
  style: Style,
): readonly string[] {
  const text = (name: string): string => printable(stringOf(event[name]));
  switch (event.type) {
    case "phase-change": {
      // How a run ended is shown with the run.
      if (isEnded(text("to"))) return [];
      const reason = text("reason");
      const line = phaseText(run.number, text("to"));
      return [style.paint("quiet", reason === "" ? line : `${line}: ${reason}`)];
    }
    case "approval": {
      const comment = text("comment");
      return [`Approved by ${text("actor")}${comment === "" ? "" : `: ${comment}`}`];
    }
    case "cancel":
      return [`Cancel requested by ${text("actor")}`];
    case "freeze-override":
      return [`Applied in spite of a freeze, says ${text("actor")}: ${text("reason")}`];
    case "identity": {
      const audiences = Array.isArray(event["audiences"]) ? event["audiences"] : [];
      const shown = audiences.map((one) => printable(stringOf(one))).join(", ");
      return [style.paint("quiet", `Identity tokens of ${text("subject")} for ${shown}`)];
    }
    case "policy":
      return policyEventLines(event, run, style);
    case "policy-override":
      return [`Passed in spite of policies, says ${text("actor")}: ${text("reason")}`];
    case "diagnostic":
      return diagnosticLines(event, style);
    case "step-start":
    case "step-progress":
    case "step-end": {
      const line = stepLine(event, style);
      return line === undefined ? [] : [line];
    }
    case "log":
      return [`${text("source")}: ${text("text")}`];
    case "truncated":
      return [
        style.paint("warning", "The log is full: lines of providers are left out from here."),
      ];
    case "gap":
      return [style.paint("warning", "Lines of the log are missing here.")];
    default:
      return [];
  }
}

/** What a policy set said about the plan. */
function policyEventLines(
  event: RunLogEvent,
  run: Pick<Run, "number">,
  style: Style,
): readonly string[] {
  const text = (value: unknown): string => printable(stringOf(value));
  const { findings, count } = event;
  const shown = Array.isArray(findings) ? (findings as Readonly<Record<string, unknown>>[]) : [];
  const outcome = text(event["outcome"]);
  const tone = outcome === "passed" ? "success" : "error";
  const error = text(event["error"]);
  const rest = Number(count ?? 0) - shown.length;
  return [
    `Policy set ${text(event["set"])} (${text(event["enforcement"])}): ${style.paint(tone, outcome)}${error === "" ? "" : `: ${error}`}`,
    ...shown.map(({ message, address, warning }) => {
      const place = text(address);
      const kind = warning === true ? "warning: " : "";
      return `  ${kind}${text(message)}${place === "" ? "" : ` (${place})`}`;
    }),
    ...(rest > 0 ? [`  and ${rest} more: stackwright policy results ${run.number}`] : []),
  ];
}

function stepLine(event: RunLogEvent, style: Style): string | undefined {
  const action = stringOf(event["action"]);
  if (!Object.hasOwn(ACTION_WORDS, action)) return undefined;
  const { doing, done } = ACTION_WORDS[action as keyof typeof ACTION_WORDS];
  const deposed = printable(stringOf(event["deposed"]));
  const address = printable(stringOf(event["address"]));
  const object = deposed === "" ? address : `${address} (deposed object ${deposed})`;
  const subject = style.paint("strong", object);
  const id = stringOf(event["id"]);
  const idText = id === "" ? "" : ` [id=${printable(id)}]`;
  const elapsed = duration(Number(event["elapsedMs"] ?? 0));
  if (event.type === "step-start") return `${subject}: ${doing}...${idText}`;
  if (event.type === "step-progress") {
    return `${subject}: Still ${doing.toLowerCase()}... [${elapsed} elapsed]`;
  }
  switch (event["status"]) {
    case "done":
      return `${subject}: ${done} after ${elapsed}${idText}`;
    case "skipped":
    case "not-started":
      return `${subject}: ${style.paint("warning", "Skipped")}`;
    case "unresolved":
      return `${subject}: ${style.paint("error", "Unresolved")}: its operation result is unknown`;
    default:
      return `${subject}: ${style.paint("error", `${doing} failed`)} after ${elapsed}`;
  }
}

function diagnosticLines(event: RunLogEvent, style: Style): readonly string[] {
  const { severity, summary, detail, file, line, address } = event;
  const isError = severity === "error";
  const head = style.paint(isError ? "error" : "warning", isError ? "Error" : "Warning");
  const place = typeof file === "string" ? [`  on ${printable(file)} line ${Number(line)}`] : [];
  const about = typeof address === "string" ? [`  with ${printable(address)}`] : [];
  const text = stringOf(detail);
  const body = text === "" ? [] : text.split("\n").map((one) => `  ${printable(one)}`);
  return ["", `${head}: ${printable(stringOf(summary))}`, ...place, ...about, ...body, ""];
}

function stringOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
