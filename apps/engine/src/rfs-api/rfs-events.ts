import type { StackReference } from "@stackwright/core";
import { parseAddress } from "@stackwright/lang";
import type { RfsEvent } from "@stackwright/rfs-stacks";
import { readStored, type StorageBackend } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import type { StoredRunLogEvent } from "../domain/run-log-event.ts";
import { segmentPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import { eventText } from "../tfe-api/run-text.ts";

/** Events of one list. The log of a run, which the server shows, has all. */
const MAX_EVENTS = 10_000;

const CHANGES: Readonly<Record<string, string>> = {
  create: "CREATION",
  update: "UPDATE",
  delete: "DELETION",
  import: "CREATION",
};

/** What happened in runs, newest first; of many the newest. */
export async function rfsEvents(
  storage: StorageBackend,
  stack: StackReference,
  runs: readonly string[],
): Promise<readonly RfsEvent[]> {
  const events: RfsEvent[] = [];
  for (const run of runs) {
    const own: RfsEvent[] = [];
    for (let next = 1; ; ) {
      const id = idOf(SERVER_KINDS.segment, segmentPlace({ stack, run }, next));
      const found = await readStored(storage, "strong", id);
      if (found === undefined) break;
      const { events: lines } = decodeRecord(SERVER_KINDS.segment, found);
      next += lines.length;
      for (const line of lines) {
        const event = rfsEvent(run, JSON.parse(line) as StoredRunLogEvent);
        if (event !== undefined) own.push(event);
      }
      if (own.length > 2 * MAX_EVENTS) own.splice(0, own.length - MAX_EVENTS);
    }
    events.push(...own.toReversed());
    if (events.length >= MAX_EVENTS) break;
  }
  return events.slice(0, MAX_EVENTS);
}

/** An event of a run as one of the service; undefined for what says nothing to its users. */
function rfsEvent(deployment: string, event: StoredRunLogEvent): RfsEvent | undefined {
  const base = { deployment, atMs: event.at };
  switch (event.type) {
    case "step-start":
    case "step-end":
      return stepEvent(base, event);
    case "diagnostic":
      return {
        ...base,
        type: event["severity"] === "error" ? "ERROR" : "LOG",
        message: eventText(event).trim(),
        ...resourceOf(event),
      };
    case "phase-change": {
      const reason = textOf(event, "reason");
      const message = `the run is ${textOf(event, "to")}${reason === "" ? "" : `: ${reason}`}`;
      return { ...base, type: "LOG", message };
    }
    case "log":
    case "provision-output":
      return { ...base, type: "LOG", message: eventText(event).trim(), ...resourceOf(event) };
    case "end":
      return { ...base, type: "SUMMARY", message: `the run ended: ${textOf(event, "phase")}` };
    default:
      return undefined;
  }
}

function stepEvent(
  base: Pick<RfsEvent, "deployment" | "atMs">,
  event: StoredRunLogEvent,
): RfsEvent | undefined {
  const change = CHANGES[textOf(event, "action")];
  if (change === undefined) return undefined;
  const { elapsedMs, status } = event;
  const step =
    event.type === "step-start" ? "IN_PROGRESS" : status === "done" ? "COMPLETE" : "FAILED";
  return {
    ...base,
    type: `${change}_${step}`,
    message: eventText(event).trim(),
    ...(typeof elapsedMs === "number" && { elapsedMs }),
    ...resourceOf(event),
  };
}

function resourceOf(event: StoredRunLogEvent): Pick<RfsEvent, "resource"> {
  const address = textOf(event, "address");
  const parsed = address === "" ? undefined : resourceAddress(address);
  if (parsed === undefined) return {};
  const { type, name, key } = parsed;
  return { resource: { type, name, key, id: textOf(event, "id") } };
}

/** The parts of an address that the service has; undefined for what is no resource. */
export function resourceAddress(
  text: string,
): { readonly type: string; readonly name: string; readonly key: string } | undefined {
  const { value } = parseAddress(text);
  if (value?.kind !== "resource") return undefined;
  const { type, name, key } = value;
  return { type, name, key: key === undefined ? "" : String(key) };
}

function textOf(event: StoredRunLogEvent, name: string): string {
  const value = event[name];
  return typeof value === "string" ? value : "";
}
