import { Value } from "@stackwright/cty";
import {
  createModuleScope,
  type EvaluationScope,
  type ModuleNode,
  parseAddress,
  type RemovedStatement,
  removedBy,
} from "@stackwright/lang";
import type { Provisioning } from "../provisioners/bind-provisioners.ts";
import type { EvaluationState } from "../walk/evaluation-state.ts";
import { configOf } from "./prevent-destroy.ts";

/** The provisioners of an object that is destroyed, with the module that they are written in. */
interface DestroyProvisioning {
  readonly provisioning: Provisioning;
  readonly node: ModuleNode;
}

/** What the configuration specifies for the destruction of an object: its block, or the `removed` block of it. */
export function destroyProvisioning(
  root: ModuleNode,
  removed: readonly RemovedStatement[],
  address: string,
): DestroyProvisioning | undefined {
  const { value } = parseAddress(address);
  if (value?.kind !== "resource") return undefined;
  const config = configOf(root, address);
  if (config === undefined) {
    const statement = removedBy(removed, value);
    return statement && { provisioning: statement, node: statement.module };
  }
  let node: ModuleNode | undefined = root;
  for (const { name } of value.module) node = node?.children.get(name);
  return node && { provisioning: config, node };
}

/** Names that the provisioners of an object see when it is destroyed: itself and its key, and no other object. */
export function destroyScope(
  world: EvaluationState,
  node: ModuleNode,
  { address, self }: { readonly address: string; readonly self: Value },
): EvaluationScope {
  const scope = createModuleScope(
    node.config,
    {
      variables: new Map(),
      resource: () => undefined,
      module: () => undefined,
      folder: node.folder,
      workingDirectory: node.files.machine?.workingDirectory,
      workspace: world.workspace,
      applying: world.applying,
    },
    world.functionsOf(node),
  );
  const { value } = parseAddress(address);
  const key = value?.kind === "resource" ? value.key : undefined;
  return scope.forInstance({
    self,
    ...(typeof key === "number" && { countIndex: key }),
    ...(typeof key === "string" && {
      each: { key: Value.string(key), value: Value.dynamic },
    }),
  });
}
