import type { ConfigurationItem } from "./configuration-tree.ts";
import { type Draft, source } from "./draft.ts";
import { ExpressionSource } from "./expression.ts";
import { BOOL, someType, typeText, type ValueType } from "./value-type.ts";

/** Adds a variable with a default. */
export function addVariable(draft: Draft, index: number): void {
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

/** Adds a local value. */
export function addLocal(draft: Draft, index: number): void {
  const { dice, references, locals } = draft;
  const type = someType(dice, 2);
  const name = `l${index}`;
  locals.push(`${name} = ${source(draft).of(type, 3)}`);
  references.push({ text: `local.${name}`, type });
}

/** Adds an output. */
export function addOutput(draft: Draft, index: number): void {
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

/** Adds a check. */
export function addCheck(draft: Draft): void {
  const { dice } = draft;
  draft.extra.push({
    open: 'check "c" {',
    items: dice.times(1, 2, (index) => ({
      open: "assert {",
      // A check whose condition cannot be evaluated stops the reference command, and is a warning here.
      items: [`condition = try(${someCondition(draft)}, true)`, `error_message = "check ${index}"`],
    })),
  });
}

/** A condition, which has to refer to something; mostly one that holds, so that the run gets further. */
export function someCondition(draft: Draft): string {
  const { dice, references } = draft;
  const subject = references.length === 0 ? "path.module" : dice.pick(references).text;
  const all = dice.chance(25) ? "alltrue" : "anytrue";
  return `${all}([${source(draft).of(BOOL, 2)}, ${subject} != null])`;
}
