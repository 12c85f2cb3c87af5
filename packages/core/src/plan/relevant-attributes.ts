import { formatAddress, type ModulePath, parseAddress } from "@stackwright/lang";
import {
  arrayNode,
  type JsonNode,
  literalNode,
  objectNode,
  stringNode,
} from "@stackwright/tfstate";
import type { Configuration } from "../configuration/configuration.ts";
import type { RecordedKeys } from "../walk/keys.ts";
import type { ConfigurationSchemas } from "./configuration-json.ts";
import { ContributingReferences } from "./contributing-references.ts";
import type { Plan } from "./plan.ts";

/** What a plan is described by in {@link relevantAttributes}. */
interface Described {
  readonly configuration: Configuration;
  readonly schemas: ConfigurationSchemas;
}

/**
 * The attributes of resources that changes of resources and outputs refer to, in the reference command's JSON form; ordered, which
 * they are not there. Outputs of modules count as changed where they have a value, as nothing is recorded of them.
 */
export function relevantAttributes(
  plan: Plan,
  { configuration, schemas }: Described,
): readonly JsonNode[] {
  const { root, resolution } = configuration;
  const references = new ContributingReferences(root, (module, resource) => {
    const source = resolution.forResource(module, resource)?.source.toString();
    return source === undefined ? undefined : schemas.resource(source, resource)?.block;
  });
  if (plan.mode !== "refresh-only") {
    for (const { address, action } of plan.changes) {
      if (action === "no-op") continue;
      const { value } = parseAddress(address);
      if (value?.kind !== "resource") continue;
      references.followResource(value.module, value.mode, value.type, value.name);
    }
  }
  for (const { name, action } of plan.outputs) {
    if (action !== "no-op") references.followOutput([], name);
  }
  const skipped = new Set(plan.emptyOutputs);
  for (const { module, output, address } of moduleOutputs(plan, configuration)) {
    if (!skipped.has(address)) references.followOutput(module, output);
  }
  const found = Array.from(references.found(), ({ path, ...resource }) => ({
    resource: formatAddress({ kind: "resource", ...resource }),
    path,
  }));
  const text = ({ resource, path }: (typeof found)[number]): string =>
    `${resource}\0${JSON.stringify(path)}`;
  return found
    .toSorted((a, b) => (text(a) < text(b) ? -1 : 1))
    .map(({ resource, path }) =>
      objectNode({
        resource: stringNode(resource),
        attribute: arrayNode(
          path.map((step) => (typeof step === "number" ? literalNode(step) : stringNode(step))),
        ),
      }),
    );
}

interface ModuleOutput {
  readonly module: ModulePath;
  readonly output: string;
  /** `module.a["k"].output.b` */
  readonly address: string;
}

function* moduleOutputs(
  { expansions }: Plan,
  { root }: Configuration,
): Generator<ModuleOutput, void> {
  for (const { address, keys } of expansions) {
    const { value } = parseAddress(address);
    if (value?.kind !== "module") continue;
    const outer = value.module.slice(0, -1);
    const last = value.module.at(-1);
    if (last === undefined) continue;
    let node: typeof root | undefined = root;
    for (const { name } of value.module) node = node?.children.get(name);
    for (const key of listed(keys)) {
      const module = [...outer, { name: last.name, key }];
      const prefix = formatAddress({ kind: "module", module });
      for (const output of node?.config.outputs.keys() ?? []) {
        yield { module, output, address: `${prefix}.output.${output}` };
      }
    }
  }
}

function listed(keys: RecordedKeys): readonly (string | number | undefined)[] {
  switch (keys.kind) {
    case "single":
      return [undefined];
    case "count":
      return Array.from({ length: keys.count }, (_, index) => index);
    case "for_each":
      return keys.keys;
    case "none":
    default:
      return [];
  }
}
