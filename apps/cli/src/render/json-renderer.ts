import type { ApplyResult, Plan, RunEvent, StackOutput } from "@stackwright/core";
import { decodeJson, decodeTypeJson, Mark } from "@stackwright/cty";
import type { Diagnostic } from "@stackwright/lang";
import { commandVersion } from "../command-version.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { JsonEvents } from "./json-events.ts";
import type { RunRenderer } from "./run-renderer.ts";

/** A run as programs follow it: one JSON object a line. */
export class JsonRenderer implements RunRenderer, Disposable {
  readonly #events: JsonEvents;

  constructor(terminal: Terminal, operation: "plan" | "apply" | "destroy") {
    this.#events = new JsonEvents({ terminal, operation });
    this.#events.version(commandVersion());
  }

  readonly onPlanning = (event: RunEvent): void => {
    if (event.type !== "diagnostic") this.#events.event(event);
  };

  planned(plan: Plan): void {
    this.#events.plan(plan);
  }

  diagnostics(diagnostics: readonly Diagnostic[]): void {
    for (const diagnostic of diagnostics) this.#events.diagnostic(diagnostic);
  }

  begin(): void {
    // The lines of the steps say it.
  }

  readonly onApplying = (event: RunEvent): void => {
    if (event.type !== "diagnostic") this.#events.event(event);
  };

  stopping(): void {
    this.#events.log("stopping: what runs is waited for");
  }

  applied({
    status,
    diagnostics,
    outputs,
    secretOutputs,
  }: Pick<ApplyResult, "status" | "diagnostics" | "outputs" | "secretOutputs">): void {
    this.diagnostics(diagnostics);
    this.#events.summary(status);
    this.#events.outputs(
      new Map(
        [...outputs].map(([name, { type, json, sensitive }]) => {
          const value = decodeJson(json, decodeTypeJson(type));
          const hidden = secretOutputs.has(name);
          return [name, { value: hidden ? value.mark(Mark.sensitive) : value, sensitive }];
        }),
      ),
    );
  }

  unchanged(outputs: ReadonlyMap<string, StackOutput>): void {
    this.applied({ status: "applied", diagnostics: [], outputs, secretOutputs: new Set() });
  }

  note(text: string): void {
    this.#events.log(text);
  }

  [Symbol.dispose](): void {
    // Nothing is held.
  }
}
