import type { ConfigurationItem } from "./configuration-tree.ts";
import type { Dice } from "./dice.ts";
import { ExpressionSource, type Reference } from "./expression.ts";
import type { ProviderName, ProviderResource } from "./provider-resources.ts";
import type { ValueType } from "./value-type.ts";

/** A resource as long as the steps of a case are made. */
export interface GeneratedResource {
  readonly type: string;
  name: string;
  readonly valueType: ValueType;
  readonly repetition: "none" | "count" | "each";
  /** The value of `count`, or the keys of `for_each`. */
  count: number;
  keys: readonly string[];
  arguments: ConfigurationItem[];
  readonly lifecycle: readonly ConfigurationItem[];
  /** Values of the instances of `for_each` by their keys; absent where it is a set. */
  readonly values?: ReadonlyMap<string, string>;
  /** What an override file says of it. */
  readonly override?: readonly ConfigurationItem[];
  /** Others are replaced with it, which the real command can do only where it has an instance. */
  triggersOthers: boolean;
}

/** A module as long as the steps of a case are made. */
export interface GeneratedModule {
  readonly folder: string;
  readonly files: readonly ConfigurationItem[];
  readonly inputs: ReadonlyMap<string, ValueType>;
  readonly outputs: ReadonlyMap<string, ValueType>;
  /** Whether it has the variable `opt`, whose attributes may be left out. */
  readonly takesOptional: boolean;
  /** Providers whose resources it has, itself or in a module that it calls. */
  readonly uses: ReadonlySet<ProviderName>;
}

/** A call of a module as long as the steps of a case are made. */
export interface GeneratedCall {
  name: string;
  readonly module: GeneratedModule;
  readonly repetition: "none" | "count" | "each";
  count: number;
  keys: readonly string[];
  arguments: readonly ConfigurationItem[];
}

/** What a case is made of before it is written. */
export interface Draft {
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
  /** Whether it has what cases have had since they can be wide. */
  readonly isWide: boolean;
  /** Files beside `main.tf` that the steps share. */
  readonly files: Map<string, readonly ConfigurationItem[]>;
  /** Providers of which there is a second configuration, `other`. */
  readonly aliased: readonly ProviderName[];
  /** Resource types of real providers that it may use. */
  readonly provided: readonly ProviderResource[];
}

/** The keys that instances may have. */
export const KEYS = ["a", "b", "c", "d-1"];

/** Expressions over what a draft has so far. */
export function source(
  { dice, references, isWide }: Pick<Draft, "dice" | "references" | "isWide">,
  more: readonly Reference[] = [],
) {
  return new ExpressionSource(dice, [...references, ...more], isWide);
}

/** How often something is there. */
export function repetitionOf(dice: Dice): "none" | "count" | "each" {
  const roll = dice.below(10);
  if (roll < 5) return "none";
  return roll < 7 ? "count" : "each";
}

function repetitionItems({
  repetition,
  count,
  keys,
  values,
}: Pick<GeneratedResource, "repetition" | "count" | "keys" | "values">): readonly string[] {
  if (repetition === "none") return [];
  if (repetition === "count") return [`count = ${count}`];
  if (values !== undefined) {
    const members = keys.map((key) => `"${key}" = ${values.get(key) ?? '""'}`);
    return [`for_each = { ${members.join(", ")} }`];
  }
  return [`for_each = toset([${keys.map((key) => `"${key}"`).join(", ")}])`];
}

/** What is written of a draft. `base` is the way from its folder to that of the root module. */
export function itemsOf(draft: Draft, base = "./"): readonly ConfigurationItem[] {
  return [
    ...draft.variables,
    ...(draft.locals.length === 0 ? [] : [{ open: "locals {", items: draft.locals }]),
    ...draft.resources.map((resource) => ({
      open: `resource "${resource.type}" "${resource.name}" {`,
      items: [...repetitionItems(resource), ...resource.arguments, ...resource.lifecycle],
    })),
    ...draft.calls.map((call) => ({
      open: `module "${call.name}" {`,
      items: [
        `source = "${base}${call.module.folder}"`,
        ...repetitionItems(call),
        ...call.arguments,
      ],
    })),
    ...draft.extra,
    ...draft.outputs,
  ];
}

/** What an override file says of the resources of a draft. */
export function overridesOf({ resources }: Draft): readonly ConfigurationItem[] {
  return resources.flatMap(({ type, name, override }) =>
    override === undefined ? [] : [{ open: `resource "${type}" "${name}" {`, items: override }],
  );
}
