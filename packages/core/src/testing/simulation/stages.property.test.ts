import { systemClock } from "@stackwright/base/clock";
import { Mark, Value } from "@stackwright/cty";
import { expect, it } from "vitest";
import { createEngine } from "../../engine.ts";
import { hasChanges, type Plan, type PlanOptions } from "../../plan/plan.ts";
import { decodePlan, encodePlan } from "../../plan/plan-codec.ts";
import { stuckBecause } from "../../plan/stages.ts";
import { blockOf } from "../../planner/deferral.ts";
import { inProcessOrigin } from "../../providers/builtin-origin.ts";
import { resourceOf } from "../../state/check-state.ts";
import type { StackSnapshot } from "../../state/stack-state.ts";
import type { StateObject } from "../../state/state-object.ts";
import { ModelCloud } from "../model/model-cloud.ts";
import { createModelProvider } from "../model/model-provider.ts";
import { MODEL_SOURCE } from "../model/model-schema.ts";
import { createTestState } from "../state-fixture.ts";
import { createChance } from "./chance.ts";
import { expectedObjects } from "./expected-objects.ts";
import {
  CANARY,
  configText,
  mutateConfig,
  randomConfig,
  type SimConfig,
  type SimResource,
} from "./sim-config.ts";
import { loadText } from "./sim-parts.ts";

const CASES = Math.max(1, Math.round(12 * Number(process.env.STACKWRIGHT_RUNS ?? 1)));
/** Configurations of one case, each applied in stages. */
const CHANGES = 4;
const SLICE = process.env.STACKWRIGHT_SEED;
const FIRST = SLICE === undefined ? 1 : Math.imul(Number(SLICE), 0x9e3779b1) >>> 1;

/** The same with many instances whose number follows from a needed resource, so that it is not known while that changes. */
function withUnknownCounts(config: SimConfig): SimConfig {
  const made: SimResource[] = [];
  for (const [at, resource] of config.entries()) {
    const single = made.findLast(({ repeat }) => repeat === undefined);
    if (single === undefined || at % 3 === 2) {
      made.push({ ...resource, repeat: single === undefined ? undefined : resource.repeat });
      continue;
    }
    const { name } = single;
    const needs = resource.needs.some((need) => need.name === name)
      ? resource.needs
      : [...resource.needs, { name, how: "first" as const }];
    const attribute = resource.size % 2 === 0 ? "id" : "serial";
    const repeat = 1 + (resource.kind % 2);
    made.push({ ...resource, repeat, needs, countBy: { name, attribute } });
  }
  // What needs the first instance of one that is repeated otherwise now, needs all.
  return made.map((resource) => ({
    ...resource,
    needs: resource.needs.map((need) => {
      const target = made.find(({ name }) => name === need.name);
      return need.how === "first" && target?.repeat === 0 ? { ...need, how: "all" } : need;
    }),
  }));
}

/** A stack over a cloud without faults. */
function start() {
  const cloud = new ModelCloud();
  const create = () => createModelProvider({ cloud, scheduler: systemClock });
  const engine = createEngine({ origins: [inProcessOrigin("model", { [MODEL_SOURCE]: create })] });
  const { state } = createTestState();
  const variables = new Map([["canary", Value.string(CANARY).mark(Mark.sensitive)]]);
  const plan = async (config: SimConfig, options: PlanOptions): Promise<Plan> => {
    const configuration = await loadText(configText(config));
    const made = await engine.plan({ state, configuration, variables, options });
    const [error] = made.diagnostics.filter(({ severity }) => severity === "error");
    if (made.plan === undefined) throw new Error(`no plan: ${error?.summary} ${error?.detail}`);
    return decodePlan(encodePlan(made.plan));
  };
  const apply = async (config: SimConfig, approved: Plan): Promise<void> => {
    const configuration = await loadText(configText(config));
    const { status, diagnostics } = await engine.apply({
      state,
      configuration,
      variables,
      plan: approved,
    });
    expect([status, diagnostics.filter(({ severity }) => severity === "error")]).toEqual([
      "applied",
      [],
    ]);
  };
  return { cloud, state, plan, apply };
}

/** What identifies an object: it is another one after a replacement. */
function idOf({ value }: StateObject): string {
  return value === undefined ? "" : (JSON.parse(value.json) as { readonly id: string }).id;
}

/** Objects that a stage left, and those that they need by record, are still there; they may have other addresses. */
function expectKept(plan: Plan, before: StackSnapshot, after: StackSnapshot, cloud: ModelCloud) {
  const left = new Set((plan.deferred ?? []).map(({ address }) => address));
  const planned = new Set(plan.changes.map(({ address }) => address));
  for (const object of before.objects.values()) {
    if (!left.has(blockOf(object.address)) || planned.has(object.address)) continue;
    const needed = [...before.objects.values()].filter((other) =>
      object.dependencies.some(
        ({ address }) => address === other.address || address === resourceOf(other.address),
      ),
    );
    for (const one of [object, ...needed]) {
      const where = `${one.address}, which ${object.address} needs`;
      const kept = [...after.objects.values()].find((other) => idOf(other) === idOf(one));
      expect(kept, where).toBeDefined();
      expect(cloud.object(one.type, idOf(one)), where).toBeDefined();
    }
  }
}

it("stages keep what is needed, and end with what the configuration wants", {
  timeout: 120_000 * Math.max(1, CASES / 12),
}, async ({ annotate }) => {
  const counts = { stages: 0, stuck: 0, whole: 0 };
  for (let seed = FIRST; seed < FIRST + CASES; seed += 1) {
    const chance = createChance(seed);
    const { cloud, state, plan, apply } = start();
    let drawn = randomConfig(chance);
    for (let change = 0; change < CHANGES; change += 1) {
      if (change > 0) drawn = mutateConfig(chance, drawn);
      const config = withUnknownCounts(drawn);
      let last: readonly string[] = [];
      for (let stage = 1; ; stage += 1) {
        const made = await plan(config, { staged: true });
        const { deferred: left = [] } = made;
        const why = stuckBecause({ stage, last, left, hasChanges: hasChanges(made) });
        if (why !== undefined) {
          // Nothing else keeps a value of this cloud from becoming known.
          const reasons = left.map(({ because }) => because);
          expect(reasons, `seed ${seed}`).toContainEqual(expect.stringContaining("be replaced"));
          counts.stuck += 1;
          // What the advice says leads on.
          const targets = [...new Set(left.flatMap(({ neededBy = [] }) => neededBy))];
          expect(targets, `seed ${seed}`).not.toEqual([]);
          const destroying = await plan(config, { mode: "destroy", targets });
          expect(hasChanges(destroying), `seed ${seed}`).toBe(true);
          await apply(config, destroying);
          last = [];
          stage = 0;
          continue;
        }
        const before = await state.read();
        if (hasChanges(made)) await apply(config, made);
        expectKept(made, before, await state.read(), cloud);
        if (left.length > 0) {
          last = left.map(({ address }) => address);
          counts.stages += 1;
          continue;
        }
        const { objects } = await state.read();
        expect([...objects.keys()].length, `seed ${seed}`).toBe(expectedObjects(config).size);
        expect(hasChanges(await plan(config, {})), `seed ${seed}`).toBe(false);
        counts.whole += 1;
        break;
      }
    }
  }
  // Of other seeds nothing is known but that each case holds.
  if (SLICE === undefined) {
    expect(counts.stages).toBeGreaterThan(0);
    expect(counts.whole).toBeGreaterThan(counts.stuck);
    expect(counts.stuck).toBeGreaterThan(0);
  }
  await annotate(JSON.stringify(counts), "count");
});
