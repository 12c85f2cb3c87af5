import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type Json, type JsonObject, listOf, objectOf, parseExact, textOf } from "./exact-json.ts";

type StepMode = "apply" | "destroy" | "refresh-only" | "plan-only";

/** One step: a complete configuration and how it is run. */
export interface CaseStep {
  readonly name: string;
  /** The folder with the configuration. */
  readonly folder: string;
  readonly mode: StepMode;
  readonly targets: readonly string[];
  readonly replace: readonly string[];
  readonly refresh: boolean;
  /** `-var` and `-var-file` arguments in their order. */
  readonly inputs: readonly string[];
  /** Whether the inputs are given again when the plan is applied. */
  readonly inputsAtApply: boolean;
  readonly env: Readonly<Record<string, string>>;
  /** What is done to the recorded state before the plan, such as `["taint", "random_id.a"]`. */
  readonly stateEdits: readonly (readonly string[])[];
  /** External changes before the plan: contents by path from the working folder, null for a deleted file. */
  readonly drift: ReadonlyMap<string, string | null>;
}

/** A case: a folder with steps, and what the reference command did with them. */
export interface DifferentialCase {
  readonly name: string;
  readonly folder: string;
  readonly title: string;
  /** Whether the order of calls is fixed by dependencies. */
  readonly ordered: boolean;
  /** Names a feature that an engine may leave out. */
  readonly optional: string | undefined;
  readonly finalDestroy: boolean;
  /** Folders of `tools/` whose programs have to be there. */
  readonly needs: readonly string[];
  /** Attributes that providers make at random, by type. */
  readonly random: ReadonlyMap<string, readonly string[]>;
  readonly steps: readonly CaseStep[];
  /** Path of a state before the first step. */
  readonly initialState: string | undefined;
  /** Undefined where nothing was recorded yet. */
  readonly expected: JsonObject | undefined;
}

/** The cases of a folder, in the order of their names. */
export function readCases(folder: string): DifferentialCase[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(folder, entry.name, "step1")))
    .map(({ name }) => readCase(join(folder, name)))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

function readCase(folder: string): DifferentialCase {
  const meta = objectOf(readJson(join(folder, "case.json")));
  const expected = readJson(join(folder, "expected.json"));
  const initial = join(folder, "initial.tfstate");
  const steps = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && /^step\d+$/.test(entry.name))
    .map(({ name }) => readStep(folder, name))
    .toSorted((left, right) => number(left.name) - number(right.name));
  return {
    name: basename(folder),
    folder,
    title: textOf(meta.title),
    ordered: meta.ordered === true,
    optional: meta.optional === undefined ? undefined : textOf(meta.optional) || "yes",
    finalDestroy: meta.final_destroy !== false,
    needs: listOf(meta.needs).map(textOf),
    random: new Map(
      Object.entries(objectOf(meta.random)).map(([type, names]) => [
        type,
        listOf(names).map(textOf),
      ]),
    ),
    steps,
    initialState: existsSync(initial) ? initial : undefined,
    expected: expected === undefined ? undefined : objectOf(expected),
  };
}

function number(name: string): number {
  return Number(name.slice("step".length));
}

function readStep(folder: string, name: string): CaseStep {
  const run = objectOf(readJson(join(folder, `${name}.run.json`)));
  const values = objectOf(readJson(join(folder, `${name}.vars.json`)));
  const env = objectOf(readJson(join(folder, `${name}.env.json`)));
  const files = listOf(run.var_files).map((file) => `-var-file=${textOf(file)}`);
  const flags = Object.entries(values).map(([key, value]) => `-var=${key}=${textOf(value)}`);
  return {
    name,
    folder: join(folder, name),
    mode: (textOf(run.mode) || "apply") as StepMode,
    targets: listOf(run.targets).map(textOf),
    replace: listOf(run.replace).map(textOf),
    refresh: run.refresh !== false,
    inputs: run.vars_before_files === true ? [...flags, ...files] : [...files, ...flags],
    inputsAtApply: run.inputs_at_apply === true,
    env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, textOf(value)])),
    stateEdits: listOf(run.state_edits).map((words) => listOf(words).map(textOf)),
    drift: new Map(
      Object.entries(objectOf(run.drift)).map(([path, text]) => [
        path,
        text === null ? null : textOf(text),
      ]),
    ),
  };
}

function readJson(path: string): Json | undefined {
  return existsSync(path) ? parseExact(readFileSync(path, "utf8")) : undefined;
}
