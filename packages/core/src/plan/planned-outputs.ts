import type { Value } from "@stackwright/cty";
import type { Plan } from "./plan.ts";
import { decodeValue, type EncodedValue, encodeValue } from "./value-codec.ts";

/** A planned output in JSON. */
export interface EncodedOutput extends EncodedValue {
  readonly name: string;
}

/**
 * What the root module publishes once a plan was applied, with unknown parts, sensitive outputs marked; undefined where all stay as
 * they are. Null ones are not published.
 */
export function plannedOutputs({
  outputs,
}: Pick<Plan, "outputs">): ReadonlyMap<string, Value> | undefined {
  if (outputs.every(({ action }) => action === "no-op")) return undefined;
  return new Map(
    outputs.flatMap(({ name, action, after }) => {
      if (action === "delete" || after === undefined) return [];
      const [plain] = after.unmark();
      return plain.isKnown && plain.isNull ? [] : [[name, after] as const];
    }),
  );
}

/** Planned outputs in JSON, unknown parts and marks included. */
export function encodePlannedOutputs(
  outputs: ReadonlyMap<string, Value>,
): readonly EncodedOutput[] {
  return Array.from(outputs, ([name, value]) => ({ name, ...encodeValue(value) }));
}

/** The reverse of {@link encodePlannedOutputs}. */
export function decodePlannedOutputs(
  encoded: readonly EncodedOutput[],
): ReadonlyMap<string, Value> {
  return new Map(encoded.map(({ name, ...value }) => [name, decodeValue(value)]));
}
