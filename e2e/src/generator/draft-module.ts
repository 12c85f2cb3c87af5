import type { Dice } from "./dice.ts";
import {
  type Draft,
  type GeneratedCall,
  type GeneratedModule,
  itemsOf,
  KEYS,
  repetitionOf,
  source,
} from "./draft.ts";
import { addResource } from "./draft-resource.ts";
import { addLocal } from "./draft-values.ts";
import { someType, typeText, type ValueType } from "./value-type.ts";

/** A module with variables, resources and outputs, and sometimes a call of one that was made before. */
export function someModule(
  dice: Dice,
  index: number,
  { modules, provided, isWide }: Pick<Draft, "modules" | "provided" | "isWide">,
): GeneratedModule {
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
    hasSecrets: false,
    isWide,
    provided: provided.filter(({ inModules }) => inModules),
  };
  const inputs = new Map<string, ValueType>();
  for (let i = 0; i < 1 + dice.below(3); i++) {
    const type = someType(dice, 2);
    const name = `in${i}`;
    const items = [`type = ${typeText(type)}`, ...(dice.chance(20) ? ["nullable = false"] : [])];
    draft.variables.push({ open: `variable "${name}" {`, items });
    draft.references.push({ text: `var.${name}`, type });
    inputs.set(name, type);
  }
  if (dice.chance(40)) addLocal(draft, 0);
  for (let i = 0; i < 1 + dice.below(2); i++) {
    const own =
      draft.provided.length > 0 && dice.chance(25) ? dice.pick(draft.provided) : undefined;
    addResource(draft, i, own);
  }
  if (modules.length > 0 && dice.chance(50)) addCall(draft, 0);
  const outputs = new Map<string, ValueType>();
  for (let i = 0; i < 1 + dice.below(2); i++) {
    const type = someType(dice, 2);
    outputs.set(`out${i}`, type);
    draft.outputs.push({
      open: `output "out${i}" {`,
      items: [`value = ${source(draft).of(type, 3)}`],
    });
  }
  return { folder: `modules/m${index}`, files: itemsOf(draft, "../../"), inputs, outputs };
}

/** Adds a call of one of the modules. */
export function addCall(draft: Draft, index: number): void {
  const { dice, references, modules } = draft;
  const module = dice.pick(modules);
  const repetition = repetitionOf(dice);
  const name = `c${index}`;
  const texts = source(draft);
  const call: GeneratedCall = {
    name,
    module,
    repetition,
    count: dice.below(3),
    keys: KEYS.filter(() => dice.chance(40)),
    arguments: [...module.inputs].map(([input, type]) => `${input} = ${texts.of(type, 3)}`),
  };
  draft.calls.push(call);
  const address = `module.${name}`;
  for (const [output, type] of module.outputs) {
    if (repetition === "none") references.push({ text: `${address}.${output}`, type });
    else if (repetition === "count") {
      references.push({ text: `${address}[*].${output}`, type: { kind: "list", element: type } });
    } else {
      references.push({
        text: `{ for k, m in ${address} : k => m.${output} }`,
        type: { kind: "map", element: type },
      });
    }
  }
}
