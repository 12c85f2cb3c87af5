import type { JsonObject, JsonValue } from "@stackwright/base/json";
import { applyPath, encodeJson, Path, type Value } from "@stackwright/cty";
import { typeOfBlock } from "@stackwright/mux/router";
import type { Resolve } from "./json-config.ts";
import { knownJson, unknownJson } from "./plan-json.ts";
import type { ProviderDriver, TestObject, TestPlan } from "./provider-driver.ts";

/** What a configuration says at one time, and what happens before it is applied. */
export interface ScenarioStep {
  /** Resources by address, `type.name`; one may refer to those before it. */
  readonly resources: JsonObject;
  readonly data?: JsonObject;
  /** Files of the working directory that somebody changes; null removes one. */
  readonly files?: Readonly<Record<string, string | null>>;
  /** Addresses whose objects are to be replaced. */
  readonly taint?: readonly string[];
}

/** A provider, and what is done with it. */
export interface Scenario {
  readonly name: string;
  /** Name of the program, `terraform-provider-<name>`. */
  readonly provider: string;
  /** What its types begin with, where that is something else. @default `provider` */
  readonly prefix?: string;
  readonly config?: JsonObject;
  readonly steps: readonly ScenarioStep[];
  /** Attributes that the provider draws by lot or takes from the clock. */
  readonly volatile?: readonly string[];
}

/** What a plan says of one resource, in the words of the command. */
export interface PlannedChange {
  readonly actions: readonly string[];
  readonly after: JsonValue;
  readonly after_unknown: JsonValue;
  readonly replace_paths: JsonValue;
}

/** What one step came to. */
export interface StepOutcome {
  readonly plan: Readonly<Record<string, PlannedChange>>;
  readonly state: Readonly<Record<string, JsonValue>>;
}

const ACTIONS = {
  create: ["create"],
  "no-op": ["no-op"],
  update: ["update"],
  replace: ["delete", "create"],
  delete: ["delete"],
} as const;

/** Drives a provider through a scenario, in the order in which it names its resources. */
export async function runScenario(
  driver: ProviderDriver,
  { steps }: Scenario,
  changeFiles: (files: NonNullable<ScenarioStep["files"]>) => Promise<void>,
): Promise<StepOutcome[]> {
  let objects = new Map<string, TestObject>();
  const outcomes: StepOutcome[] = [];
  for (const step of steps) {
    await changeFiles(step.files ?? {});
    const run = new StepRun(driver, step, objects);
    const outcome = await run.run();
    ({ objects } = run);
    outcomes.push(outcome);
  }
  return outcomes;
}

class StepRun {
  readonly #driver: ProviderDriver;
  readonly #step: ScenarioStep;
  readonly #values = new Map<string, Value>();
  objects: Map<string, TestObject>;

  constructor(
    driver: ProviderDriver,
    step: ScenarioStep,
    objects: ReadonlyMap<string, TestObject>,
  ) {
    this.#driver = driver;
    this.#step = step;
    this.objects = new Map(objects);
  }

  async run(): Promise<StepOutcome> {
    await this.#refresh();
    const data = await this.#readData();
    const plans = await this.#planAll();
    const plan = Object.fromEntries([...plans].map(([name, one]) => [name, changeOf(one)]));
    await this.#applyAll(plans);
    const state = [...this.objects].map(([name, { state: value }]) => [name, knownJson(value)]);
    return { plan, state: Object.fromEntries([...data, ...state]) as StepOutcome["state"] };
  }

  readonly #resolve: Resolve = (reference) => {
    const [type, name, ...attributes] = reference.split(".");
    const value = this.#values.get(`${type}.${name}`);
    if (value === undefined) throw new Error(`${reference} is not there`);
    const path = attributes.reduce((at, attribute) => at.attribute(attribute), Path.root);
    return applyPath(value, path);
  };

  async #refresh(): Promise<void> {
    for (const [address, object] of this.objects) {
      const upgraded = await this.#upgrade(object);
      const found = await this.#driver.refresh(upgraded);
      if (found === undefined) this.objects.delete(address);
      else {
        const tainted = this.#step.taint?.includes(address) ?? false;
        this.objects.set(address, { ...found, tainted });
      }
    }
  }

  /** What is stored is brought to the present form first, even when it is. */
  async #upgrade(object: TestObject): Promise<TestObject> {
    const schema = this.#driver.declared.schema.resources.get(object.type);
    if (schema === undefined) return object;
    const json = encodeJson(object.state, typeOfBlock(schema.block));
    const request = { type: object.type, schemaVersion: schema.version, json };
    const { state } = await this.#driver.provider.upgrade(request, {});
    return state === undefined ? object : { ...object, state };
  }

  async #readData(): Promise<[string, JsonValue][]> {
    const read: [string, JsonValue][] = [];
    for (const [address, json] of Object.entries(this.#step.data ?? {})) {
      const [type = ""] = address.split(".");
      const value = await this.#driver.readData(type, json as JsonObject, this.#resolve);
      this.#values.set(address, value);
      read.push([`data.${address}`, knownJson(value)]);
    }
    return read;
  }

  async #planAll(): Promise<Map<string, TestPlan>> {
    const plans = new Map<string, TestPlan>();
    for (const [address, json] of Object.entries(this.#step.resources)) {
      const [type = ""] = address.split(".");
      const before = this.objects.get(address);
      const plan = await this.#driver.plan(type, json as JsonObject, before, this.#resolve);
      plans.set(address, plan);
      this.#values.set(address, plan.planned);
    }
    for (const [address, object] of this.objects) {
      if (plans.has(address)) continue;
      plans.set(address, await this.#driver.plan(object.type, undefined, object));
    }
    return plans;
  }

  async #applyAll(plans: ReadonlyMap<string, TestPlan>): Promise<void> {
    for (const [address, plan] of plans) {
      const json = this.#step.resources[address] as JsonObject | undefined;
      const object = await this.#driver.apply(plan, json, this.#resolve);
      if (object === undefined) this.objects.delete(address);
      else {
        this.objects.set(address, object);
        this.#values.set(address, object.state);
      }
    }
  }
}

function changeOf({ action, planned, requiresReplace }: TestPlan): PlannedChange {
  return {
    actions: ACTIONS[action],
    after: knownJson(planned),
    after_unknown: planned.isWhollyKnown ? {} : unknownJson(planned),
    replace_paths: requiresReplace.map((path) =>
      path.steps.map((step): JsonValue => {
        if (step.kind === "attribute") return step.name;
        return knownJson(step.key);
      }),
    ),
  };
}
