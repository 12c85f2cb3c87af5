import { checkMovedInstances, type Diagnostic, parseAddress } from "@stackwright/lang";
import type { Configuration } from "../configuration/configuration.ts";
import type { PlanRun } from "./plan-run.ts";
import type { Selection } from "./selection.ts";

/** Checks what could not be checked before it was known which instances there are. */
export function checkInstances(
  run: PlanRun,
  { refactoring, graph }: Configuration,
  selection: Selection,
): void {
  if (refactoring.moves.length + run.given.importBlocks.size === 0) return;
  const instances = new Set<string>();
  for (const module of run.world.allModules()) {
    if (module.address !== "") instances.add(module.address);
    for (const { slots } of module.resources.values()) {
      for (const { address } of slots.values()) instances.add(address);
    }
  }
  for (const id of run.given.importBlocks.keys()) {
    const node = graph.nodes.get(id);
    if (node === undefined || selection.includesNode(node)) run.importsFor(id);
  }
  for (const [address, { range }] of run.importRequests) {
    if (instances.has(address)) continue;
    run.fail(
      "Configuration for import target does not exist",
      `There is no instance ${address} that this could be imported to.`,
      { subject: range },
    );
  }
  if (refactoring.moves.length === 0) return;
  const diagnostics: Diagnostic[] = [];
  const addresses = [...instances].flatMap((text) => parseAddress(text).value ?? []);
  checkMovedInstances(refactoring.moves, addresses, diagnostics);
  run.report(diagnostics);
}
