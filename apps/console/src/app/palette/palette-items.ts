import type { StackStatus } from "@stackwright/client";
import type { Place } from "../places.ts";

/** Something that the palette leads to. */
interface PaletteItem {
  readonly label: string;
  readonly hint: string;
  readonly to: string;
  readonly search?: Readonly<Record<string, string>>;
}

/** What places are called where there is room, with words by which they are sought. */
const LONGER: Readonly<Record<string, string>> = {
  "/graph": "Graph of stacks",
  "/frozen": "Frozen: stop everything",
  "/settings": "Settings, tokens",
  "/access": "Access: users, teams, roles",
  "/identity": "Identity of runs, JWKS",
  "/policies": "Policies, replay",
  "/settings/accounts": "Accounts of the server",
  "/tools": "Tools of stacks, shadow mode",
};

const STACK_PAGES = [
  "resources",
  "graph",
  "outputs",
  "variables",
  "runs",
  "history",
  "drift",
  "tool",
  "settings",
];

/** Results that are shown. */
const MAX_ITEMS = 30;

/**
 * Pages, stacks, runs and pages of stacks for what is typed: all words have to be found; those that begin a name come first.
 */
export function paletteItems(
  text: string,
  stacks: readonly StackStatus[],
  places: readonly Place[],
): readonly PaletteItem[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const items: PaletteItem[] = places.map(({ to, label }) => ({
    label: LONGER[to] ?? label,
    hint: "page",
    to,
  }));
  for (const { project, name, current, newest } of stacks) {
    const base = `/p/${project}/s/${name}`;
    items.push({ label: `${project}/${name}`, hint: "stack", to: base });
    const run = current ?? newest;
    if (run !== undefined && run.number > 0) {
      const label = `${project}/${name} run ${run.number}`;
      items.push({ label, hint: run.phase.replaceAll("_", " "), to: `${base}/r/${run.id}` });
    }
    // Only once a stack is meant, or they would be most of the list.
    if (words.length > 1) {
      for (const page of STACK_PAGES) {
        items.push({ label: `${project}/${name} ${page}`, hint: "page", to: `${base}/${page}` });
      }
    }
  }
  const found = items.filter(({ label }) =>
    words.every((word) => label.toLowerCase().includes(word)),
  );
  const rank = ({ label }: PaletteItem): number => {
    const [first = ""] = words;
    return label
      .toLowerCase()
      .split(/[\s/]/)
      .some((part) => part.startsWith(first))
      ? 0
      : 1;
  };
  return found.toSorted((left, right) => rank(left) - rank(right)).slice(0, MAX_ITEMS);
}

interface FoundResource {
  readonly project: string;
  readonly stack: string;
  readonly address: string;
}

/** Resources that the server found, each in its stack. */
export function resourceItems(resources: readonly FoundResource[]): readonly PaletteItem[] {
  return resources.map(({ project, stack, address }) => ({
    label: address,
    hint: `${project}/${stack}`,
    to: `/p/${project}/s/${stack}/resources`,
    search: { address },
  }));
}
