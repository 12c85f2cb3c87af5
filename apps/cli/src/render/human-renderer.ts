import type { ApplyResult, Plan, RunEvent, StackOutput } from "@stackwright/core";
import { decodeJson, decodeTypeJson } from "@stackwright/cty";
import { type Diagnostic, valueText } from "@stackwright/lang";
import type { Terminal } from "../terminal/terminal.ts";
import { wrapWords } from "../terminal/wrap-words.ts";
import { countsText, RunCounter, STATUS_TEXTS } from "./apply-counts.ts";
import { LiveRun } from "./live-run.ts";
import { planParts, type SchemaOf } from "./plan-text.ts";
import { provisionerText } from "./provisioner-text.ts";
import { isShownStep, type RunRenderer, renderedSteps, subjectOf } from "./run-renderer.ts";
import { showDiagnostics } from "./show-diagnostics.ts";
import { sensitiveText } from "./value-diff.ts";

/** Shows a run as text for users. */
export class HumanRenderer implements RunRenderer, Disposable {
  readonly #terminal: Terminal;
  #live: LiveRun | undefined;
  #seen = 0;
  readonly #counter = new RunCounter();

  readonly #options: { readonly compactWarnings?: boolean };

  constructor(terminal: Terminal, options: { readonly compactWarnings?: boolean } = {}) {
    this.#terminal = terminal;
    this.#options = options;
  }

  readonly onPlanning = (event: RunEvent): void => {
    if (event.type !== "read-start" && event.type !== "read-end") return;
    this.#live ??= this.#open(0);
    this.#seen++;
    const subject = subjectOf(event);
    this.#live.show({
      kind: event.type === "read-start" ? "begin" : "done",
      subject,
      action: "refresh",
    });
  };

  planned(plan: Plan, schemaOf: SchemaOf): void {
    this.#end();
    const { style } = this.#terminal;
    let before = this.#seen > 0 ? "\n" : "";
    for (const part of planParts(plan, { style, schemaOf })) {
      this.#say(before);
      this.#say(part);
      before = "\n\n";
    }
    this.#say("\n");
  }

  diagnostics(diagnostics: readonly Diagnostic[]): void {
    this.#end();
    showDiagnostics(this.#terminal, diagnostics, this.#options);
  }

  begin(plan: Plan): void {
    this.#live = this.#open(renderedSteps(plan));
  }

  readonly onApplying = (event: RunEvent): void => {
    this.#counter.note(event);
    const live = this.#live;
    if (live === undefined) return;
    const output = provisionerText(event);
    if (output !== undefined) live.show({ kind: "output", ...output });
    if (!isShownStep(event) || event.type === "progress") return;
    const subject = subjectOf(event);
    const { action } = event;
    const id = event.id === undefined ? {} : { id: event.id };
    if (event.type === "start") live.show({ kind: "begin", subject, action, ...id });
    else if (event.status === "done") live.show({ kind: "done", subject, action, ...id });
    else if (event.status === "skipped") {
      live.show({ kind: "skipped", subject, cause: causeText(event.cause) });
    } else if (event.status === "not-started") {
      live.show({ kind: "skipped", subject, cause: "the run was stopped before" });
    } else if (event.status === "unresolved") {
      live.show({ kind: "unresolved", subject, problem: "the result of the call is unknown" });
    } else live.show({ kind: "failed", subject, action });
  };

  stopping(): void {
    const text = "Stopping: what runs is waited for. Ctrl-C again stops at once.";
    if (this.#live === undefined) this.#terminal.writeError(`\n${text}\n`);
    else this.#live.note(text);
  }

  applied({ status, outputs, secretOutputs, diagnostics }: ApplyResult): void {
    this.#end();
    showDiagnostics(this.#terminal, diagnostics, this.#options);
    const { style } = this.#terminal;
    const counts = countsText(this.#counter.counts);
    const head = style.paint(STATUS_STYLES[status], STATUS_TEXTS[status]);
    this.#say(`\n${head}: ${counts}.\n`);
    if (status !== "applied") {
      this.#say("Completed changes are saved. The next run continues from there.\n");
    }
    const text = outputsText(outputs, secretOutputs);
    if (text !== "") this.#terminal.write(`\nOutputs:\n\n${text}`);
  }

  note(text: string): void {
    this.#end();
    this.#say(`${text}\n`);
  }

  [Symbol.dispose](): void {
    this.#end();
  }

  #open(total: number): LiveRun {
    return new LiveRun({
      terminal: this.#terminal,
      total,
      quiet: ["refresh"],
    });
  }

  #say(text: string): void {
    this.#terminal.write(wrapWords(text, this.#terminal.columns));
  }

  #end(): void {
    this.#live?.[Symbol.dispose]();
    this.#live = undefined;
  }
}

function causeText(cause: string | undefined): string {
  return cause === undefined ? "as what it waits for was not done" : `as it waits for ${cause}`;
}

const STATUS_STYLES = {
  applied: "success",
  partially_applied: "warning",
  failed: "error",
  canceled: "warning",
} as const;

/** Outputs as assignments; of the hidden ones only the names. */
export function outputsText(
  outputs: ReadonlyMap<string, StackOutput>,
  hidden: ReadonlySet<string>,
): string {
  return [...outputs]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, { type, json, isOmitted }]) => {
      const text = hidden.has(name)
        ? sensitiveText({ secretsOmitted: isOmitted === true })
        : valueText(decodeJson(json, decodeTypeJson(type)));
      return `${name} = ${text}\n`;
    })
    .join("");
}
