import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject, JsonValue } from "@stackwright/base/json";
import { terraformJson } from "./json-config.ts";
import type { PlannedChange, Scenario, ScenarioStep, StepOutcome } from "./scenario.ts";
import { TerraformFolder } from "./terraform-command.ts";

interface ShownPlan {
  readonly resource_changes?: readonly {
    readonly address: string;
    readonly mode: string;
    readonly change: {
      readonly actions: readonly string[];
      readonly after: JsonValue;
      readonly after_unknown: JsonValue;
      readonly replace_paths?: JsonValue;
    };
  }[];
}

interface ShownState {
  readonly values?: {
    readonly root_module?: {
      readonly resources?: readonly { readonly address: string; readonly values: JsonValue }[];
    };
  };
}

/** What the command makes of a scenario, step by step. */
export async function runTerraformScenario(
  scenario: Scenario,
  options: { readonly command: string; readonly programFolder: string },
): Promise<StepOutcome[]> {
  const source = `example.com/test/${scenario.provider}`;
  await using folder = await TerraformFolder.create({
    command: options.command,
    files: {},
    overrides: { [source]: options.programFolder },
  });
  const outcomes: StepOutcome[] = [];
  for (const step of scenario.steps) {
    await changeFiles(folder.path, step.files ?? {}, async (files) => folder.write(files));
    await folder.write({ "main.tf.json": JSON.stringify(configuration(scenario, step, source)) });
    for (const address of step.taint ?? []) await folder.run("taint", address);
    await folder.run("plan", "-out=plan", "-parallelism=1");
    const plan = JSON.parse(await folder.run("show", "-json", "plan")) as ShownPlan;
    await folder.run("apply", "-parallelism=1", "plan");
    const state = JSON.parse(await folder.run("show", "-json")) as ShownState;
    outcomes.push({ plan: changesOf(plan), state: valuesOf(state) });
  }
  return outcomes;
}

/** Writes and removes files of a working directory. */
export async function changeFiles(
  folder: string,
  files: NonNullable<ScenarioStep["files"]>,
  write: (files: Readonly<Record<string, string>>) => Promise<void>,
): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    if (content === null) await rm(join(folder, name), { recursive: true, force: true });
    else await write({ [name]: content });
  }
}

function configuration(scenario: Scenario, step: ScenarioStep, source: string): JsonValue {
  const { provider, prefix = provider } = scenario;
  return {
    terraform: { required_providers: { [prefix]: { source } } },
    provider: { [prefix]: scenario.config ?? {} },
    ...section("resource", step.resources),
    ...section("data", step.data ?? {}),
  };
}

function section(kind: string, blocks: JsonObject): JsonObject {
  const byType: Record<string, Record<string, JsonValue>> = {};
  for (const [address, body] of Object.entries(blocks)) {
    const [type = "", name = ""] = address.split(".");
    byType[type] = { ...byType[type], [name]: terraformJson(body) };
  }
  return Object.keys(byType).length === 0 ? {} : { [kind]: byType };
}

function changesOf({ resource_changes: changes = [] }: ShownPlan): Record<string, PlannedChange> {
  return Object.fromEntries(
    changes
      .filter(({ mode }) => mode === "managed")
      .map(({ address, change }) => [
        address,
        {
          actions: change.actions,
          after: change.after,
          after_unknown: change.after_unknown,
          replace_paths: change.replace_paths ?? [],
        },
      ]),
  );
}

function valuesOf({ values }: ShownState): Record<string, JsonValue> {
  const resources = values?.root_module?.resources ?? [];
  return Object.fromEntries(resources.map((resource) => [resource.address, resource.values]));
}
