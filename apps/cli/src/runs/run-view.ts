import type { Run, RunLogEvent } from "@stackwright/client";
import { planParts } from "../render/plan-text.ts";
import { printable } from "../terminal/printable.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { planOfDocument } from "./plan-document.ts";
import { eventLines, OUTCOMES, phaseText } from "./run-text.ts";

/** Shows a run of a server while it is followed. */
export interface RunView {
  event(event: RunLogEvent): void;
  /** The plan document of the server. */
  plan(text: string): void;
  note(text: string): void;
  /** The run as it is when the command ends. */
  ended(run: Run): void;
}

/** Text for users. */
export function humanRunView(terminal: Terminal, run: Pick<Run, "number">): RunView {
  const { style } = terminal;
  return {
    event: (event) => {
      for (const line of eventLines(event, run, style)) terminal.write(`${line}\n`);
    },
    plan: (text) => {
      for (const part of planParts(planOfDocument(text), { style, schemaOf: () => undefined })) {
        terminal.write(`\n${part}\n`);
      }
      terminal.write("\n");
    },
    note: (text) => terminal.write(`${text}\n`),
    ended: ({ number, phase, revision, reason }) => {
      const at = revision === undefined ? "" : `, revision ${revision}`;
      const why = reason === undefined ? "" : `: ${reason.split("\n").map(printable).join("\n")}`;
      const tone = OUTCOMES[phase] === true ? "success" : "error";
      const isWaiting = !Object.hasOwn(OUTCOMES, phase);
      const text = `${phaseText(number, phase)}${at}${why}.`;
      terminal.write(`${style.paint(isWaiting ? "strong" : tone, text)}\n`);
    },
  };
}

/** Lines of JSON: the events of the run, and lines of the types `plan`, `note` and `run`. */
export function jsonRunView(terminal: Terminal): RunView {
  const write = (line: object): void => terminal.write(`${JSON.stringify(line)}\n`);
  return {
    event: write,
    // As the server sent it: numbers are exact.
    plan: (text) => terminal.write(`{"type":"plan","plan":${text}}\n`),
    note: (text) => write({ type: "note", text }),
    ended: (run) => write({ type: "run", run }),
  };
}
