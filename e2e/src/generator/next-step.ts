import type { ConfigurationItem, GeneratedStep } from "./configuration-tree.ts";
import { type Draft, type GeneratedResource, itemsOf, KEYS, overridesOf } from "./draft.ts";
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
  const overrides = overridesOf(draft);
  const head: ConfigurationItem[] =
    providers.length > 0
      ? [{ open: "terraform {", items: [{ open: "required_providers {", items: sources }] }]
      : [];
  for (const name of providers) {
    const block = PROVIDER_BLOCKS[name];
    if (block !== undefined) head.push(block);
    if (draft.aliased.includes(name)) head.push(secondOf(name));
  }
  return {
    mode: "apply",
    stateEdits: [],
    targets: [],
    replace: [],
    ...edits,
    files: new Map([
      ["main.tf", [...head, ...itemsOf(draft), ...more]],
      ...draft.files,
      ...(overrides.length > 0 ? [["main_override.tf", overrides] as const] : []),
      ...draft.modules.map(({ folder, files }) => [`${folder}/main.tf`, files] as const),
    ]),
  };
}

/** A second configuration of a provider. */
function secondOf(name: ProviderName): ConfigurationItem {
  const items = name === "lab" ? ['directory = "../other-lab"'] : [];
  return { open: `provider "${name}" {`, items: ['alias = "other"', ...items] };
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
      more.push(...movesOf(draft, address));
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
      isOfRoot(path)
        ? ([
            path,
            [...items.map((item) => renamed(item, renames)), ...(path === "main.tf" ? more : [])],
          ] as const)
        : ([path, items] as const),
    ),
  );
  return { ...step, files };
}

/** A move to a new name, sometimes by way of another one, as it is left of an earlier move. */
function movesOf({ dice, isWide }: Draft, from: string): readonly ConfigurationItem[] {
  const by = isWide && dice.chance(40) ? [`${from}_old`] : [];
  const way = [from, ...by, `${from}_new`];
  const moves = way
    .slice(1)
    .map((to, at) => ({ open: "moved {", items: [`from = ${way[at]}`, `to = ${to}`] }));
  return isWide && dice.chance(50) ? moves.toReversed() : moves;
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

function isOfRoot(path: string): boolean {
  return !path.includes("/");
}

/** Whether anything of the configuration names an address. */
function isUsed(draft: Draft, address: string): boolean {
  const all = [itemsOf(draft), overridesOf(draft), ...draft.files.values()];
  return new RegExp(`\\b${address}\\b`).test(JSON.stringify(all));
}

function renamed(item: ConfigurationItem, renames: ReadonlyMap<string, string>): ConfigurationItem {
  if (typeof item === "string") {
    let text = item;
    for (const [from, to] of renames) text = text.replaceAll(new RegExp(`\\b${from}\\b`, "g"), to);
    return text;
  }
  return { ...item, items: item.items.map((one) => renamed(one, renames)) };
}
