import {
  equalJson,
  formatExact,
  isList,
  isObject,
  type Json,
  type JsonObject,
  listOf,
  objectOf,
  textOf,
} from "./exact-json.ts";
import { byText } from "./normalise.ts";

/** Something that is not as it was recorded. */
export interface Deviation {
  /** `step2`, or `destroy`. */
  readonly step: string;
  /** Where: `result`, `plan.actions terraform_data.a`, `state terraform_data.a.attributes`. */
  readonly field: string;
  readonly message: string;
}

/** Compares what happened with what was recorded. Equal in what a user would notice: no deviations. */
export function compareRecordings(expected: JsonObject, actual: JsonObject): Deviation[] {
  const deviations: Deviation[] = [];
  const steps = listOf(actual.steps).map(objectOf);
  for (const [index, step] of listOf(expected.steps).map(objectOf).entries()) {
    compareStep(step, steps[index] ?? {}, (field, message) => {
      deviations.push({ step: textOf(step.step), field, message });
    });
  }
  if (expected.destroy !== undefined) {
    const want = objectOf(expected.destroy);
    const got = objectOf(actual.destroy);
    const report: ReportDeviation = (field, message) => {
      deviations.push({ step: "destroy", field, message });
    };
    same("plan.exit", objectOf(want.plan).exit, objectOf(got.plan).exit, report);
    same("plan.actions", objectOf(want.plan).actions, objectOf(got.plan).actions, report);
    same("apply.exit", objectOf(want.apply).exit, objectOf(got.apply).exit, report);
    same("apply.order", objectOf(want.apply).order, objectOf(got.apply).order, report);
    same("remaining", want.remaining, got.remaining, report);
    same("remaining_outputs", want.remaining_outputs, got.remaining_outputs, report);
  }
  return deviations;
}

type ReportDeviation = (field: string, message: string) => void;

function same(
  field: string,
  want: Json | undefined,
  got: Json | undefined,
  report: ReportDeviation,
): void {
  if (want === undefined && got === undefined) return;
  if (want !== undefined && got !== undefined && equalJson(want, got)) return;
  report(field, `expected ${short(want)}, got ${short(got)}`);
}

function short(value: Json | undefined): string {
  const text = value === undefined ? "nothing" : formatExact(value);
  return text.length > 300 ? `${text.slice(0, 300)}...` : text;
}

function compareStep(want: JsonObject, got: JsonObject, report: ReportDeviation): void {
  same("result", want.result, got.result, (field, message) => {
    report(field, `${message}: ${short(got.errors)}`);
  });
  const early = (stage: Json | undefined): Json =>
    stage === "validate" ? "plan" : (stage ?? null);
  same("stage", early(want.stage), early(got.stage), report);
  if (want.result === "error") compareErrors(want, got, report);
  const plan = objectOf(want.plan);
  if (plan.resource_changes !== undefined && objectOf(got.plan).resource_changes !== undefined) {
    comparePlan(plan, objectOf(got.plan), report);
  }
  compareWarnings(want, got, report);
  same("apply.exit", objectOf(want.apply).exit, objectOf(got.apply).exit, report);
  same("apply.order", objectOf(want.apply).order, objectOf(got.apply).order, report);
  if (want.replan !== undefined && got.replan !== undefined) {
    const replan = objectOf(got.replan);
    same("replan.exit", objectOf(want.replan).exit, replan.exit, report);
    same("replan.actions", objectOf(want.replan).actions, replan.actions, report);
    same(
      "replan.output_actions",
      objectOf(want.replan).output_actions,
      replan.output_actions,
      report,
    );
  }
  compareState(want, got, report);
  const outputs = objectOf(got.outputs);
  for (const [name, output] of Object.entries(objectOf(want.outputs))) {
    same(
      `outputs.${name}`,
      sorted(objectOf(output)),
      outputs[name] && sorted(objectOf(outputs[name])),
      report,
    );
  }
  for (const name of Object.keys(outputs)) {
    if (!(name in objectOf(want.outputs))) report(`outputs.${name}`, "is not in the recording");
  }
  same("checks", want.checks, got.checks, report);
}

/** There must be an error at each recorded place; more errors, and others words, are fine. */
function compareErrors(want: JsonObject, got: JsonObject, report: ReportDeviation): void {
  const found = ["init", "validate", "plan", "apply"].flatMap((part) =>
    listOf(objectOf(got[part]).diagnostics).map(objectOf),
  );
  for (const error of listOf(want.errors).map(objectOf)) {
    if (error.file === undefined) continue;
    const near = found.some(
      (other) =>
        equalJson(other.file ?? null, error.file ?? null) &&
        equalJson(other.line ?? null, error.line ?? null),
    );
    if (!near) {
      report(
        "errors",
        `no error at ${textOf(error.file)}:${short(error.line)} (${textOf(error.summary)}); got ${short(found.map(({ file = null, line = null, summary = null }) => [file, line, summary]))}`,
      );
    }
  }
  const stage = textOf(want.stage);
  for (const problem of listOf(objectOf(want[stage]).diagnostics).map(objectOf)) {
    const said = ownMessage(problem);
    if (said === undefined) continue;
    if (!found.some(({ detail }) => textOf(detail).includes(said))) {
      report("errors", `the message "${said}" of the configuration is not shown`);
    }
  }
}

const CONDITIONS = new Set([
  "Invalid value for variable",
  "Resource precondition failed",
  "Resource postcondition failed",
  "Module output value precondition failed",
]);

/** What the author of the configuration wrote as the message of a condition. */
function ownMessage({ severity, summary, detail }: JsonObject): string | undefined {
  if (severity !== "error" || !CONDITIONS.has(textOf(summary))) return undefined;
  return textOf(detail).split("\n\nThis was checked")[0]?.trim();
}

/** Warnings by their summaries, as far as they are about the configuration. */
function compareWarnings(want: JsonObject, got: JsonObject, report: ReportDeviation): void {
  for (const part of ["validate", "plan", "apply"]) {
    const warnings = (row: JsonObject): string[] =>
      listOf(objectOf(row[part]).diagnostics)
        .map(objectOf)
        .filter(({ severity }) => severity === "warning")
        .map(({ summary }) => textOf(summary));
    const there = warnings(got);
    for (const summary of new Set(warnings(want))) {
      if (got[part] !== undefined && !there.includes(summary)) {
        report(`${part}.warnings`, `the warning "${summary}" is missing`);
      }
    }
  }
}

const STRICT_CHANGE = [
  "actions",
  "previous_address",
  "action_reason",
  "replace_paths",
  "importing",
];

function comparePlan(want: JsonObject, got: JsonObject, report: ReportDeviation): void {
  same("plan.exit", want.exit, got.exit, report);
  const keyOf = ({ address, deposed }: JsonObject): string =>
    `${textOf(address)}${deposed === true ? " (deposed)" : ""}`;
  const there = new Map(
    listOf(got.resource_changes)
      .map(objectOf)
      .map((row) => [keyOf(row), row]),
  );
  for (const change of listOf(want.resource_changes).map(objectOf)) {
    const key = keyOf(change);
    const other = there.get(key);
    there.delete(key);
    if (other === undefined) {
      // What does not change need not be listed.
      if (listOf(change.actions)[0] !== "no-op") report(`plan ${key}`, "is not in the plan");
      continue;
    }
    for (const field of STRICT_CHANGE) {
      same(`plan ${key}.${field}`, change[field], other[field], report);
    }
    compareChange(`plan ${key}`, change, other, report);
  }
  for (const [key, change] of there) {
    report(`plan ${key}`, `is planned (${short(change.actions)}), and was not in the recording`);
  }
  const outputs = objectOf(got.output_changes);
  for (const [name, row] of Object.entries(objectOf(want.output_changes))) {
    const other = outputs[name];
    const change = objectOf(row);
    if (other === undefined) {
      if (listOf(change.actions)[0] !== "no-op")
        report(`plan output.${name}`, "is not in the plan");
      continue;
    }
    same(`plan output.${name}.actions`, change.actions, objectOf(other).actions, report);
    compareChange(`plan output.${name}`, change, objectOf(other), report);
  }
  same("plan.checks", want.checks, got.checks, report);
}

function compareChange(
  field: string,
  want: JsonObject,
  got: JsonObject,
  report: ReportDeviation,
): void {
  if (!equalJson(want.before ?? null, got.before ?? null))
    same(`${field}.before`, want.before, got.before, report);
  if (!knowsAsMuch(want.after ?? null, want.after_unknown, got.after ?? null, got.after_unknown)) {
    report(
      `${field}.after`,
      `expected ${short(want.after)} with unknown ${short(want.after_unknown)}, got ${short(got.after)} with unknown ${short(got.after_unknown)}`,
    );
  }
  same(`${field}.before_sensitive`, want.before_sensitive, got.before_sensitive, report);
  same(`${field}.after_sensitive`, want.after_sensitive, got.after_sensitive, report);
}

/** Whether everything that was known is known, and the same. Knowing more is fine. */
function knowsAsMuch(
  want: Json,
  wantUnknown: Json | undefined,
  got: Json,
  gotUnknown: Json | undefined,
): boolean {
  if (wantUnknown === true) return true;
  if (gotUnknown === true) return false;
  if (isObject(want) && isObject(got)) {
    const names = new Set([...Object.keys(want), ...Object.keys(got)]);
    return [...names].every((name) =>
      knowsAsMuch(
        want[name] ?? null,
        objectOf(wantUnknown)[name],
        got[name] ?? null,
        objectOf(gotUnknown)[name],
      ),
    );
  }
  if (isList(want) && isList(got)) {
    if (want.length !== got.length) return false;
    return want.every((item, index) =>
      knowsAsMuch(item, listOf(wantUnknown)[index], got[index] ?? null, listOf(gotUnknown)[index]),
    );
  }
  return equalJson(want, got);
}

const STRICT_STATE = [
  "mode",
  "index_key",
  "status",
  "id_origin",
  "id_refs",
  "sensitive_attributes",
];

function compareState(want: JsonObject, got: JsonObject, report: ReportDeviation): void {
  const keyOf = ({ address, deposed }: JsonObject): string =>
    `${textOf(address)}${deposed === true ? " (deposed)" : ""}`;
  const there = new Map(
    listOf(got.state)
      .map(objectOf)
      .map((row) => [keyOf(row), row]),
  );
  for (const row of listOf(want.state).map(objectOf)) {
    const key = keyOf(row);
    const other = there.get(key);
    there.delete(key);
    if (other === undefined) {
      report(`state ${key}`, "is not in the state");
      continue;
    }
    for (const field of STRICT_STATE)
      same(`state ${key}.${field}`, row[field], other[field], report);
    const attributes = objectOf(other.attributes);
    for (const [name, value] of Object.entries(objectOf(row.attributes))) {
      same(
        `state ${key}.${name}`,
        sortedDynamic(value),
        sortedDynamic(attributes[name] ?? null),
        report,
      );
    }
  }
  for (const key of there.keys())
    report(`state ${key}`, "is in the state, and was not in the recording");
}

/** A value of dynamic type with its sets in one order. */
function sortedDynamic(value: Json): Json {
  return isObject(value) && value.type !== undefined && "value" in value ? sorted(value) : value;
}

function sorted(typed: JsonObject): JsonObject {
  return { ...typed, value: sortSets(typed.value ?? null, typed.type ?? null) };
}

function sortSets(value: Json, type: Json): Json {
  if (!isList(type)) return value;
  const [kind, inner = null] = type;
  if (kind === "set" && isList(value)) {
    return value.map((item) => sortSets(item, inner)).toSorted(byText);
  }
  if (kind === "list" && isList(value)) return value.map((item) => sortSets(item, inner));
  if (kind === "tuple" && isList(value)) {
    return value.map((item, index) => sortSets(item, listOf(inner)[index] ?? null));
  }
  if ((kind === "map" || kind === "object") && isObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        sortSets(member, kind === "map" ? inner : (objectOf(inner)[name] ?? null)),
      ]),
    );
  }
  return value;
}
