import type { SecretDisplay, StackOutput, StackSnapshot, StateObject } from "@stackwright/core";
import { Concealer, outputValue, recordedValue, revealSecrets } from "@stackwright/core";
import { Mark, unmarkDeep, type Value } from "@stackwright/cty";
import type { SchemaOf } from "./plan-text.ts";

/**
 * A recorded state for renderers: the only way from what is recorded to what is shown. With hidden secrets, what repeats a
 * sensitive part of any recorded object is marked like it; otherwise nothing is marked.
 */
export class ShownState {
  readonly secrets: SecretDisplay;
  /** Secrets of the state were read without their key. */
  readonly secretsOmitted: boolean;
  readonly #values = new Map<StateObject, Value>();
  readonly #concealer = new Concealer();

  constructor(
    { objects, outputs }: Pick<StackSnapshot, "objects" | "outputs">,
    { schemaOf, secrets }: { readonly schemaOf: SchemaOf; readonly secrets: SecretDisplay },
  ) {
    this.secrets = secrets;
    this.secretsOmitted =
      [...objects.values()].some(({ value }) => value?.omitted !== undefined) ||
      [...outputs.values()].some(({ isOmitted }) => isOmitted === true);
    for (const object of objects.values()) {
      if (object.value === undefined) continue;
      const value = recordedValue(object.value, schemaOf(object));
      this.#values.set(object, value);
      this.#concealer.learn(value);
    }
    for (const output of outputs.values()) {
      const value = outputValue(output);
      // A sensitive output may be a whole module.
      if (value.type.kind === "string") this.#concealer.learn(value);
    }
  }

  /** The value of an object with marks on what is hidden; undefined where none is recorded. */
  value(object: StateObject): Value | undefined {
    const value = this.#values.get(object);
    if (value === undefined) return undefined;
    return this.secrets === "shown" ? revealSecrets(value) : this.#concealer.conceal(value)[0];
  }

  /** The value of an output with marks on what is hidden. */
  output(output: StackOutput): Value {
    const value = outputValue(output);
    return this.secrets === "shown" ? revealSecrets(value) : this.#concealer.conceal(value)[0];
  }

  /** The outputs of which nothing is shown in a list: those that are sensitive or hold something hidden. */
  hiddenOutputs(outputs: ReadonlyMap<string, StackOutput>): ReadonlySet<string> {
    const hidden = [...outputs].filter(([, output]) => holdsSecret(this.output(output)));
    return new Set(hidden.map(([name]) => name));
  }
}

function holdsSecret(value: Value): boolean {
  return value.containsMarks && unmarkDeep(value)[1].has(Mark.sensitive);
}
