import type { ApplyResult, ResourceChange, RunEvent, StepAction } from "@stackwright/core";
import { LANGUAGE_VERSION, type Plan, summarizePlan } from "@stackwright/core";
import { encodeJson, encodeTypeJson, Mark, unmarkDeep, type Value } from "@stackwright/cty";
import {
  type Diagnostic,
  diagnosticToJson,
  formatKey,
  formatModulePath,
  parseAddress,
} from "@stackwright/lang";
import type { Terminal } from "../terminal/terminal.ts";
import { completeText, countsText, RunCounter, STATUS_TEXTS } from "./apply-counts.ts";
import { exactJson, type JsonMember, type JsonMembers, writeExactJson } from "./lossless-json.ts";
import { endMessage, progressMessage, startMessage } from "./step-messages.ts";

/**
 * Version of the lines that are written with `--json`. A minor version adds members and types of lines; readers
 * pass over what they do not know.
 */
export const JSON_EVENTS_VERSION = "1.2";

/**
 * Writes what happens as lines of JSON, in the form in which tools know the reference command's
 * machine-readable output: `@level`, `@message`, `@module`, `@timestamp`, `type`, and what the type has.
 */
export class JsonEvents {
  readonly #terminal: Pick<Terminal, "write">;
  readonly #now: () => Date;
  readonly #operation: "plan" | "apply" | "destroy";
  readonly #counter = new RunCounter();
  /** Milliseconds since 1970 at which the read of a data source began, by address. */
  readonly #reads = new Map<string, number>();

  constructor(options: {
    readonly terminal: Pick<Terminal, "write">;
    readonly operation: "plan" | "apply" | "destroy";
    readonly now?: () => Date;
  }) {
    this.#terminal = options.terminal;
    this.#now = options.now ?? (() => new Date());
    this.#operation = options.operation;
  }

  version(version: string): void {
    this.#write("info", `Stackwright ${version}`, "version", {
      stackwright: version,
      terraform: LANGUAGE_VERSION,
      ui: JSON_EVENTS_VERSION,
    });
  }

  diagnostic(diagnostic: Diagnostic): void {
    const { severity, summary } = diagnostic;
    const label = severity === "error" ? "Error" : "Warning";
    this.#write(severity === "error" ? "error" : "warn", `${label}: ${summary}`, "diagnostic", {
      diagnostic: diagnosticToJson(diagnostic) as unknown as JsonMembers,
    });
  }

  /** A message that belongs to no object. */
  log(message: string): void {
    this.#write("info", message, "log", {});
  }

  /** What a plan holds: drift, changes, counts, outputs. */
  plan(plan: Plan): void {
    for (const drift of plan.drift) {
      const action = drift.after === undefined ? "delete" : "update";
      this.#write("info", `${drift.address}: Drift detected (${action})`, "resource_drift", {
        change: { resource: resourceOf(drift.address), action },
      });
    }
    for (const change of plan.changes) this.#plannedChange(change);
    const {
      create,
      replace,
      update,
      delete: deleted,
      import: imported,
      forget,
    } = summarizePlan(plan);
    const changes = {
      add: create + replace,
      change: update,
      import: imported,
      remove: deleted + replace,
      forget,
      operation: "plan",
    };
    const text = `Plan: ${changes.add} to add, ${changes.change} to change, ${changes.remove} to destroy.`;
    this.#write("info", text, "change_summary", { changes });
    const { outputs } = plan;
    if (outputs.length > 0) {
      this.#write("info", `Outputs: ${outputs.length}`, "outputs", {
        outputs: Object.fromEntries(
          outputs.map(({ name, action, sensitive }) => [
            name,
            { action: action === "no-op" ? "noop" : action, sensitive },
          ]),
        ),
      });
    }
  }

  #plannedChange(change: ResourceChange): void {
    const { address, action, previousAddress, importing, reason } = change;
    if (action === "no-op" && previousAddress === undefined && importing === undefined) return;
    const shown = action === "no-op" ? (importing === undefined ? "move" : "import") : action;
    this.#write("info", `${address}: Plan to ${shown}`, "planned_change", {
      change: {
        resource: resourceOf(address),
        ...(previousAddress !== undefined && { previous_resource: resourceOf(previousAddress) }),
        action: shown,
        ...(importing !== undefined && { importing: { id: importing.id } }),
        ...(reason !== undefined && { reason: REASONS[reason] ?? reason.replaceAll("-", "_") }),
      },
    });
  }

  event(event: RunEvent): void {
    this.#counter.note(event);
    switch (event.type) {
      case "diagnostic":
        this.diagnostic(event.diagnostic);
        break;
      case "read-start":
      case "read-end": {
        const started = event.type === "read-start";
        if (this.#dataRead(event.address, started)) break;
        const message = `${event.address}: ${started ? "Refreshing state..." : "Refresh complete"}`;
        this.#write("info", message, started ? "refresh_start" : "refresh_complete", {
          hook: { resource: resourceOf(event.address), ...deposedOf(event) },
        });
        break;
      }
      case "start":
        if (isQuiet(event.action)) break;
        this.#write("info", startMessage(withoutOldId(event)), "apply_start", {
          hook: {
            resource: resourceOf(event.address),
            action: event.action,
            ...idOf(withoutOldId(event)),
            ...deposedOf(event),
          },
        });
        break;
      case "progress":
        this.#write("info", progressMessage(event, seconds(event.elapsedMs)), "apply_progress", {
          hook: {
            resource: resourceOf(event.address),
            action: event.action,
            elapsed_seconds: seconds(event.elapsedMs),
          },
        });
        break;
      case "end":
        this.#end(event);
        break;
      case "ephemeral":
        this.#ephemeral(event);
        break;
      case "provision":
        this.#provision(event);
        break;
      case "provision-output": {
        const { address, provisioner, line } = event;
        this.#write("info", `${address}: (${provisioner}): ${line}`, "provision_progress", {
          hook: { resource: resourceOf(address), provisioner, output: line },
        });
        break;
      }
      case "phase":
        this.log(`phase: ${event.phase}`);
        break;
      case "provider":
        this.log(`provider ${event.provider}: ${event.status}`);
        break;
      case "planned":
      default:
        break;
    }
  }

  /** A data source is read in a step of its own. */
  #dataRead(address: string, started: boolean): boolean {
    const { value } = parseAddress(address);
    if (value?.kind !== "resource" || value.mode !== "data") return false;
    const step = { address, action: "read" } as const;
    const hook = { resource: resourceOf(address), action: "read" };
    if (started) {
      this.#reads.set(address, this.#now().getTime());
      this.#write("info", startMessage(step), "apply_start", { hook });
    } else {
      const begun = this.#reads.get(address) ?? this.#now().getTime();
      const elapsed = seconds(this.#now().getTime() - begun);
      this.#reads.delete(address);
      this.#write("info", endMessage(step, "complete", elapsed), "apply_complete", {
        hook: { ...hook, elapsed_seconds: elapsed },
      });
    }
    return true;
  }

  #ephemeral(event: Extract<RunEvent, { type: "ephemeral" }>): void {
    const { address, step, status, elapsedMs } = event;
    const hook = { resource: resourceOf(address), action: step };
    if (status === "start") {
      this.#write("info", `${address}: ${step} started`, "ephemeral_op_start", { hook });
      return;
    }
    const done = status === "done";
    this.#write(
      done ? "info" : "error",
      `${address}: ${step} ${done ? "complete" : "errored"}`,
      done ? "ephemeral_op_complete" : "ephemeral_op_errored",
      { hook: { ...hook, elapsed_seconds: seconds(elapsedMs) } },
    );
  }

  #provision({ address, provisioner, status }: Extract<RunEvent, { type: "provision" }>): void {
    const hook = { resource: resourceOf(address), provisioner };
    if (status === "start") {
      const text = `${address}: Provisioning with '${provisioner}'...`;
      this.#write("info", text, "provision_start", { hook });
    } else if (status === "done") {
      const text = `${address}: (${provisioner}) Provisioning complete`;
      this.#write("info", text, "provision_complete", { hook });
    } else {
      const text = `${address}: (${provisioner}) Provisioning errored`;
      this.#write("info", text, "provision_errored", { hook });
    }
  }

  #end(event: Extract<RunEvent, { type: "end" }>): void {
    const { address, action, status, elapsedMs } = event;
    if (isQuiet(action) && status === "done") return;
    const hook = {
      resource: resourceOf(address),
      action,
      elapsed_seconds: seconds(elapsedMs),
      ...idOf(event),
      ...deposedOf(event),
      ...(event.cause !== undefined && { cause: event.cause }),
    };
    if (status === "done") {
      const text = endMessage(event, "complete", seconds(elapsedMs));
      this.#write("info", text, "apply_complete", { hook });
    } else if (status === "skipped" || status === "not-started") {
      this.#write("warn", `${address}: ${action} skipped`, "apply_skipped", { hook });
    } else if (status === "unresolved") {
      this.#write("error", `${address}: ${action} is unresolved`, "apply_unresolved", { hook });
    } else {
      const text = endMessage(event, "errored", seconds(elapsedMs));
      this.#write("error", text, "apply_errored", { hook });
    }
  }

  /** How the run ended, how many of what were done, and how many were not. */
  summary(status: ApplyResult["status"]): void {
    const { counts } = this.#counter;
    const text =
      status === "applied"
        ? completeText(counts, this.#operation)
        : `${STATUS_TEXTS[status]}: ${countsText(counts)}.`;
    this.#write(LEVELS[status], text, "change_summary", {
      changes: { ...counts, operation: this.#operation, status },
    });
  }

  outputs(
    outputs: ReadonlyMap<string, { readonly value: Value; readonly sensitive: boolean }>,
  ): void {
    // Nothing is left of a stack that was destroyed.
    if (this.#operation === "destroy" && outputs.size === 0) return;
    this.#write("info", `Outputs: ${outputs.size}`, "outputs", {
      outputs: Object.fromEntries(
        [...outputs].map(([name, { value: marked, sensitive }]) => {
          const hidden = sensitive || marked.hasMark(Mark.sensitive);
          const [value] = unmarkDeep(marked);
          return [
            name,
            {
              sensitive: hidden,
              type: JSON.parse(encodeTypeJson(value.type)) as JsonMember,
              ...(!hidden && { value: exactJson(encodeJson(value)) }),
            },
          ];
        }),
      ),
    });
  }

  #write(
    level: "info" | "warn" | "error",
    message: string,
    type: string,
    members: JsonMembers,
  ): void {
    const line = {
      "@level": level,
      "@message": message,
      "@module": "stackwright.ui",
      "@timestamp": this.#now().toISOString(),
      type,
      ...members,
    };
    this.#terminal.write(`${writeExactJson(line)}\n`);
  }
}

const LEVELS: Readonly<Record<ApplyResult["status"], "info" | "warn" | "error">> = {
  applied: "info",
  partially_applied: "error",
  failed: "error",
  canceled: "warn",
};

function isQuiet(action: StepAction): boolean {
  return action === "record";
}

function seconds(elapsedMs: number): number {
  return Math.round(elapsedMs / 1000);
}

function idOf({ id }: { readonly id?: string }): JsonMembers {
  return id === undefined ? {} : { id_key: "id", id_value: id };
}

function deposedOf({ deposed }: { readonly deposed: string }): JsonMembers {
  return deposed === "" ? {} : { deposed };
}

/** The id at the start of a create is that of the object which it replaces. */
function withoutOldId<T extends { readonly action: StepAction; readonly id?: string }>(
  event: T,
): Omit<T, "id"> & { readonly id?: string } {
  if (event.action !== "create") return event;
  const { id: _id, ...rest } = event;
  return rest;
}

/** Reasons by their names in the reference command, where these differ. */
const REASONS: Readonly<Record<string, string>> = {
  "replace-because-tainted": "tainted",
  "replace-by-request": "requested",
  "replace-by-triggers": "replace_triggered_by",
  "replace-because-cannot-update": "cannot_update",
};

/** An address with its parts, as tools want to group by them. */
function resourceOf(address: string): JsonMembers {
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
