import { parseAddress } from "@stackwright/lang";
import { arrayNode, type JsonNode, objectNode, stringNode } from "@stackwright/tfstate";
import type { CheckResult } from "../state/check-result.ts";

const WORST: readonly CheckResult["status"][] = ["error", "fail", "unknown", "pass"];

/** Results of conditions in the form of the reference command: by what has them, then by instance. */
export function checkNodes(checks: readonly CheckResult[]): JsonNode {
  const byConfig = new Map<string, CheckResult[]>();
  for (const check of checks) {
    const name = configName(check);
    const list = byConfig.get(name);
    if (list === undefined) byConfig.set(name, [check]);
    else list.push(check);
  }
  return arrayNode([...byConfig].map(([name, list]) => configNode(name, list)));
}

function configName({ address, kind }: CheckResult): string {
  if (kind === "check" || kind === "output" || kind === "variable")
    return address.replace(/\[[^\]]*\]/g, "");
  const { value } = parseAddress(address);
  if (value?.kind !== "resource") return address;
  const module = value.module.map(({ name }) => `module.${name}.`).join("");
  return `${module}${value.mode === "managed" ? "" : `${value.mode}.`}${value.type}.${value.name}`;
}

function kindOf({ kind }: CheckResult): string {
  if (kind === "check") return "check";
  if (kind === "output") return "output_value";
  return kind === "variable" ? "var" : "resource";
}

function statusOf(list: readonly CheckResult[]): JsonNode {
  return stringNode(
    WORST.find((status) => list.some((check) => check.status === status)) ?? "pass",
  );
}

function configNode(name: string, list: readonly CheckResult[]): JsonNode {
  const [first] = list;
  const byInstance = Map.groupBy(list, ({ address }) => address);
  const instances = [...byInstance].map(([address, results]) => {
    const messages = results.flatMap(({ message }) => (message === undefined ? [] : [message]));
    return objectNode({
      address: objectNode({ to_display: stringNode(address) }),
      status: statusOf(results),
      ...(messages.length > 0 && {
        problems: arrayNode(
          messages.map((message) => objectNode({ message: stringNode(message) })),
        ),
      }),
    });
  });
  return objectNode({
    address: objectNode({
      kind: stringNode(first === undefined ? "resource" : kindOf(first)),
      to_display: stringNode(name),
    }),
    status: statusOf(list),
    instances: arrayNode(instances),
  });
}
