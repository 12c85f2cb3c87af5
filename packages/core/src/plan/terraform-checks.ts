import { configAddress, formatAddress, formatModulePath, parseAddress } from "@stackwright/lang";
import {
  arrayNode,
  type JsonNode,
  literalNode,
  objectNode,
  stringNode,
} from "@stackwright/tfstate";
import type { CheckResult } from "../state/check-result.ts";

const WORST: readonly CheckResult["status"][] = ["error", "fail", "unknown", "pass"];

/** Results of conditions in the form of the reference command: by what has them, then by instance. */
export function checkNodes(checks: readonly CheckResult[]): JsonNode {
  const byConfig = new Map<string, CheckResult[]>();
  for (const check of checks) {
    const { config: name } = checkedAddress(check);
    const list = byConfig.get(name);
    if (list === undefined) byConfig.set(name, [check]);
    else list.push(check);
  }
  return arrayNode([...byConfig].map(([name, list]) => configNode(name, list)));
}

/** What has conditions, as the reference command takes its address apart. */
interface CheckedAddress {
  /** Without keys. */
  readonly config: string;
  readonly members: Readonly<Record<string, JsonNode>>;
  /** Of the instance. */
  readonly instance: Readonly<Record<string, JsonNode>>;
}

function checkedAddress({ address, kind }: CheckResult): CheckedAddress {
  if (kind === "check" || kind === "output" || kind === "variable") {
    const at = address.lastIndexOf(".", address.lastIndexOf(".") - 1);
    const module = at < 0 ? "" : address.slice(0, at);
    const { value } = parseAddress(module);
    const config = value?.kind === "module" ? formatAddress(configAddress(value)) : module;
    return {
      config: `${config}${address.slice(Math.max(at, 0))}`,
      members: {
        ...moduleMember(config),
        name: stringNode(address.slice(address.lastIndexOf(".") + 1)),
      },
      instance: moduleMember(module),
    };
  }
  const { value } = parseAddress(address);
  if (value?.kind !== "resource") return { config: address, members: {}, instance: {} };
  const { mode, type, name, key } = value;
  const config = configAddress(value);
  return {
    config: formatAddress(config),
    members: {
      ...moduleMember(formatModulePath(config.module)),
      mode: stringNode(mode),
      type: stringNode(type),
      name: stringNode(name),
    },
    instance: {
      ...moduleMember(formatModulePath(value.module)),
      ...(key !== undefined && {
        instance_key: typeof key === "number" ? literalNode(key) : stringNode(key),
      }),
    },
  };
}

function moduleMember(module: string): Record<string, JsonNode> {
  return module === "" ? {} : { module: stringNode(module) };
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
      address: objectNode({
        ...results.slice(0, 1).map(checkedAddress)[0]?.instance,
        to_display: stringNode(address),
      }),
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
      ...(first && checkedAddress(first).members),
      to_display: stringNode(name),
    }),
    status: statusOf(list),
    instances: arrayNode(instances),
  });
}
