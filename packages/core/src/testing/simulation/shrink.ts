import { shrinkFailing } from "./shrink-failing.ts";
import type { SimConfig, SimResource } from "./sim-config.ts";
import { usable } from "./sim-leases.ts";
import { NO_STORE_FAULTS } from "./sim-store.ts";
import type { SimCase, SimStep } from "./simulate.ts";

/**
 * Makes a failing case smaller for as long as it still fails: fewer steps, fewer faults, fewer and simpler resources.
 * The result is data, which a test can keep.
 */
export function shrinkCase(
  failing: SimCase,
  fails: (candidate: SimCase) => Promise<boolean>,
): Promise<SimCase> {
  return shrinkFailing(failing, smallerCases, fails);
}

/** All cases that are one step simpler. */
function* smallerCases(given: SimCase): Generator<SimCase> {
  const { steps } = given;
  for (const position of steps.keys()) {
    if (steps.length > 1) yield { ...given, steps: steps.toSpliced(position, 1) };
  }
  for (const [position, step] of steps.entries()) {
    for (const simpler of smallerSteps(step)) {
      yield { ...given, steps: steps.with(position, simpler) };
    }
  }
  // A resource is taken out of all steps at once, so that what remains still fits together.
  const names = new Set(steps.flatMap(({ config }) => config.map(({ name }) => name)));
  for (const name of names) {
    const rest = steps.map((step) => {
      const config = withoutResource(step.config, name);
      return { ...step, config, ...(step.leases && { leases: usable(step.leases, config) }) };
    });
    if (rest.every(({ config }) => config.length > 0)) yield { ...given, steps: rest };
    const simpler = steps.map((step) => ({
      ...step,
      config: step.config.map((resource) =>
        resource.name === name ? simplest(resource) : resource,
      ),
    }));
    if (JSON.stringify(simpler) !== JSON.stringify(steps)) yield { ...given, steps: simpler };
  }
}

function* smallerSteps(step: SimStep): Generator<SimStep> {
  for (const name of Object.keys(step.ways ?? {})) {
    const ways = Object.fromEntries(
      Object.entries(step.ways ?? {}).filter(([one]) => one !== name),
    );
    yield { ...step, ways };
  }
  const { cancelMs, store, ...rest } = step;
  if (step.leases !== undefined) {
    const { leases: _leases, ...plain } = step;
    yield { ...plain, config: step.config.map(({ token: _token, ...resource }) => resource) };
    yield { ...step, leases: step.leases.map((lease) => ({ ...lease, renews: false })) };
  }
  if (cancelMs !== undefined) yield { ...rest, store };
  if (
    store.crash !== undefined ||
    store.freeze !== undefined ||
    store.lost > 0 ||
    store.delayMs > 0
  ) {
    yield { ...step, store: NO_STORE_FAULTS };
    yield { ...step, store: { ...store, lost: 0, delayMs: 0 } };
  }
  for (const fault of Object.keys(step.cloud)) {
    const cloud = Object.fromEntries(Object.entries(step.cloud).filter(([name]) => name !== fault));
    yield { ...step, cloud };
  }
  if (step.delayMs > 0) yield { ...step, delayMs: 0 };
}

function withoutResource(config: SimConfig, name: string): SimConfig {
  return config
    .filter((resource) => resource.name !== name)
    .map((resource) => ({
      ...resource,
      needs: resource.needs.filter((need) => need.name !== name),
    }));
}

function simplest(resource: SimResource): SimResource {
  return { ...resource, secret: false, size: 0, repeat: undefined };
}
