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
import { optionalValue, optionalVariable, referToOptional } from "./real-constructs.ts";
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
    files: new Map(),
    aliased: [],
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
  const takesOptional = isWide && dice.chance(35);
  if (takesOptional) {
    draft.variables.push(optionalVariable(dice.chance(20) ? ["nullable = false"] : []));
    referToOptional(draft);
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
  const uses = new Set(
    provided
      .filter(({ type }) => draft.resources.some((one) => one.type === type))
      .map(({ provider }) => provider),
  );
  for (const call of draft.calls) for (const name of call.module.uses) uses.add(name);
  const files = itemsOf(draft, "../../");
  return { folder: `modules/m${index}`, files, inputs, outputs, takesOptional, uses };
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
    arguments: [
      ...[...module.inputs].map(([input, type]) => `${input} = ${texts.of(type, 3)}`),
      ...(module.takesOptional ? [`opt = ${optionalValue(draft)}`] : []),
      ...providersOf(draft, module),
    ],
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

/** The configurations of providers that a call passes, where it passes some. */
function providersOf({ dice, aliased }: Draft, { uses }: GeneratedModule): readonly string[] {
  const passed = aliased.filter((name) => uses.has(name) && dice.chance(70));
  if (passed.length === 0) return [];
  return [`providers = { ${passed.map((name) => `${name} = ${name}.other`).join(", ")} }`];
}
