import { type Chance, createChance } from "./chance.ts";
import type { SimConfig, SimMove, SimResource } from "./sim-config.ts";
import type { SimCase, SimStep } from "./simulate.ts";

/** How a step differs from "plan everything and apply it". Absent members: nothing of that kind. */
export interface SimWays {
  readonly refreshOnly?: true;
  /** Nothing is read before planning. */
  readonly unread?: true;
  /** Addresses of resources. */
  readonly targets?: readonly string[];
  readonly excludes?: readonly string[];
  /** Addresses of instances that are to be replaced. */
  readonly replace?: readonly string[];
  /** What others do to the real objects before the step. */
  readonly drift?: readonly SimDrift[];
  /** The plan is kept for a later step, and not applied. */
  readonly keeps?: true;
  /** The plan that is kept is applied, where there is one, however much has happened since. */
  readonly appliesKept?: true;
  /** Another process does the same at the same time. */
  readonly rival?: true;
}

/** A change of a real object by something else than an engine; `place` chooses it, by the order of the keys. */
export interface SimDrift {
  readonly place: number;
  readonly how: "resize" | "remove";
}

/**
 * The same case by other ways: partial and refresh-only plans, replacements by request, plans that are kept and applied when
 * they may be stale, drift, moves, two processes at once. Chosen by chances of their own, so that a seed makes the same
 * resources, steps and faults with them and without.
 */
export function withWays(given: SimCase): SimCase {
  const chance = createChance(given.seed ^ 0x0a75);
  const steps: SimStep[] = [];
  let remaining = given.steps;
  const moves: SimMove[] = [];
  for (const [index] of given.steps.entries()) {
    if (index > 0 && chance.maybe(0.3)) remaining = renamed(chance, remaining, index, moves);
    const step = remaining[index];
    if (step === undefined) continue;
    const ways = randomWays(chance, step, index);
    steps.push({ ...step, ways, ...(moves.length > 0 && { moves: [...moves] }) });
  }
  return { ...given, steps };
}

function randomWays(chance: Chance, { config, destroy }: SimStep, index: number): SimWays {
  const drift = Array.from({ length: chance.maybe(0.4) ? 1 + chance.below(2) : 0 }, () => ({
    place: chance.below(8),
    how: chance.pick(["resize", "resize", "remove"] as const),
  }));
  const base: SimWays = {
    ...(index > 0 && drift.length > 0 && { drift }),
    ...(chance.maybe(0.15) && { rival: true }),
    ...(chance.maybe(0.1) && { unread: true }),
  };
  if (destroy) return base;
  const { rival: _rival, ...alone } = base;
  const some = (): string[] => [addressOf(chance.pick([...config] as [SimResource]))];
  switch (chance.below(9)) {
    case 0:
      return { ...base, targets: some() };
    case 1:
      return { ...base, excludes: some() };
    case 2:
      return { ...alone, refreshOnly: true };
    case 3:
      return { ...alone, replace: replaceable(chance, config) };
    case 4:
    case 5:
      return { ...alone, keeps: true };
    case 6:
      return { ...alone, appliesKept: true };
    default:
      return base;
  }
}

/** An instance whose id another object of the same name does not have. */
function replaceable(chance: Chance, config: SimConfig): string[] {
  const things = config.filter(({ type, repeat }) => type === "model_thing" && repeat !== 0);
  const [first, ...rest] = things;
  if (first === undefined) return [];
  const { repeat, ...resource } = chance.pick([first, ...rest]);
  const key = typeof repeat === "number" ? "[0]" : repeat ? `[${JSON.stringify(repeat[0])}]` : "";
  return [`${addressOf(resource)}${key}`];
}

/** Gives a resource another name from a step on; its objects keep the names that they were made with. */
function renamed(
  chance: Chance,
  steps: readonly SimStep[],
  from: number,
  moves: SimMove[],
): readonly SimStep[] {
  const config = steps[from]?.config ?? [];
  const before = steps[from - 1]?.config ?? [];
  const candidates = config.filter(({ name }) => before.some((other) => other.name === name));
  const [first, ...rest] = candidates;
  if (first === undefined) return steps;
  const { name, type } = chance.pick([first, ...rest]);
  const next = `m${from}${name}`;
  moves.push({ from: `${type}.${name}`, to: `${type}.${next}` });
  return steps.map((step, index) =>
    index < from ? step : { ...step, config: step.config.map((one) => rename(one, name, next)) },
  );
}

function rename(resource: SimResource, name: string, next: string): SimResource {
  const needs = resource.needs.map((need) => (need.name === name ? { ...need, name: next } : need));
  if (resource.name !== name) return { ...resource, needs };
  return { ...resource, needs, name: next, label: resource.label ?? name };
}

const addressOf = ({ type, name }: Pick<SimResource, "type" | "name">): string => `${type}.${name}`;
