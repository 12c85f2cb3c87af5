import { type Type, Value } from "../../index.ts";

/** The value with some of its parts replaced, chosen by the bits of the seed; the same ones for one seed. */
export function replaceSome(value: Value, seed: number, replace: (part: Value) => Value): Value {
  let bits = seed;
  const chosen = (): boolean => {
    bits = (Math.imul(bits, 1103515245) + 12345) >>> 0;
    return (bits >>> 16) % 4 === 0;
  };
  const step = (part: Value): Value => {
    if (chosen()) return replace(part);
    if (part.isNull || !part.isKnown || part.isMarked) return part;
    const { type } = part;
    if (type.kind === "list" || type.kind === "set") {
      return Value[type.kind](part.elements().map(step), elementOf(type.element));
    }
    if (type.kind === "tuple") return Value.tuple(part.elements().map(step));
    if (type.kind !== "map" && type.kind !== "object") return part;
    const entries = Array.from(part.entries(), ([key, v]) => [key, step(v)] as const);
    return type.kind === "map"
      ? Value.map(entries, elementOf(type.element))
      : Value.object(entries);
  };
  return step(value);
}

function elementOf(element: Type): Type | undefined {
  return element.kind === "dynamic" ? undefined : element;
}
