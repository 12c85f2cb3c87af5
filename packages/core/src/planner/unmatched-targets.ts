import {
  type Address,
  type ConfigGraph,
  containsAddress,
  didYouMean,
  formatAddress,
  formatModulePath,
  hasErrors,
  nodesOf,
  parseAddress,
} from "@stackwright/lang";
import type { InstanceSlot } from "../walk/resource-values.ts";
import { localName } from "./local-name.ts";
import type { PlanRun } from "./plan-run.ts";

/** A target that names nothing makes an empty plan, and an exclude that names nothing leaves out nothing, contrary to what the user expects. */
export function reportUnmatched(
  run: PlanRun,
  graph: ConfigGraph,
  {
    targets,
    excludes,
  }: { readonly targets: readonly string[]; readonly excludes: readonly string[] },
): void {
  // After an error it is not known what there would be.
  if (targets.length + excludes.length === 0 || hasErrors(run.diagnostics)) return;
  const instances = [...slotsOf(run, graph), ...run.given.objects.values()].flatMap(
    ({ address }) => parseAddress(address).value ?? [],
  );
  const named = (text: string): Address | undefined => {
    const { value } = parseAddress(text);
    if (value === undefined || instances.some((one) => containsAddress(value, one)))
      return undefined;
    // Without a key a resource may be named that has no instance.
    return nodesOf(graph, value).length > 0 && !hasKey(value) ? undefined : value;
  };
  for (const [what, texts] of [
    ["target", targets],
    ["exclude", excludes],
  ] as const) {
    for (const address of texts.flatMap((text) => named(text) ?? [])) {
      const text = formatAddress(address);
      const known = [...declared(graph), ...instances.map(formatAddress)];
      run.report([
        {
          severity: "warning",
          code: "ENGINE_PLAN",
          summary: `The ${what} matches nothing`,
          detail: `Neither the configuration nor the state has ${text}.${didYouMean(text, known)}`,
        },
      ]);
    }
  }
}

/** The instances of what was walked, also those that are left out. */
function slotsOf(run: PlanRun, { order }: ConfigGraph): readonly InstanceSlot[] {
  return order.flatMap((node) => {
    if (node.kind !== "resource") return [];
    const local = localName(node.resource);
    return run.world
      .modules(node.module.path)
      .flatMap((module) => [...(module.resources.get(local)?.slots.values() ?? [])]);
  });
}

function hasKey(address: Address): boolean {
  return (
    address.module.some(({ key }) => key !== undefined) ||
    (address.kind === "resource" && address.key !== undefined)
  );
}

/** Addresses of what a configuration declares, without keys. */
function declared({ order }: ConfigGraph): readonly string[] {
  return order.flatMap((node) => {
    const module = node.module.path.map((name) => ({ name, key: undefined }));
    if (node.kind === "resource") {
      const { mode, type, name } = node.resource;
      return formatAddress({
        kind: "resource",
        module,
        mode,
        type,
        name,
        key: undefined,
      });
    }
    if (node.kind !== "module") return [];
    return formatModulePath([...module, { name: node.call.name, key: undefined }]);
  });
}
