import type { ConfigurationItem, GeneratedCase, GeneratedStep } from "./configuration-tree.ts";
import { Dice } from "./dice.ts";
import { ExpressionSource, type Reference } from "./expression.ts";
import { BOOL, NUMBER, STRING, someType, typeText, type ValueType } from "./value-type.ts";

/** A resource as long as the steps of a case are made. */
interface GeneratedResource {
  readonly type: "terraform_data" | "random_integer";
  name: string;
  readonly valueType: ValueType;
  readonly repetition: "none" | "count" | "each";
  /** The value of `count`, or the keys of `for_each`. */
  count: number;
  keys: readonly string[];
  arguments: ConfigurationItem[];
  readonly lifecycle: readonly ConfigurationItem[];
}

interface GeneratedModule {
  readonly folder: string;
  readonly files: readonly ConfigurationItem[];
  readonly inputs: ReadonlyMap<string, ValueType>;
  readonly outputs: ReadonlyMap<string, ValueType>;
}

interface GeneratedCall {
  name: string;
  readonly module: GeneratedModule;
  readonly repetition: "none" | "count" | "each";
  count: number;
  keys: readonly string[];
  arguments: readonly ConfigurationItem[];
}

/** What a case is made of before it is written. */
interface Draft {
  readonly dice: Dice;
  readonly references: Reference[];
  readonly variables: ConfigurationItem[];
  readonly locals: ConfigurationItem[];
  resources: GeneratedResource[];
  calls: GeneratedCall[];
  readonly modules: readonly GeneratedModule[];
  readonly extra: ConfigurationItem[];
  readonly outputs: ConfigurationItem[];
  readonly hasSecrets: boolean;
}

const KEYS = ["a", "b", "c", "d-1"];
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

function source(draft: Pick<Draft, "dice" | "references">, more: readonly Reference[] = []) {
  return new ExpressionSource(draft.dice, [...draft.references, ...more]);
}

function addVariable(draft: Draft, index: number): void {
  const { dice, references, variables } = draft;
  const type = someType(dice, 2);
  const name = `v${index}`;
  const items: ConfigurationItem[] = [`type = ${typeText(type)}`];
  const constants = new ExpressionSource(dice, []);
  const isNull = dice.chance(6);
  items.push(`default = ${isNull ? "null" : literalOnly(constants, type)}`);
  if (draft.hasSecrets && dice.chance(50)) items.push("sensitive = true");
  if (dice.chance(10)) items.push(`nullable = ${isNull ? "true" : "false"}`);
  if (dice.chance(25)) {
    const condition = source(draft, [{ text: `var.${name}`, type }]).of(BOOL, 2);
    items.push({
      open: "validation {",
      items: [
        // It has to refer to its variable.
        `condition = anytrue([${condition}, var.${name} == var.${name}])`,
        `error_message = "The value of ${name} is not right."`,
      ],
    });
  }
  variables.push({ open: `variable "${name}" {`, items });
  if (!isNull) references.push({ text: `var.${name}`, type });
}

/** A value that needs no evaluation but that of constants. */
function literalOnly(constants: ExpressionSource, type: ValueType): string {
  if (type.kind === "set") return constants.literal({ kind: "list", element: type.element }, 0);
  if (type.kind === "list") return `[${literalOnly(constants, type.element)}]`;
  if (type.kind === "map") return `{ a = ${literalOnly(constants, type.element)} }`;
  if (type.kind !== "object") return constants.literal(type, 0);
  const members = [...type.attributes].map(
    ([name, own]) => `${name} = ${literalOnly(constants, own)}`,
  );
  return `{ ${members.join(", ")} }`;
}

function addLocal(draft: Draft, index: number): void {
  const { dice, references, locals } = draft;
  const type = someType(dice, 2);
  const name = `l${index}`;
  locals.push(`${name} = ${source(draft).of(type, 3)}`);
  references.push({ text: `local.${name}`, type });
}

function repetitionOf(dice: Dice): "none" | "count" | "each" {
  const roll = dice.below(10);
  if (roll < 5) return "none";
  return roll < 7 ? "count" : "each";
}

function addResource(draft: Draft, index: number, type: GeneratedResource["type"]): void {
  const { dice, references } = draft;
  const name = `r${index}`;
  const repetition = repetitionOf(dice);
  const valueType = type === "random_integer" ? NUMBER : someType(dice, 2);
  const own: Reference[] =
    repetition === "count"
      ? [{ text: "count.index", type: NUMBER }]
      : repetition === "each"
        ? [
            { text: "each.key", type: STRING },
            { text: "each.value", type: STRING },
          ]
        : [];
  const address = `${type}.${name}`;
  const resource: GeneratedResource = {
    type,
    name,
    valueType,
    repetition,
    count: dice.below(4),
    keys: KEYS.filter(() => dice.chance(50)),
    arguments: [],
    lifecycle: lifecycleOf(draft, type, valueType),
  };
  const texts = source(draft, own);
  if (type === "random_integer") {
    // One number is possible, which is unknown in the plan all the same.
    const value = dice.below(100);
    resource.arguments = [
      `min = ${value}`,
      `max = ${value}`,
      ...(dice.chance(50) ? [`keepers = { k = ${texts.of(STRING, 2)} }`] : []),
    ];
  } else {
    resource.arguments = [`input = ${texts.of(valueType, 3)}`];
    if (dice.chance(30)) {
      resource.arguments.push(`triggers_replace = ${texts.of(someType(dice, 1), 2)}`);
    }
  }
  const earlier = draft.resources.at(-1);
  if (earlier !== undefined && dice.chance(12)) {
    resource.arguments.push(`depends_on = [${earlier.type}.${earlier.name}]`);
  }
  draft.resources.push(resource);
  const member = type === "random_integer" ? "result" : "output";
  if (repetition === "none") references.push({ text: `${address}.${member}`, type: valueType });
  else if (repetition === "count") {
    references.push(
      { text: `${address}[*].${member}`, type: { kind: "list", element: valueType } },
      { text: `length(${address})`, type: NUMBER },
    );
    if (resource.count > 0) references.push({ text: `${address}[0].${member}`, type: valueType });
  } else {
    references.push(
      {
        text: `{ for k, r in ${address} : k => r.${member} }`,
        type: { kind: "map", element: valueType },
      },
      { text: `keys(${address})`, type: { kind: "list", element: STRING } },
    );
    const [key] = resource.keys;
    if (key !== undefined)
      references.push({ text: `${address}["${key}"].${member}`, type: valueType });
  }
}

function lifecycleOf(
  draft: Draft,
  type: GeneratedResource["type"],
  valueType: ValueType,
): readonly ConfigurationItem[] {
  const { dice } = draft;
  if (!dice.chance(35)) return [];
  const items: ConfigurationItem[] = [];
  if (dice.chance(40)) items.push("create_before_destroy = true");
  if (type === "terraform_data" && dice.chance(25)) {
    items.push(`ignore_changes = [${dice.pick(["input", "triggers_replace"])}]`);
  }
  const other = draft.resources.at(-1);
  // Terraform has an error of its own where such a resource has no instance.
  if (other?.repetition === "none" && dice.chance(20)) {
    items.push(`replace_triggered_by = [${other.type}.${other.name}]`);
  }
  if (dice.chance(35)) {
    items.push({
      open: "precondition {",
      items: [`condition = ${someCondition(draft)}`, 'error_message = "before"'],
    });
  }
  if (dice.chance(35)) {
    const self: Reference = {
      text: type === "random_integer" ? "self.result" : "self.output",
      type: valueType,
    };
    const condition = source(draft, [self]).of(BOOL, 2);
    items.push({
      open: "postcondition {",
      items: [`condition = anytrue([${condition}, self.id != ""])`, 'error_message = "after"'],
    });
  }
  return items.length === 0 ? [] : [{ open: "lifecycle {", items }];
}

function someModule(dice: Dice, index: number): GeneratedModule {
  const draft: Draft = {
    dice,
    references: [],
    variables: [],
    locals: [],
    resources: [],
    calls: [],
    modules: [],
    extra: [],
    outputs: [],
    hasSecrets: false,
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
  for (let i = 0; i < 1 + dice.below(2); i++) addResource(draft, i, "terraform_data");
  const outputs = new Map<string, ValueType>();
  for (let i = 0; i < 1 + dice.below(2); i++) {
    const type = someType(dice, 2);
    outputs.set(`out${i}`, type);
    draft.outputs.push({
      open: `output "out${i}" {`,
      items: [`value = ${source(draft).of(type, 3)}`],
    });
  }
  return { folder: `modules/m${index}`, files: itemsOf(draft), inputs, outputs };
}

function addCall(draft: Draft, index: number): void {
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

function addCheck(draft: Draft): void {
  const { dice } = draft;
  draft.extra.push({
    open: 'check "c" {',
    items: dice.times(1, 2, (index) => ({
      open: "assert {",
      items: [`condition = ${someCondition(draft)}`, `error_message = "check ${index}"`],
    })),
  });
}

/** A condition, which has to refer to something; mostly one that holds, so that the run gets further. */
function someCondition(draft: Draft): string {
  const { dice, references } = draft;
  const subject = references.length === 0 ? "path.module" : dice.pick(references).text;
  const all = dice.chance(25) ? "alltrue" : "anytrue";
  return `${all}([${source(draft).of(BOOL, 2)}, ${subject} != null])`;
}

function addOutput(draft: Draft, index: number): void {
  const { dice } = draft;
  const type = someType(dice, 2);
  const items: ConfigurationItem[] = [`value = ${source(draft).of(type, 4)}`];
  if (draft.hasSecrets || dice.chance(10)) items.push("sensitive = true");
  if (dice.chance(15)) {
    items.push({
      open: "precondition {",
      items: [`condition = ${someCondition(draft)}`, 'error_message = "output"'],
    });
  }
  draft.outputs.push({ open: `output "o${index}" {`, items });
}

function someImport({ dice, resources }: Draft): readonly ConfigurationItem[] {
  const candidates = resources.filter(
    ({ type, repetition, keys }) =>
      type === "terraform_data" &&
      (repetition === "none" || (repetition === "each" && keys.length > 0)),
  );
  if (candidates.length === 0) return [];
  const { name, repetition, keys } = dice.pick(candidates);
  if (repetition === "none") {
    return [{ open: "import {", items: [`to = terraform_data.${name}`, 'id = "imported"'] }];
  }
  const text = keys.map((key) => `"${key}"`).join(", ");
  return [
    {
      open: "import {",
      items: [
        `for_each = toset([${text}])`,
        `to = terraform_data.${name}[each.key]`,
        'id = "imported-${each.key}"',
      ],
    },
  ];
}

function repetitionItems({
  repetition,
  count,
  keys,
}: Pick<GeneratedResource, "repetition" | "count" | "keys">): readonly string[] {
  if (repetition === "none") return [];
  if (repetition === "count") return [`count = ${count}`];
  return [`for_each = toset([${keys.map((key) => `"${key}"`).join(", ")}])`];
}

function itemsOf(draft: Draft): readonly ConfigurationItem[] {
  return [
    ...draft.variables,
    ...(draft.locals.length === 0 ? [] : [{ open: "locals {", items: draft.locals }]),
    ...draft.resources.map((resource) => ({
      open: `resource "${resource.type}" "${resource.name}" {`,
      items: [...repetitionItems(resource), ...resource.arguments, ...resource.lifecycle],
    })),
    ...draft.calls.map((call) => ({
      open: `module "${call.name}" {`,
      items: [`source = "./${call.module.folder}"`, ...repetitionItems(call), ...call.arguments],
    })),
    ...draft.extra,
    ...draft.outputs,
  ];
}

function stepOf(
  draft: Draft,
  more: readonly ConfigurationItem[],
  usesRandom: boolean,
  edits: Partial<GeneratedStep> = {},
): GeneratedStep {
  const head: ConfigurationItem[] = usesRandom
    ? [
        {
          open: "terraform {",
          items: [
            { open: "required_providers {", items: ['random = { source = "hashicorp/random" }'] },
          ],
        },
      ]
    : [];
  return {
    mode: "apply",
    stateEdits: [],
    targets: [],
    replace: [],
    ...edits,
    files: new Map([
      ["main.tf", [...head, ...itemsOf(draft), ...more]],
      ...draft.modules.map(({ folder, files }) => [`${folder}/main.tf`, files] as const),
    ]),
  };
}

/** The next configuration: some changes of the one before. */
function nextStep(draft: Draft, usesRandom: boolean): GeneratedStep {
  const { dice } = draft;
  const more: ConfigurationItem[] = [];
  const renames = new Map<string, string>();
  const edits: { stateEdits?: string[][]; replace?: string[] } = {};
  const before = draft.resources;
  for (const resource of before) {
    if (!dice.chance(50)) continue;
    const address = `${resource.type}.${resource.name}`;
    const change = dice.below(7);
    if (change === 0) {
      renames.set(address, `${resource.type}.${resource.name}_new`);
      more.push({
        open: "moved {",
        items: [`from = ${address}`, `to = ${resource.type}.${resource.name}_new`],
      });
      resource.name = `${resource.name}_new`;
    } else if (change === 1) {
      resource.count = dice.below(4);
      resource.keys = KEYS.filter(() => dice.chance(50));
    } else if (change === 2 && !isUsed(draft, address)) {
      draft.resources = draft.resources.filter((one) => one !== resource);
      if (dice.chance(70)) {
        const lifecycle = {
          open: "lifecycle {",
          items: [`destroy = ${dice.pick(["false", "true"])}`],
        };
        more.push({ open: "removed {", items: [`from = ${address}`, lifecycle] });
      }
    } else if (change === 3 && resource.repetition === "none") {
      if (dice.chance(50)) (edits.stateEdits ??= []).push(["taint", address]);
      else (edits.replace ??= []).push(address);
    } else if (resource.type === "terraform_data") {
      const constants = new ExpressionSource(dice, []);
      const input = `input = ${constants.literal(resource.valueType, 1)}`;
      resource.arguments = [input, ...resource.arguments.slice(1)];
    }
  }
  for (const call of draft.calls) {
    if (!dice.chance(30)) continue;
    if (dice.chance(50)) {
      call.count = dice.below(3);
      call.keys = KEYS.filter(() => dice.chance(40));
    } else {
      renames.set(`module.${call.name}`, `module.${call.name}_new`);
      more.push({
        open: "moved {",
        items: [`from = module.${call.name}`, `to = module.${call.name}_new`],
      });
      call.name = `${call.name}_new`;
    }
  }
  const step = stepOf(draft, [], usesRandom, edits);
  const files = new Map(
    [...step.files].map(([path, items]) =>
      path === "main.tf"
        ? ([path, [...items.map((item) => renamed(item, renames)), ...more]] as const)
        : ([path, items] as const),
    ),
  );
  return { ...step, files };
}

/** Whether anything of the configuration names an address. */
function isUsed(draft: Draft, address: string): boolean {
  return new RegExp(`\\b${address}\\b`).test(JSON.stringify(itemsOf(draft)));
}

function renamed(item: ConfigurationItem, renames: ReadonlyMap<string, string>): ConfigurationItem {
  if (typeof item === "string") {
    let text = item;
    for (const [from, to] of renames) text = text.replaceAll(new RegExp(`\\b${from}\\b`, "g"), to);
    return text;
  }
  return { ...item, items: item.items.map((one) => renamed(one, renames)) };
}
