import { formatKey, formatModulePath, parseAddress } from "@stackwright/lang";
import type { RunEvent, StepAction } from "../events.ts";
import { endMessage, progressMessage, startMessage } from "./step-messages.ts";

/** What a member of a line is written as. */
export type LineMember =
  | null
  | boolean
  | number
  | string
  | readonly LineMember[]
  | LineMembers
  | undefined;

export interface LineMembers {
  readonly [name: string]: LineMember;
}

/** A line of the reference command's machine-readable output: `@level`, `@message`, `type`, and what the type has. */
export interface RunLine {
  readonly level: "info" | "warn" | "error";
  readonly message: string;
  readonly type: string;
  readonly members: LineMembers;
}

/** An event that is a line without anything else; diagnostics are lines of their own. */
type LineEvent = Exclude<RunEvent, { readonly type: "diagnostic" }>;

/** The line of an event; undefined where it has none. */
export function eventLine(event: LineEvent): RunLine | undefined {
  switch (event.type) {
    case "read-start":
    case "read-end":
      return readLine(event);
    case "start": {
      if (isQuiet(event.action)) return undefined;
      const shown = withoutOldId(event);
      const hook = {
        resource: resourceMembers(event.address),
        action: event.action,
        ...idMembers(shown),
        ...deposedMembers(event),
      };
      return {
        level: "info",
        message: startMessage(shown),
        type: "apply_start",
        members: { hook },
      };
    }
    case "progress": {
      const { address, action, elapsedMs } = event;
      const elapsed = seconds(elapsedMs);
      const hook = { resource: resourceMembers(address), action, elapsed_seconds: elapsed };
      const message = progressMessage(event, elapsed);
      return { level: "info", message, type: "apply_progress", members: { hook } };
    }
    case "end":
      return endLine(event);
    case "ephemeral":
      return ephemeralLine(event);
    case "provision":
      return provisionLine(event);
    case "provision-output": {
      const { address, provisioner, line } = event;
      const hook = { resource: resourceMembers(address), provisioner, output: line };
      const message = `${address}: (${provisioner}): ${line}`;
      return { level: "info", message, type: "provision_progress", members: { hook } };
    }
    case "phase":
      return logLine(`phase: ${event.phase}`);
    case "provider":
      return logLine(`provider ${event.provider}: ${event.status}`);
    case "planned":
    default:
      return undefined;
  }
}

/** A message that belongs to no object. */
export function logLine(message: string): RunLine {
  return { level: "info", message, type: "log", members: {} };
}

/** A data source is read in a step of its own. */
function readLine(event: Extract<RunEvent, { type: "read-start" | "read-end" }>): RunLine {
  const { address } = event;
  const started = event.type === "read-start";
  const resource = resourceMembers(address);
  const { value } = parseAddress(address);
  if (value?.kind !== "resource" || value.mode !== "data") {
    const message = started ? `Refreshing state...${idText(event)}` : "Refresh complete";
    return {
      level: "info",
      message: `${address}: ${message}${started ? "" : idText(event)}`,
      type: started ? "refresh_start" : "refresh_complete",
      members: { hook: { resource, ...idMembers(event), ...deposedMembers(event) } },
    };
  }
  const step = { address, action: "read" } as const;
  if (started) {
    const hook = { resource, action: "read" };
    return { level: "info", message: startMessage(step), type: "apply_start", members: { hook } };
  }
  const elapsed = seconds(event.elapsedMs);
  const hook = { resource, action: "read", elapsed_seconds: elapsed, ...idMembers(event) };
  const message = endMessage({ ...step, ...idOf(event) }, "complete", elapsed);
  return { level: "info", message, type: "apply_complete", members: { hook } };
}

function endLine(event: Extract<RunEvent, { type: "end" }>): RunLine | undefined {
  const { address, action, status, elapsedMs } = event;
  if (isQuiet(action) && status === "done") return undefined;
  const hook = {
    resource: resourceMembers(address),
    action,
    elapsed_seconds: seconds(elapsedMs),
    ...idMembers(event),
    ...deposedMembers(event),
    ...(event.cause !== undefined && { cause: event.cause }),
  };
  const members = { hook };
  if (status === "done") {
    const message = endMessage(event, "complete", seconds(elapsedMs));
    return { level: "info", message, type: "apply_complete", members };
  }
  if (status === "skipped" || status === "not-started") {
    return {
      level: "warn",
      message: `${address}: ${action} skipped`,
      type: "apply_skipped",
      members,
    };
  }
  if (status === "unresolved") {
    const message = `${address}: ${action} is unresolved`;
    return { level: "error", message, type: "apply_unresolved", members };
  }
  const message = endMessage(event, "errored", seconds(elapsedMs));
  return { level: "error", message, type: "apply_errored", members };
}

function ephemeralLine(event: Extract<RunEvent, { type: "ephemeral" }>): RunLine {
  const { address, step, status, elapsedMs } = event;
  const hook = { resource: resourceMembers(address), action: step };
  if (status === "start") {
    const message = `${address}: ${step} started`;
    return { level: "info", message, type: "ephemeral_op_start", members: { hook } };
  }
  const done = status === "done";
  return {
    level: done ? "info" : "error",
    message: `${address}: ${step} ${done ? "complete" : "errored"}`,
    type: done ? "ephemeral_op_complete" : "ephemeral_op_errored",
    members: { hook: { ...hook, elapsed_seconds: seconds(elapsedMs) } },
  };
}

function provisionLine({
  address,
  provisioner,
  status,
}: Extract<RunEvent, { type: "provision" }>): RunLine {
  const members = { hook: { resource: resourceMembers(address), provisioner } };
  if (status === "start") {
    const message = `${address}: Provisioning with '${provisioner}'...`;
    return { level: "info", message, type: "provision_start", members };
  }
  const [word, type] =
    status === "done" ? ["complete", "provision_complete"] : ["errored", "provision_errored"];
  const message = `${address}: (${provisioner}) Provisioning ${word}`;
  return { level: "info", message, type, members };
}

function isQuiet(action: StepAction): boolean {
  return action === "record";
}

function seconds(elapsedMs: number): number {
  return Math.round(elapsedMs / 1000);
}

type WithId = { readonly id?: string };

function idOf({ id }: WithId): WithId {
  return id === undefined ? {} : { id };
}

function idText({ id }: WithId): string {
  return id === undefined ? "" : ` [id=${id}]`;
}

function idMembers({ id }: WithId): LineMembers {
  return id === undefined ? {} : { id_key: "id", id_value: id };
}

function deposedMembers({ deposed }: { readonly deposed: string }): LineMembers {
  return deposed === "" ? {} : { deposed };
}

/** The id at the start of a create is that of the object which it replaces. */
function withoutOldId<T extends { readonly action: StepAction } & WithId>(
  event: T,
): Omit<T, "id"> & WithId {
  if (event.action !== "create") return event;
  const { id: _id, ...rest } = event;
  return rest;
}

/** An address with its parts, as tools want to group by them. */
export function resourceMembers(address: string): LineMembers {
  const { value } = parseAddress(address);
  if (value?.kind !== "resource") return { addr: address };
  const { module, mode, type, name, key } = value;
  return {
    addr: address,
    module: formatModulePath(module),
    resource: `${mode === "managed" ? "" : `${mode}.`}${type}.${name}${formatKey(key)}`,
    implied_provider: type.split("_")[0] ?? type,
    resource_type: type,
    resource_name: name,
    resource_key: key ?? null,
  };
}
