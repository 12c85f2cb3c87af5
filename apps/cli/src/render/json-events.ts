import type { ApplyResult, ResourceChange, RunEvent } from "@stackwright/core";
import {
  eventLine,
  LANGUAGE_VERSION,
  type Plan,
  resourceMembers,
  summarizePlan,
} from "@stackwright/core";
import { encodeJson, encodeTypeJson, Mark, unmarkDeep, type Value } from "@stackwright/cty";
import { type Diagnostic, diagnosticToJson } from "@stackwright/lang";
import type { Terminal } from "../terminal/terminal.ts";
import { completeText, countsText, RunCounter, STATUS_TEXTS } from "./apply-counts.ts";
import { exactJson, type JsonMember, type JsonMembers, writeExactJson } from "./lossless-json.ts";

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
        change: { resource: resourceMembers(drift.address), action },
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
        resource: resourceMembers(address),
        ...(previousAddress !== undefined && {
          previous_resource: resourceMembers(previousAddress),
        }),
        action: shown,
        ...(importing !== undefined && { importing: { id: importing.id } }),
        ...(reason !== undefined && { reason: REASONS[reason] ?? reason.replaceAll("-", "_") }),
      },
    });
  }

  event(event: RunEvent): void {
    this.#counter.note(event);
    if (event.type === "diagnostic") {
      this.diagnostic(event.diagnostic);
      return;
    }
    const line = eventLine(event);
    if (line !== undefined) this.#write(line.level, line.message, line.type, line.members);
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

/** Reasons by their names in the reference command, where these differ. */
const REASONS: Readonly<Record<string, string>> = {
  "replace-because-tainted": "tainted",
  "replace-by-request": "requested",
  "replace-by-triggers": "replace_triggered_by",
  "replace-because-cannot-update": "cannot_update",
};
