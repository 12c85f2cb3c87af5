import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { DifferentialCase } from "../differential/case-files.ts";
import { compareRecordings, type Deviation } from "../differential/compare.ts";
import {
  formatExact,
  type Json,
  type JsonObject,
  listOf,
  objectOf,
  textOf,
} from "../differential/exact-json.ts";
import { runCase } from "../differential/run-case.ts";
import { stackwrightTool, terraformTool } from "../differential/tool.ts";
import { type GeneratedCase, renderItems } from "./configuration-tree.ts";
import { RANDOM_ATTRIBUTES } from "./provider-resources.ts";

/** What came of a case under both commands. */
interface CaseComparison {
  readonly deviations: readonly Deviation[];
  /** How the real command ended the last step that it did. */
  readonly result: string;
}

interface CompareOptions {
  /** The real command. */
  readonly terraform: string;
  /** The CLI configuration with a mirror of the providers that cases need. */
  readonly configuration: string;
}

/** Runs a case with the real command, then in this process with ours, and compares plans, states, outputs and errors. */
export async function compareCase(
  test: GeneratedCase,
  { terraform, configuration }: CompareOptions,
): Promise<CaseComparison> {
  const folder = await mkdtemp(join(tmpdir(), "generated-"));
  try {
    const written = await writeCase(test, folder);
    const rc = test.needs.length === 0 ? undefined : configuration;
    const quick = { quick: true };
    const [expected, actual] = await Promise.all([
      runCase(written, () => terraformTool(terraform), rc, quick),
      runCase(written, (scratch) => stackwrightTool(undefined, join(scratch, "store")), rc, quick),
    ]);
    const wanted = withoutTriggersOfCreates(withoutEmptyChecks(withoutOwnWords(expected)));
    const found = withoutOwnWords(actual);
    const until = (step: number): readonly Deviation[] =>
      compareRecordings({ ...wanted, steps: listOf(wanted["steps"]).slice(0, step) }, found);
    const refused = firstOfUnknownTypes(expected, actual);
    if (refused !== -1) {
      const result = "passed over for types that only a plan knows";
      return { deviations: until(refused), result };
    }
    const earlier = firstDecidedEarlier(expected, actual);
    if (earlier !== -1) {
      const result = "passed over for conditions that our plan decides";
      return { deviations: until(earlier), result };
    }
    return { deviations: compareRecordings(wanted, found), result: resultOf(expected) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * The first step that the real command refuses before it plans, for types alone that only a plan knows, and that ours plans; -1 where there is
 * none. What comes after it is no comparison.
 */
export function firstOfUnknownTypes(expected: JsonObject, actual: JsonObject): number {
  const planned = listOf(actual["steps"]).map(objectOf);
  return listOf(expected["steps"]).findIndex((one, at) => {
    const { stage, errors } = objectOf(one);
    const found = listOf(errors).map(objectOf);
    const ours = planned[at]?.["stage"];
    if (stage !== "plan" || found.length === 0 || ours === "plan" || ours === "validate")
      return false;
    return found.every(({ summary, detail }) =>
      summary === "Invalid function argument"
        ? /cannot convert (object|tuple) to (map|list|set) of any single type/.test(textOf(detail))
        : summary === "Inconsistent conditional result types",
    );
  });
}

/**
 * The first step that the real command applies until conditions fail, of which our plan knows already that they do, so that nothing is
 * applied; -1 where there is none. What comes after it is no comparison.
 */
export function firstDecidedEarlier(expected: JsonObject, actual: JsonObject): number {
  const ours = listOf(actual["steps"]).map(objectOf);
  return listOf(expected["steps"]).findIndex((one, at) => {
    const { stage, errors } = objectOf(one);
    const step = ours[at];
    if (stage !== "apply" || step?.["stage"] !== "plan") return false;
    const theirs = new Set(listOf(errors).map((error) => placeOf(objectOf(error))));
    const found = listOf(step["errors"]).map(objectOf);
    return (
      found.length > 0 && found.every((error) => isOfCondition(error) && theirs.has(placeOf(error)))
    );
  });
}

function isOfCondition({ summary }: JsonObject): boolean {
  return /^Resource (pre|post)condition failed$|output value precondition failed$/.test(
    textOf(summary),
  );
}

function placeOf({ summary, file, line }: JsonObject): string {
  return JSON.stringify([summary, file ?? null, formatExact(line ?? null)]);
}

/** A check that fails as its data source cannot be read says so in the words of the provider, which are our own for the built-in one. */
function withoutOwnWords(recording: JsonObject): JsonObject {
  const words = (message: Json): Json =>
    /^Unable to find remote state(?=:)/.exec(textOf(message))?.[0] ?? message;
  const steps = listOf(recording["steps"]).map((one) => {
    const step = objectOf(one);
    if (step["checks"] === undefined) return step;
    const checks = listOf(step["checks"]).map((check): Json => {
      const objects = listOf(objectOf(check)["objects"]).map((row): Json => {
        const { failures, ...others } = objectOf(row);
        if (failures === undefined) return others;
        return { ...others, failures: listOf(failures).map(words) };
      });
      return { ...objectOf(check), objects };
    });
    return { ...step, checks };
  });
  return { ...recording, steps };
}

/** Conditions of what has no instance were not checked, which need not be said. */
function withoutEmptyChecks(recording: JsonObject): JsonObject {
  const steps = listOf(recording["steps"]).map((one) => {
    const step = objectOf(one);
    const checks = listOf(step["checks"]).map(objectOf);
    const empty = new Set(
      checks.filter(({ objects }) => listOf(objects).length === 0).map(({ address }) => address),
    );
    const plan = objectOf(step["plan"]);
    const stated = (rows: Json | undefined): Json[] =>
      listOf(rows).filter((row) => !empty.has(objectOf(row)["address"]));
    return {
      ...step,
      ...(step["checks"] !== undefined && { checks: stated(step["checks"]) }),
      ...(plan["checks"] !== undefined && { plan: { ...plan, checks: stated(plan["checks"]) } }),
    };
  });
  return { ...recording, steps };
}

/**
 * An object that is made for the first time is not replaced. The real command says of it that `replace_triggered_by` replaces it,
 * where what that names changes: an instance with a new key, or an object beside one that is imported and changed at once.
 */
function withoutTriggersOfCreates(recording: JsonObject): JsonObject {
  const isMade = ({ actions }: JsonObject) => JSON.stringify(actions) === '["create"]';
  const steps = listOf(recording["steps"]).map((one) => {
    const step = objectOf(one);
    if (step["plan"] === undefined) return step;
    const plan = objectOf(step["plan"]);
    const rows = listOf(plan["resource_changes"]).map(objectOf);
    const stated = rows.map((row): Json => {
      const { action_reason: reason, ...others } = row;
      return isMade(row) && reason === "replace_by_triggers" ? others : row;
    });
    return { ...step, plan: { ...plan, resource_changes: stated } };
  });
  return { ...recording, steps };
}

function resultOf({ steps }: JsonObject): string {
  const last = objectOf(listOf(steps).at(-1));
  const result = textOf(last["result"]);
  return result === "error" ? `error in ${textOf(last["stage"])}` : result;
}

/** Writes the steps of a case into a folder, as the cases of `e2e/cases` are. */
export async function writeCase(test: GeneratedCase, folder: string): Promise<DifferentialCase> {
  for (const [at, step] of test.steps.entries()) {
    for (const [path, items] of step.files) {
      const file = join(folder, `step${at + 1}`, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, renderItems(items));
    }
  }
  return {
    name: test.name,
    folder,
    title: test.name,
    ordered: false,
    optional: undefined,
    finalDestroy: test.finalDestroy ?? false,
    needs: test.needs,
    random: RANDOM_ATTRIBUTES,
    initialState: undefined,
    expected: undefined,
    steps: test.steps.map(({ mode, targets, replace, stateEdits }, at) => ({
      name: `step${at + 1}`,
      folder: join(folder, `step${at + 1}`),
      mode,
      targets,
      replace,
      refresh: true,
      inputs: [],
      inputsAtApply: false,
      env: {},
      stateEdits,
      drift: new Map(),
    })),
  };
}
