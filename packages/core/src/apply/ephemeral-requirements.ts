import { isEphemeralAddress } from "../ephemeral/recorded-dependencies.ts";
import type { Dependency } from "../state/state-object.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";
import type { ApplyRun } from "./apply-run.ts";
import type { Step, StepGraph } from "./order.ts";

/**
 * Which steps of an apply read which ephemeral resources, according to the plan. The resources that a step needs are
 * opened before it begins; one is closed when the last step that may read it has ended, with any result.
 */
export class EphemeralRequirements {
  readonly #run: ApplyRun;
  readonly #needs = new Map<Step, readonly string[]>();
  /** Number of steps that may still read it, by ephemeral resource. */
  readonly #left = new Map<string, number>();
  readonly #slots = new Map<string, InstanceSlot[]>();

  constructor(run: ApplyRun, { steps }: StepGraph) {
    this.#run = run;
    for (const step of steps) {
      const needs = needsOf(step);
      if (needs.length === 0) continue;
      this.#needs.set(step, needs);
      for (const address of needs) this.#left.set(address, (this.#left.get(address) ?? 0) + 1);
    }
    if (this.#needs.size === 0) return;
    for (const slot of run.given.slots.values()) {
      if (slot.resource.config?.mode !== "ephemeral") continue;
      this.#slots.set(slot.address, [slot]);
      if (slot.address === slot.resource.address) continue;
      const instances = this.#slots.get(slot.resource.address);
      if (instances === undefined) this.#slots.set(slot.resource.address, [slot]);
      else instances.push(slot);
    }
  }

  /** Opens what a step needs. The address of what could not be opened, if there is one. */
  async open(step: Step): Promise<string | undefined> {
    for (const address of this.#needs.get(step) ?? []) {
      // One without instances in the plan, as in a destroy plan, is opened when it is requested.
      for (const slot of this.#slots.get(address) ?? []) {
        if (!(await this.#run.ephemerals.openInstance(slot))) return slot.address;
      }
    }
    return undefined;
  }

  /** Records that a step has ended. Ephemeral resources that become unused are closed while other steps continue. */
  over(step: Step): void {
    for (const address of this.#needs.get(step) ?? []) {
      const left = (this.#left.get(address) ?? 0) - 1;
      this.#left.set(address, left);
      if (left === 0) void this.#run.ephemerals.close(address);
    }
  }
}

/** Removing an object needs what its provider needs; creating one also needs what its configuration reads. */
function needsOf({ kind, change }: Step): readonly string[] {
  if (change.action === "forget") return [];
  const making = kind === "make" && change.action !== "no-op";
  const required = change.dependencies.filter((one) => making || one.kind === "provider");
  const needs = [...required, ...(change.providerNeeds ?? [])].filter(isEphemeral);
  return [...new Set(needs.map(({ address }) => address))];
}

function isEphemeral({ address }: Dependency): boolean {
  return isEphemeralAddress(address);
}
