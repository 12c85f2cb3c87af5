import { Path } from "@stackwright/cty";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { typeOfBlock } from "@stackwright/mux/router";
import { type Configuration, loadConfiguration } from "../../configuration/configuration.ts";
import { recordValue } from "../../state/record-value.ts";
import type { RecordedValue } from "../../state/state-object.ts";
import type { CloudBehaviour, CloudFault, CloudObject, ModelCloud } from "../model/model-cloud.ts";
import { MODEL_SCHEMA } from "../model/model-schema.ts";
import type { Chance } from "./chance.ts";
import type { SimStep } from "./simulate.ts";

/** Loads a configuration that is one text. */
export function loadText(text: string): Promise<Configuration> {
  const bytes = new TextEncoder().encode(text);
  return loadConfiguration({ ...EMPTY_BUNDLE, names: () => ["main.tf"], read: () => bytes });
}

/** How the cloud behaves during a step. */
export function behaviourOf(step: SimStep, chance: Chance, cloud: ModelCloud): CloudBehaviour {
  const faults = Object.entries(step.cloud) as [CloudFault, number][];
  return {
    delayMs: () => (step.delayMs === 0 ? 0 : chance.below(step.delayMs + 1)),
    fault: (method, type) => {
      for (const [fault, share] of faults) {
        const reading = method === "read" || method === "import" || method === "readData";
        if (!chance.maybe(reading ? share / 4 : share)) continue;
        if (reading && fault !== "unreachable" && fault !== "lost") continue;
        // A second object of the same name is refused, so that a tainted one could never be replaced create-first.
        if (fault === "partial" && method === "create" && type === "model_named") continue;
        return fault;
      }
      return undefined;
    },
    survives: () => chance.maybe(0.5),
    newId: (type) => `${type}-${cloud.calls.length}-${chance.below(1_000_000)}`,
  };
}

/** An object as an operator would record it. */
export function recordCloudObject({ type, value }: CloudObject): RecordedValue {
  const schema = MODEL_SCHEMA.resources.get(type);
  if (schema === undefined) throw new Error(`there is no type ${type}`);
  return recordValue(value, typeOfBlock(schema.block), {
    schemaVersion: schema.version,
    sensitive: [Path.root.attribute("secret")],
  });
}

/** Something that is told, as a log would have it. */
export function toldText(data: unknown): string {
  return (
    JSON.stringify(data, (_key, value: unknown) =>
      typeof value === "bigint" || typeof value === "function" ? String(value) : value,
    ) ?? ""
  );
}
