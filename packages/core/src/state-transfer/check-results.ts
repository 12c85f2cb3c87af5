import {
  arrayNode,
  type JsonNode,
  literalNode,
  objectNode,
  stringNode,
} from "@stackwright/tfstate";
import type { CheckResult } from "../state/check-result.ts";
import { withoutKeys } from "./import-state.ts";

const KINDS: Readonly<Record<CheckResult["kind"], string>> = {
  variable: "var",
  precondition: "resource",
  postcondition: "resource",
  output: "output",
  check: "check",
};

const WORST: readonly CheckResult["status"][] = ["error", "fail", "unknown", "pass"];

/** Results of conditions as a state file holds them; null where there are none. */
export function checkResultsNode(checks: readonly CheckResult[]): JsonNode {
  if (checks.length === 0) return literalNode(null);
  const byConfig = Map.groupBy(
    checks,
    ({ kind, address }) => `${KINDS[kind]} ${withoutKeys(address)}`,
  );
  return arrayNode(
    [...byConfig].map(([key, results]) => {
      const [kind = "", config = ""] = key.split(" ");
      const byObject = Map.groupBy(results, ({ address }) => address);
      return objectNode({
        object_kind: stringNode(kind),
        config_addr: stringNode(config),
        status: statusNode(results),
        objects: arrayNode([...byObject].map(([address, own]) => objectNodeOf(address, own))),
      });
    }),
  );
}

function objectNodeOf(address: string, results: readonly CheckResult[]): JsonNode {
  const messages = results.flatMap(({ status, message }) =>
    status === "fail" && message !== undefined ? [stringNode(message)] : [],
  );
  return objectNode({
    object_addr: stringNode(address),
    status: statusNode(results),
    failure_messages: messages.length > 0 ? arrayNode(messages) : undefined,
  });
}

function statusNode(results: readonly CheckResult[]): JsonNode {
  const worst = WORST.find((status) => results.some((result) => result.status === status));
  return stringNode(worst ?? "pass");
}
