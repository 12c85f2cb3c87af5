import type { ConfigurationItem, GeneratedStep } from "./configuration-tree.ts";
import { type Draft, type GeneratedResource, itemsOf, KEYS } from "./draft.ts";
import { hasInstances } from "./draft-resource.ts";
import { ExpressionSource } from "./expression.ts";
import { PROVIDER_BLOCKS, PROVIDER_SOURCES, type ProviderName } from "./provider-resources.ts";

/** The configuration of a draft, with more blocks. */
export function stepOf(
  draft: Draft,
  more: readonly ConfigurationItem[],
  providers: readonly ProviderName[],
  edits: Partial<GeneratedStep> = {},
): GeneratedStep {
  const sources = providers.map((name) => `${name} = { source = "${PROVIDER_SOURCES[name]}" }`);
  const head: ConfigurationItem[] =
    providers.length > 0
      ? [{ open: "terraform {", items: [{ open: "required_providers {", items: sources }] }]
      : [];
  for (const name of providers) {
    const block = PROVIDER_BLOCKS[name];
    if (block !== undefined) head.push(block);
  }
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
export function nextStep(draft: Draft, providers: readonly ProviderName[]): GeneratedStep {
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
      const { count, keys } = resource;
      resource.count = dice.below(4);
      resource.keys = KEYS.filter(() => dice.chance(50));
      if (draft.isWide && resource.triggersOthers && !hasInstances(resource)) {
        resource.count = count;
        resource.keys = keys;
      }
      if (draft.isWide) more.push(...keyMoves(resource, keys));
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
    const address = `module.${call.name}`;
    if (draft.isWide && dice.chance(25) && !isUsed(draft, address)) {
      draft.calls = draft.calls.filter((one) => one !== call);
      const lifecycle = {
        open: "lifecycle {",
        items: [`destroy = ${dice.pick(["false", "true"])}`],
      };
      more.push({ open: "removed {", items: [`from = ${address}`, lifecycle] });
      continue;
    }
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
  const step = stepOf(draft, [], providers, edits);
  const files = new Map(
    [...step.files].map(([path, items]) =>
      path === "main.tf"
        ? ([path, [...items.map((item) => renamed(item, renames)), ...more]] as const)
        : ([path, items] as const),
    ),
  );
  return { ...step, files };
}

/** Moves of instances whose keys are gone to keys that are new. */
function keyMoves(
  { type, name, repetition, keys }: GeneratedResource,
  before: readonly string[],
): readonly ConfigurationItem[] {
  if (repetition !== "each") return [];
  const gone = before.filter((key) => !keys.includes(key));
  const added = keys.filter((key) => !before.includes(key));
  return gone.slice(0, added.length).map((key, at) => ({
    open: "moved {",
    items: [`from = ${type}.${name}["${key}"]`, `to = ${type}.${name}["${added[at]}"]`],
  }));
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
