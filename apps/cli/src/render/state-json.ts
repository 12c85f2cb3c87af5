import type { StackSnapshot } from "@stackwright/core";
import { blankSecrets, isPlaceholder, type StateObject } from "@stackwright/core";
import { encodeJson, unmarkDeep, unmarkDeepWithPaths, type Value } from "@stackwright/cty";
import { formatModulePath, type ModulePath, parseAddress } from "@stackwright/lang";
import { exactJson, type JsonMember, writeExactJson } from "./lossless-json.ts";
import type { ShownState } from "./shown-state.ts";

interface Module {
  readonly path: ModulePath;
  readonly resources: JsonMember[];
  readonly children: Map<string, Module>;
}

/**
 * A state in the JSON form that tools of this field read. Secrets, and what repeats one, are null, and the masks say where;
 * a state with shown secrets has them as the reference command writes them.
 *
 * Source: Terraform's JSON output format, 1.0.
 */
export function stateJson(snapshot: StackSnapshot, shown: ShownState): string {
  const outputs = [...snapshot.outputs].toSorted(([left], [right]) => (left < right ? -1 : 1));
  const root: Module = { path: [], resources: [], children: new Map() };
  const objects = [...snapshot.objects.values()].filter((object) => !isPlaceholder(object));
  for (const object of objects.toSorted((left, right) => (left.address < right.address ? -1 : 1))) {
    place(root, object, shown);
  }
  return writeExactJson({
    format_version: "1.0",
    terraform_version: "1.11.4",
    ...((outputs.length > 0 || objects.length > 0) && {
      values: {
        ...(outputs.length > 0 && {
          outputs: Object.fromEntries(
            outputs.map(([name, output]) => {
              const { sensitive, type } = output;
              const value = exactJson(shownText(shown.output(output)));
              return [name, { sensitive, value, type: exactJson(type) }];
            }),
          ),
        }),
        root_module: moduleJson(root),
      },
    }),
  });
}

function place(root: Module, object: StateObject, shown: ShownState): void {
  const recorded = shown.value(object);
  const { value } = parseAddress(object.address);
  const resource = value?.kind === "resource" ? value : undefined;
  let module = root;
  for (let depth = 1; depth <= (resource?.module.length ?? 0); depth++) {
    const path = (resource?.module ?? []).slice(0, depth);
    const key = formatModulePath(path);
    const child: Module = module.children.get(key) ?? { path, resources: [], children: new Map() };
    module.children.set(key, child);
    module = child;
  }
  module.resources.push({
    address: object.address,
    mode: object.mode,
    type: object.type,
    name: resource?.name ?? "",
    ...(resource?.key !== undefined && { index: resource.key }),
    provider_name: object.provider.source,
    schema_version: object.value?.schemaVersion ?? 0,
    values: recorded === undefined ? null : exactJson(shownText(recorded)),
    sensitive_values: sensitiveMask(object, recorded),
    ...(object.dependencies.length > 0 && {
      depends_on: object.dependencies.map(({ address }) => address),
    }),
    ...(object.phase === "tainted" && { tainted: true }),
    ...(object.deposed !== "" && { deposed_key: object.deposed }),
  });
}

function shownText(value: Value): string {
  return encodeJson(unmarkDeep(blankSecrets(value))[0]);
}

function sensitiveMask({ value }: StateObject, shown: Value | undefined): JsonMember {
  const mask: Record<string, JsonMember> = {};
  const hidden = shown === undefined ? [] : unmarkDeepWithPaths(shown)[1].map(({ path }) => path);
  for (const path of [...(value?.sensitive ?? []), ...hidden]) {
    const [first] = path.steps;
    // Below the first step only whole attributes are marked.
    if (first?.kind === "attribute") mask[first.name] = true;
  }
  return mask;
}

function moduleJson({ path, resources, children }: Module): JsonMember {
  return {
    ...(path.length > 0 && { address: formatModulePath(path) }),
    ...(resources.length > 0 && { resources }),
    ...(children.size > 0 && { child_modules: [...children.values()].map(moduleJson) }),
  };
}
