import type { ConfigurationItem } from "./configuration-tree.ts";
import { type Draft, type GeneratedResource, KEYS, repetitionOf, source } from "./draft.ts";
import { someCondition } from "./draft-values.ts";
import type { Reference } from "./expression.ts";
import type { ProviderResource } from "./provider-resources.ts";
import { BOOL, NUMBER, STRING, someType, type ValueType } from "./value-type.ts";

/** Adds a resource, and what others may refer to of it. */
export function addResource(draft: Draft, index: number, provided?: ProviderResource): void {
  const { dice, references } = draft;
  const type = provided?.type ?? "terraform_data";
  const name = `r${index}`;
  const repetition = repetitionOf(dice);
  const valueType = provided?.memberType ?? someType(dice, 2);
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
  const values =
    draft.isWide && repetition === "each" && dice.chance(40)
      ? new Map(KEYS.map((key) => [key, source(draft).of(STRING, 2)]))
      : undefined;
  const resource: GeneratedResource = {
    type,
    name,
    valueType,
    repetition,
    count: dice.below(4),
    keys: KEYS.filter(() => dice.chance(50)),
    arguments: [],
    triggersOthers: false,
    lifecycle: lifecycleOf(draft, type, {
      text: `self.${provided?.member ?? "output"}`,
      type: valueType,
    }),
    ...(values !== undefined && { values }),
    ...(draft.isWide &&
      provided === undefined &&
      dice.chance(10) && { override: overrideOf(draft, valueType) }),
  };
  const texts = source(draft, own);
  if (provided !== undefined) {
    const key = { none: "", count: "-${count.index}", each: "-${each.key}" }[repetition];
    resource.arguments = provided.items(texts, dice, `${name}${key}`);
  } else {
    resource.arguments = [`input = ${texts.of(valueType, 3)}`];
    if (dice.chance(30)) {
      resource.arguments.push(`triggers_replace = ${texts.of(someType(dice, 1), 2)}`);
    }
  }
  if (provided !== undefined && draft.aliased.includes(provided.provider) && dice.chance(40)) {
    resource.arguments.push(`provider = ${provided.provider}.other`);
  }
  const earlier = draft.resources.at(-1);
  if (earlier !== undefined && dice.chance(12)) {
    resource.arguments.push(`depends_on = [${earlier.type}.${earlier.name}]`);
  }
  draft.resources.push(resource);
  const member = provided?.member ?? "output";
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

/** What an override file says of a resource in place of its own arguments. */
function overrideOf(draft: Draft, type: ValueType): readonly ConfigurationItem[] {
  const { dice } = draft;
  const items: ConfigurationItem[] = [`input = ${source(draft).of(type, 2)}`];
  if (dice.chance(40)) {
    items.push({
      open: "lifecycle {",
      items: [`create_before_destroy = ${dice.pick(["true", "false"])}`],
    });
  }
  return items;
}

function lifecycleOf(
  draft: Draft,
  type: GeneratedResource["type"],
  self: Reference,
): readonly ConfigurationItem[] {
  const { dice } = draft;
  if (!dice.chance(35)) return [];
  const items: ConfigurationItem[] = [];
  if (dice.chance(40)) items.push("create_before_destroy = true");
  if (type === "terraform_data" && dice.chance(25)) {
    items.push(`ignore_changes = [${dice.pick(["input", "triggers_replace"])}]`);
  } else if (draft.isWide && dice.chance(12)) items.push("ignore_changes = all");
  if (draft.isWide && dice.chance(8)) items.push("prevent_destroy = true");
  const other = draft.resources.at(-1);
  // Terraform has an error of its own where such a resource has no instance.
  const isThere =
    other?.repetition === "none" || (draft.isWide && other !== undefined && hasInstances(other));
  if (isThere && dice.chance(20)) {
    items.push(`replace_triggered_by = [${other.type}.${other.name}]`);
    other.triggersOthers = true;
  }
  if (dice.chance(35)) {
    items.push({
      open: "precondition {",
      items: [`condition = ${someCondition(draft)}`, 'error_message = "before"'],
    });
  }
  if (dice.chance(35)) {
    const condition = source(draft, [self]).of(BOOL, 2);
    items.push({
      open: "postcondition {",
      items: [`condition = anytrue([${condition}, self.id != ""])`, 'error_message = "after"'],
    });
  }
  return items.length === 0 ? [] : [{ open: "lifecycle {", items }];
}

/** Whether a resource has an instance. */
export function hasInstances({
  repetition,
  count,
  keys,
}: Pick<GeneratedResource, "repetition" | "count" | "keys">): boolean {
  if (repetition === "none") return true;
  return repetition === "count" ? count > 0 : keys.length > 0;
}

/** An import of one of the resources, where one can be imported. */
export function someImport({ dice, resources, isWide }: Draft): readonly ConfigurationItem[] {
  const candidates = resources.filter(
    (one) =>
      one.type === "terraform_data" && (isWide || one.repetition !== "count") && hasInstances(one),
  );
  if (candidates.length === 0) return [];
  const { name, repetition, keys } = dice.pick(candidates);
  if (repetition === "count") {
    return [{ open: "import {", items: [`to = terraform_data.${name}[0]`, 'id = "imported"'] }];
  }
  if (isWide && repetition === "each" && dice.chance(50)) {
    const ids = keys.map((key) => `"${key}" = "by-map-${key}"`).join(", ");
    return [
      {
        open: "import {",
        items: [
          `for_each = { ${ids} }`,
          `to = terraform_data.${name}[each.key]`,
          "id = each.value",
        ],
      },
    ];
  }
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
