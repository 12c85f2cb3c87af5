import type { StoredRunLogEvent } from "../domain/run-log-event.ts";

/** What the steps of an apply are called, in the words that readers of terraform's output search for. */
const WORDS: Readonly<Record<string, { readonly start: string; readonly noun: string }>> = {
  create: { start: "Creating", noun: "Creation" },
  update: { start: "Modifying", noun: "Modifications" },
  delete: { start: "Destroying", noun: "Destruction" },
  read: { start: "Reading", noun: "Read" },
};

/** Events that say nothing without the object that they are of, as those do that were too long to be stored. */
const OF_OBJECTS: ReadonlySet<string> = new Set([
  "read-start",
  "step-start",
  "step-progress",
  "step-end",
  "provision-output",
]);

/** An event of a run as lines of a log; empty for what has none. */
export function eventText(event: StoredRunLogEvent): string {
  const of = (name: string): string => {
    const value = event[name];
    return typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  const address = of("address");
  if (address === "" && OF_OBJECTS.has(event.type)) return "";
  switch (event.type) {
    case "diagnostic":
      return isOwnBlock(event) ? "" : diagnosticText(event, of);
    case "read-start":
      return `${address}: Refreshing state...${of("id") === "" ? "" : ` [id=${of("id")}]`}\n`;
    case "step-start":
      return `${address}: ${WORDS[of("action")]?.start ?? of("action")}...\n`;
    case "step-progress":
      return `${address}: Still ${(WORDS[of("action")]?.start ?? of("action")).toLowerCase()}... [${seconds(event)}s elapsed]\n`;
    case "step-end":
      return stepEndText(event, of);
    case "provision-output":
      return `${address} (${of("provisioner")}): ${of("line")}\n`;
    case "log":
      return `${of("text") || of("line")}\n`;
    case "truncated":
      return "The log of the run is full: further lines of output are left out.\n";
    case "gap":
      return "Lines of the log are missing here: they came faster than they could be stored.\n";
    case "cancel":
      return "A cancel was requested: no further operation is started.\n";
    default:
      return "";
  }
}

/** The warning that the block has no effect which led the reader of this log here. */
export function isOwnBlock({ summary, detail }: StoredRunLogEvent): boolean {
  return summary === "Block has no effect" && /^The block "(cloud|backend)"/.test(String(detail));
}

function stepEndText(event: StoredRunLogEvent, of: (name: string) => string): string {
  const { status } = event;
  const noun = WORDS[of("action")]?.noun ?? of("action");
  if (status === "skipped" || status === "not-started") return `${of("address")}: not started\n`;
  const id = of("id") === "" ? "" : ` [id=${of("id")}]`;
  const end = status === "done" ? "complete" : `errored (${of("status")})`;
  return `${of("address")}: ${noun} ${end} after ${seconds(event)}s${status === "done" ? id : ""}\n`;
}

function diagnosticText(event: StoredRunLogEvent, of: (name: string) => string): string {
  const label = event["severity"] === "error" ? "Error" : "Warning";
  const place = of("file") === "" ? "" : `\n  on ${of("file")} line ${of("line")}\n`;
  const object = of("address") === "" ? "" : `\n  with ${of("address")}\n`;
  const detail = of("detail") === "" ? "" : `\n${of("detail")}\n`;
  return `\n${label}: ${of("summary")}\n${place}${object}${detail}\n`;
}

function seconds({ elapsedMs }: StoredRunLogEvent): number {
  return typeof elapsedMs === "number" ? Math.floor(elapsedMs / 1_000) : 0;
}
