import type { CloudFault } from "../model/model-cloud.ts";
import { type Chance, createChance } from "./chance.ts";
import { mutateConfig, randomConfig, type SimConfig } from "./sim-config.ts";
import type { StoreFaults } from "./sim-store.ts";
import type { SimCase, SimStep } from "./simulate.ts";

const FAULTS: readonly CloudFault[] = ["refuse", "partial", "lost", "unreachable"];

/** The case of a seed: a configuration, its changes, and what goes wrong meanwhile. */
export function randomCase(seed: number): SimCase {
  const chance = createChance(seed);
  const steps: SimStep[] = [];
  let config: SimConfig = randomConfig(chance);
  const count = 1 + chance.below(4);
  for (let index = 0; index < count; index += 1) {
    if (index > 0 && chance.maybe(0.7)) config = mutateConfig(chance, config);
    steps.push(randomStep(chance, config, index > 0 && chance.maybe(0.15)));
  }
  return {
    seed,
    limits: { parallelism: 1 + chance.below(4), perType: 1 + chance.below(3) },
    steps,
  };
}

function randomStep(chance: Chance, config: SimConfig, destroy: boolean): SimStep {
  const cancels = chance.maybe(0.1);
  return {
    config,
    destroy,
    cloud: chance.maybe(0.5) ? randomFaults(chance) : {},
    delayMs: chance.pick([0, 5, 50, 1_500]),
    store: randomStoreFaults(chance),
    ...(cancels ? { cancelMs: randomCancel(chance) } : {}),
  };
}

function randomFaults(chance: Chance): SimStep["cloud"] {
  return Object.fromEntries(
    FAULTS.filter(() => chance.maybe(0.4)).map((fault) => [fault, chance.pick([0.05, 0.2, 0.5])]),
  );
}

function randomStoreFaults(chance: Chance): StoreFaults {
  const base = { lost: chance.maybe(0.2) ? 0.1 : 0, delayMs: chance.pick([0, 0, 3]) };
  const write = 1 + chance.below(12);
  const kind = chance.below(10);
  if (kind < 4) {
    return { ...base, crash: { write, when: chance.pick(["before", "after"] as const) } };
  }
  return kind === 4 ? { ...base, freeze: { write, ms: 40_000 } } : base;
}

function randomCancel(chance: Chance): readonly [number, number?] {
  const first = chance.below(200);
  return chance.maybe(0.5) ? [first] : [first, first + chance.below(100)];
}
