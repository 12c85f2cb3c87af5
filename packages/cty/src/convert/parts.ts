import { CtyError } from "../errors.ts";
import { Path, type PathStep } from "../path/path.ts";
import type { Type } from "../type/type.ts";
import { Value } from "../value/value.ts";
import type { Convert, Converter } from "./converter.ts";

/** What converts each of several source types to one target, selected once per type. */
export class PartConversions {
  readonly #converter: Converter;
  readonly #target: Type;
  readonly #unsafe: boolean;
  readonly #known = new Map<Type, Convert | undefined>();

  constructor(converter: Converter, target: Type, unsafe: boolean) {
    this.#converter = converter;
    this.#target = target;
    this.#unsafe = unsafe;
  }

  /** The conversion of a source type, "same" where there is nothing to do, undefined where it is impossible. */
  find(source: Type): Convert | "same" | undefined {
    if (source.equals(this.#target)) return "same";
    if (!this.#known.has(source)) {
      this.#known.set(source, this.#converter.find(source, this.#target, this.#unsafe));
    }
    return this.#known.get(source);
  }
}

/** Applies a conversion to a part; an error carries the path of the part. */
export function convertPart(
  convert: Convert | "same" | undefined,
  part: Value,
  step: () => PathStep,
): Value {
  if (convert === "same" || convert === undefined) return part;
  try {
    return convert(part);
  } catch (error) {
    if (error instanceof CtyError) throw error.within(Path.root.step(step()));
    throw error;
  }
}

export function elementStep(key: number | string): PathStep {
  return { kind: "index", key: typeof key === "number" ? Value.number(key) : Value.string(key) };
}

/** An error without a place, to which the callers add theirs. */
export function conversionError(message: string): CtyError {
  return new CtyError("CTY_CONVERSION", message);
}
