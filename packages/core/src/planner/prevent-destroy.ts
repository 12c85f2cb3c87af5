import {
  type ModuleNode,
  parseAddress,
  type ResourceConfig,
  resourceAddress,
} from "@stackwright/lang";
import { byAddress } from "../plan/by-address.ts";
import type { PlanRun } from "./plan-run.ts";

/** What the configuration says about an object; undefined where it declares no such resource. */
export function configOf(root: ModuleNode, address: string): ResourceConfig | undefined {
  const { value } = parseAddress(address);
  if (value?.kind !== "resource") return undefined;
  let module: ModuleNode | undefined = root;
  for (const { name } of value.module) module = module?.children.get(name);
  return module?.config.resources.get(resourceAddress({ ...value }));
}

/** One error that lists everything that would be destroyed and must not be. */
export function checkProtected(run: PlanRun, root: ModuleNode): void {
  const protectedOnes = [...run.changes.values()].filter(({ action, deposed, mode, address }) => {
    if (deposed !== "" || mode !== "managed") return false;
    if (action !== "delete" && action !== "replace") return false;
    return configOf(root, address)?.lifecycle.preventDestroy === true;
  });
  protectedOnes.sort(byAddress);
  const [first] = protectedOnes;
  if (first === undefined) return;
  const list = protectedOnes.map(({ address, action }) => `  - ${address} (${action})`);
  const subject = configOf(root, first.address)?.range;
  run.fail(
    "Instance cannot be destroyed",
    `The plan would destroy what lifecycle.prevent_destroy protects:\n\n${list.join("\n")}\n\nTake the setting away, or leave these out of the plan.`,
    { address: first.address, ...(subject !== undefined && { subject }) },
  );
}
