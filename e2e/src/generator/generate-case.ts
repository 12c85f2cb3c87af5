import type { GeneratedCase } from "./configuration-tree.ts";
import { Dice } from "./dice.ts";
import type { Draft } from "./draft.ts";
import { addCall, someModule } from "./draft-module.ts";
import { addResource, someImport } from "./draft-resource.ts";
import { addCheck, addLocal, addOutput, addVariable } from "./draft-values.ts";
import { nextStep, stepOf } from "./next-step.ts";

const RANDOM = "terraform-provider-random";

/** The case of a number: one or two configurations with changes between them. Equal numbers give equal cases. */
export function generateCase(seed: number): GeneratedCase {
  const dice = new Dice(seed);
  const usesRandom = dice.chance(25);
  const draft = someDraft(dice, usesRandom);
  const imports = dice.chance(25) ? someImport(draft) : [];
  const first = stepOf(draft, imports, usesRandom);
  const steps = [first];
  if (dice.chance(70)) steps.push(nextStep(draft, usesRandom));
  return { name: `generated-${seed}`, needs: usesRandom ? [RANDOM] : [], steps };
}

function someDraft(dice: Dice, usesRandom: boolean): Draft {
  const hasSecrets = dice.chance(12);
  const modules = dice.chance(55) ? dice.times(1, 2, (index) => someModule(dice, index)) : [];
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
  };
  for (let i = 0; i < 1 + dice.below(4); i++) addVariable(draft, i);
  for (let i = 0; i < dice.below(5); i++) addLocal(draft, i);
  const count = 1 + dice.below(5);
  for (let i = 0; i < count; i++) {
    addResource(draft, i, usesRandom && dice.chance(40) ? "random_integer" : "terraform_data");
    if (modules.length > 0 && dice.chance(35)) addCall(draft, draft.calls.length);
    if (dice.chance(25)) addLocal(draft, 10 + i);
  }
  if (dice.chance(35)) addCheck(draft);
  for (let i = 0; i < 1 + dice.below(4); i++) addOutput(draft, i);
  return draft;
}
