import { RfsStacksError } from "../errors.ts";
import type { RfsOperationPreferences, RfsShare } from "../port/stack-set-port.ts";
import type { BodyFields } from "./body-fields.ts";

const MAX_COUNT = 1_000;

/** Reads `operation_preferences`: by default one region and one instance after the other, and the first failure is the last. */
export function readOperationPreferences(
  fields: BodyFields,
  regions: readonly string[],
): RfsOperationPreferences {
  const given = fields.object("operation_preferences", [
    "region_concurrency_type",
    "region_order",
    "failure_tolerance_count",
    "failure_tolerance_percentage",
    "failure_tolerance_mode",
    "max_concurrent_count",
    "max_concurrent_percentage",
  ]);
  const isSequential =
    given?.oneOf("region_concurrency_type", ["SEQUENTIAL", "PARALLEL"]) !== "PARALLEL";
  const mode = given?.oneOf("failure_tolerance_mode", [
    "STRICT_FAILURE_TOLERANCE",
    "SOFT_FAILURE_TOLERANCE",
  ]);
  return {
    isSequential,
    regionOrder: regionOrder(given, regions, isSequential),
    tolerance: share(given, "failure_tolerance", 0),
    concurrency: share(given, "max_concurrent", 1),
    isSoft: mode === "SOFT_FAILURE_TOLERANCE",
  };
}

function share(given: BodyFields | undefined, name: string, least: 0 | 1): RfsShare {
  const count = given?.integer(`${name}_count`, { min: least, max: MAX_COUNT });
  const percentage = given?.integer(`${name}_percentage`, { min: least, max: 100 });
  if (count !== undefined && percentage !== undefined) {
    throw new RfsStacksError(
      "RFS_PARAMETER_CONFLICT",
      `${name}_count and ${name}_percentage are both given; give one of them`,
    );
  }
  if (percentage !== undefined) return { amount: percentage, isPercent: true };
  return { amount: count ?? least, isPercent: false };
}

function regionOrder(
  given: BodyFields | undefined,
  regions: readonly string[],
  isSequential: boolean,
): readonly string[] | undefined {
  const order = given?.texts("region_order", regions.length);
  if (order === undefined) return undefined;
  if (!isSequential) {
    throw new RfsStacksError(
      "RFS_PARAMETER_CONFLICT",
      "region_order is given with region_concurrency_type SEQUENTIAL alone",
    );
  }
  const isWhole = order.length === regions.length && new Set(order).size === order.length;
  if (isWhole && order.every((region) => regions.includes(region))) return order;
  throw new RfsStacksError(
    "RFS_PARAMETER_CONFLICT",
    `region_order has each region of the operation once: ${regions.join(", ")}`,
  );
}
