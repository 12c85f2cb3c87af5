import { isEphemeralAddress } from "../ephemeral/recorded-dependencies.ts";
import type { Dependency } from "../state/state-object.ts";
import type { InstanceSlot } from "../walk/resource-values.ts";
import type { ApplyRun } from "./apply-run.ts";
import type { Step, StepGraph } from "./order.ts";

/**
 * Which steps of an apply look at which ephemeral resources, as the plan says. A step has those opened that it needs before it
 * begins; one is closed when the last step that may look at it is over, however it ended.
 */
export class EphemeralRequirements {
  readonly #run: ApplyRun;
  readonly #needs = new Map<Step, readonly string[]>();
  /** How many steps may still look at one. */
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
      // One that the plan has no instances of, as at the end of everything, is opened when it is asked for.
      for (const slot of this.#slots.get(address) ?? []) {
        if (!(await this.#run.ephemerals.openInstance(slot))) return slot.address;
      }
    }
    return undefined;
  }

  /** Notes that a step is over. What is to be closed then is closed while others go on. */
  over(step: Step): void {
    for (const address of this.#needs.get(step) ?? []) {
      const left = (this.#left.get(address) ?? 0) - 1;
      this.#left.set(address, left);
      if (left === 0) void this.#run.ephemerals.close(address);
    }
  }
}

/** What the end of an object needs is what its provider needs; the making of one also what its configuration looks at. */
function needsOf({ kind, change }: Step): readonly string[] {
  if (change.action === "forget") return [];
  const making = kind === "make" && change.action !== "no-op";
  const looked = change.dependencies.filter((one) => making || one.kind === "provider");
  const needs = [...looked, ...(change.providerNeeds ?? [])].filter(isEphemeral);
  return [...new Set(needs.map(({ address }) => address))];
}

function isEphemeral({ address }: Dependency): boolean {
  return isEphemeralAddress(address);
}
