import type { LiveView } from "./live-view.ts";
import type { StackFact } from "./stack-facts.ts";

/** Stacks in between that are named for one that depends on them. */
const MAX_BETWEEN = 20;

/** A stack that depends on outputs of another one, itself or through others. */
interface Dependent {
  readonly stack: StackFact;
  /** 1: it reads them, or they trigger its runs. 2: it does so with a stack that does, and so on. */
  readonly distance: number;
  /** Those of them that its state was made with; none where it depends on them through others alone. */
  readonly outputs: readonly string[];
  /** Their change, or that of a stack in between, requests runs of it. */
  readonly triggered: boolean;
  /** The stacks in between whose outputs it reads or follows, at most 20 of them; none at distance 1. */
  readonly through: readonly StackFact[];
  /** At distance 1 the keys of the origins whose outputs it reads or follows, at most 20 of them; otherwise none. */
  readonly from: readonly string[];
}

interface Link {
  readonly key: string;
  readonly outputs: readonly string[];
  readonly triggered: boolean;
}

/**
 * The stacks that a change of some outputs of a stack may concern, the nearest first. Which outputs of those in between change is not known
 * before they are planned: all of them count. It costs the stacks that are found, and ends where stacks read one another in a circle: a
 * derivation of what each stack depends on would cost all stacks with all that is above them, and has no outputs in a circle.
 *
 * @param origins keys of stacks, which are not among those that are found
 * @param changed names of the outputs; undefined: all
 * @param isNamed which stacks may be named as those in between: they are chosen before their number is limited
 */
export function dependentsOf(
  live: Pick<LiveView, "readersOf" | "followersOf" | "identified">,
  origins: readonly string[],
  changed: readonly string[] | undefined,
  isNamed: (stack: StackFact) => boolean = () => true,
): readonly Dependent[] {
  const found = new Map<string, Dependent>();
  const first = new Set(origins);
  const withOrigin = (named: readonly string[], key: string): readonly string[] => {
    if (named.length >= MAX_BETWEEN) return named;
    const origin = live.identified.get(key);
    return origin === undefined || !isNamed(origin) ? named : [...named, key];
  };
  let from: readonly { readonly key: string; readonly stack: StackFact | undefined }[] = Array.from(
    first,
    (key) => ({ key, stack: undefined }),
  );
  for (let distance = 1; from.length > 0; distance += 1) {
    const next = new Map<string, Dependent>();
    for (const { key, stack: between } of from) {
      for (const link of linksOf(live, key, distance === 1 ? changed : undefined)) {
        const stack = live.identified.get(link.key);
        if (stack === undefined || first.has(link.key) || found.has(link.key)) continue;
        const known = next.get(link.key);
        const through = known?.through ?? [];
        const isAdded = between !== undefined && through.length < MAX_BETWEEN && isNamed(between);
        const outputs = distance === 1 ? [...(known?.outputs ?? []), ...link.outputs] : [];
        next.set(link.key, {
          stack,
          distance,
          outputs,
          triggered: link.triggered || known?.triggered === true,
          through: isAdded ? [...through, between] : through,
          from: distance === 1 ? withOrigin(known?.from ?? [], key) : [],
        });
      }
    }
    for (const [key, dependent] of next) found.set(key, dependent);
    from = [...next].map(([key, { stack }]) => ({ key, stack }));
  }
  return [...found.values()].toSorted(
    (a, b) => a.distance - b.distance || (nameOf(a.stack) < nameOf(b.stack) ? -1 : 1),
  );
}

/** The stacks that read or follow outputs of one, itself. */
function linksOf(
  live: Pick<LiveView, "readersOf" | "followersOf">,
  producer: string,
  changed: readonly string[] | undefined,
): readonly Link[] {
  const links = new Map<string, Link>();
  for (const { key, inputs } of live.readersOf.lookup(producer)) {
    const read = inputs.find((input) => input.key === producer)?.outputs ?? [];
    const outputs = changed === undefined ? read : read.filter((name) => changed.includes(name));
    if (outputs.length > 0) links.set(key, { key, outputs, triggered: false });
  }
  for (const { consumer: key, outputs: names, paused } of live.followersOf.lookup(producer)) {
    if (paused) continue;
    const isOfThese =
      changed === undefined ||
      (names.length === 0 ? changed.length > 0 : names.some((name) => changed.includes(name)));
    if (!isOfThese) continue;
    links.set(key, { key, outputs: links.get(key)?.outputs ?? [], triggered: true });
  }
  return [...links.values()];
}

function nameOf({ project, name }: StackFact): string {
  return `${project}/${name}`;
}
