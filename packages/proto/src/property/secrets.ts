import { secretProperty } from "./construct.ts";
import type { MapProperty, PropertyMap, PropertyValue } from "./value.ts";
import { containsSecret, isSecret } from "./walk.ts";

/**
 * Marks secrets in what a peer returned that does not take them, the way Pulumi's engine does: an
 * output becomes secret when the input of the same name was. Maps are walked together; a list with
 * any secret in it makes the whole list of the same name one secret. Outputs that are secret
 * already, or have no input, are left alone. Works at any depth.
 */
export function restoreSecrets(outputs: PropertyMap, inputs: PropertyMap): PropertyMap {
  const restored = new Map(outputs);
  const pending: { outputs: Map<string, PropertyValue>; inputs: PropertyMap }[] = [
    { outputs: restored, inputs },
  ];
  for (let pair = pending.pop(); pair !== undefined; pair = pending.pop()) {
    for (const [name, input] of pair.inputs) {
      const output = pair.outputs.get(name);
      if (output === undefined || isSecret(output)) continue;
      if (isSecret(input) || (isListPair(input, output) && containsSecret(input))) {
        pair.outputs.set(name, secretProperty(output));
      } else if (input.kind === "map" && output.kind === "map") {
        const entries = new Map(output.entries);
        pair.outputs.set(name, { kind: "map", entries } satisfies MapProperty);
        pending.push({ outputs: entries, inputs: input.entries });
      }
    }
  }
  return restored;
}

function isListPair(input: PropertyValue, output: PropertyValue): boolean {
  return input.kind === "list" && output.kind === "list";
}

/** Makes every property secret that is not already: for results of a call with a secret argument. */
export function markSecret(properties: PropertyMap): PropertyMap {
  return new Map(
    Array.from(properties, ([name, value]) => [
      name,
      isSecret(value) ? value : secretProperty(value),
    ]),
  );
}
