import type { GeneratedCase } from "./configuration-tree.ts";
import { Dice } from "./dice.ts";
import type { Draft, GeneratedModule } from "./draft.ts";
import { addCall, someModule } from "./draft-module.ts";
import { addResource, someImport } from "./draft-resource.ts";
import { addCheck, addLocal, addOutput, addVariable } from "./draft-values.ts";
import { nextStep, stepOf } from "./next-step.ts";
import { PROVIDER_RESOURCES, type ProviderName } from "./provider-resources.ts";
import { addRealBlocks, addRealValues } from "./real-constructs.ts";

/** Of a hundred cases, so many use each provider; a case with many of them says little more than one with two. */
const PROVIDERS: readonly (readonly [ProviderName, percent: number])[] = [
  ["random", 20],
  ["null", 15],
  ["time", 15],
  ["local", 15],
  ["lab", 12],
  ["tls", 8],
];

/**
 * The case of a number: one or two configurations with changes between them. Equal numbers give equal cases.
 *
 * @param isWide with `&&` and `||`, triggers of repeated resources, imports of counted instances and by maps, calls that are removed by
 * a block, instances that move to other keys, and what real repositories are written with besides (`real-constructs.ts`): attributes
 * that may be left out, templates of files, texts of several lines, JSON, override files, functions and second configurations of
 * providers, data sources, ephemeral resources, blocks written by loops; the case of the number is another one then
 */
export function generateCase(seed: number, isWide = false): GeneratedCase {
  const dice = new Dice(seed);
  const providers = PROVIDERS.flatMap(([name, percent]) => (dice.chance(percent) ? [name] : []));
  const draft = someDraft(dice, providers, isWide);
  const imports = dice.chance(25) ? someImport(draft) : [];
  const first = stepOf(draft, imports, providers);
  const steps = [first];
  if (dice.chance(70)) steps.push(nextStep(draft, providers));
  const needs = providers.map((name) => `terraform-provider-${name}`);
  if (isWide) {
    const finalDestroy = dice.chance(30);
    return { name: `generated-wide-${seed}`, needs, steps, finalDestroy };
  }
  return { name: `generated-${seed}`, needs, steps };
}

function someDraft(dice: Dice, providers: readonly ProviderName[], isWide: boolean): Draft {
  const hasSecrets = dice.chance(12);
  const provided = PROVIDER_RESOURCES.filter(({ provider }) => providers.includes(provider));
  const modules: GeneratedModule[] = [];
  if (dice.chance(55)) {
    for (let i = 0; i < 1 + dice.below(3); i++)
      modules.push(someModule(dice, i, { modules: [...modules], provided, isWide }));
  }
  const draft: Draft = {
    dice,
    references: [],
    variables: [],
    locals: [],
    resources: [],
    calls: [],
    modules,
    extra: [],
    outputs: [],
    hasSecrets,
    isWide,
    files: new Map(),
    aliased: isWide ? providers.filter((name) => dice.chance(name === "lab" ? 20 : 40)) : [],
    provided,
  };
  for (let i = 0; i < 1 + dice.below(4); i++) addVariable(draft, i);
  for (let i = 0; i < dice.below(5); i++) addLocal(draft, i);
  if (isWide) addRealValues(draft, providers);
  const count = 1 + dice.below(5);
  for (let i = 0; i < count; i++) {
    const own = provided.length > 0 && dice.chance(45) ? dice.pick(provided) : undefined;
    addResource(draft, i, own);
    if (modules.length > 0 && dice.chance(35)) addCall(draft, draft.calls.length);
    if (dice.chance(25)) addLocal(draft, 10 + i);
  }
  if (isWide) addRealBlocks(draft, providers);
  if (dice.chance(35)) addCheck(draft);
  for (let i = 0; i < 1 + dice.below(4); i++) addOutput(draft, i);
  return draft;
}
