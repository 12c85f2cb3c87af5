import type { EncodedStruct } from "../encoded-struct.ts";
import { decodeStruct } from "./decode.ts";
import { isInternalKey } from "./signature.ts";
import type { OutputProperty, PropertyMap, PropertyValue, SignatureObject } from "./value.ts";

export interface EqualOptions {
  /**
   * `compare` whether values are secret, or `ignore` it: a secret then equals its inner value.
   * @default "compare"
   */
  readonly secrets?: "compare" | "ignore";
}

/**
 * Whether two values, or two property maps, mean the same. The order of map members and of
 * dependencies does not matter; an absent `secret`, empty `dependencies` and empty `extra` equal
 * their absence; internal keys (`__...`) in `extra` are disregarded, such as the marks that
 * Pulumi's Node SDK leaves on assets; NaN equals NaN. Works at any depth, in linear time.
 */
export function equalProperties(
  a: PropertyValue | PropertyMap,
  b: PropertyValue | PropertyMap,
  options: EqualOptions = {},
): boolean {
  const comparison = new Comparison(options.secrets === "ignore");
  if (!("kind" in a)) return !("kind" in b) && comparison.maps(a, b) && comparison.run();
  return "kind" in b && comparison.values(a, b) && comparison.run();
}

/** Whether two encoded Structs mean the same; an error of {@link decodeStruct} passes through. */
export function equalStructs(a: EncodedStruct, b: EncodedStruct, options?: EqualOptions): boolean {
  if (options?.secrets !== "ignore" && Buffer.compare(a, b) === 0) return true;
  return equalProperties(decodeStruct(a), decodeStruct(b), options);
}

/** Pairs that have yet to be compared; every method is false as soon as a difference is found. */
class Comparison {
  readonly #pending: PropertyValue[] = [];
  readonly #ignoreSecrets: boolean;

  constructor(ignoreSecrets: boolean) {
    this.#ignoreSecrets = ignoreSecrets;
  }

  run(): boolean {
    for (let b = this.#pending.pop(); b !== undefined; b = this.#pending.pop()) {
      const a = this.#pending.pop() as PropertyValue;
      if (!this.values(a, b)) return false;
    }
    return true;
  }

  values(first: PropertyValue, second: PropertyValue): boolean {
    const a = this.#ignoreSecrets ? withoutSecret(first) : first;
    const b = this.#ignoreSecrets ? withoutSecret(second) : second;
    if (a === b) return true;
    switch (a.kind) {
      case "null":
        return b.kind === "null";
      case "bool":
        return b.kind === "bool" && a.value === b.value;
      case "string":
        return b.kind === "string" && a.value === b.value;
      case "number":
        return (
          b.kind === "number" &&
          (a.value === b.value || (Number.isNaN(a.value) && Number.isNaN(b.value)))
        );
      case "unknown":
        return b.kind === "unknown" && a.type === b.type;
      case "bytes":
        return b.kind === "bytes" && Buffer.compare(a.value, b.value) === 0 && this.#extras(a, b);
      case "list":
        return b.kind === "list" && this.#lists(a.values, b.values);
      case "map":
        return b.kind === "map" && this.maps(a.entries, b.entries);
      case "secret":
        return b.kind === "secret" && this.#later(a.value, b.value) && this.#extras(a, b);
      case "output":
        return b.kind === "output" && this.#outputs(a, b);
      case "asset":
        return (
          b.kind === "asset" &&
          a.hash === b.hash &&
          a.text === b.text &&
          a.path === b.path &&
          a.uri === b.uri &&
          this.#extras(a, b)
        );
      case "archive":
        return (
          b.kind === "archive" &&
          a.hash === b.hash &&
          a.path === b.path &&
          a.uri === b.uri &&
          this.#optionalMaps(a.assets, b.assets) &&
          this.#extras(a, b)
        );
      case "resource":
        return (
          b.kind === "resource" &&
          a.urn === b.urn &&
          a.name === b.name &&
          a.type === b.type &&
          a.packageVersion === b.packageVersion &&
          this.#later(a.id, b.id) &&
          this.#extras(a, b)
        );
      default:
        return a satisfies never;
    }
  }

  maps(a: PropertyMap, b: PropertyMap): boolean {
    if (a.size !== b.size) return false;
    for (const [key, value] of a) {
      const other = b.get(key);
      if (other === undefined || !this.#later(value, other)) return false;
    }
    return true;
  }

  #optionalMaps(a: PropertyMap | undefined, b: PropertyMap | undefined): boolean {
    if (a === undefined || b === undefined) return a === b;
    return this.maps(a, b);
  }

  #lists(a: readonly PropertyValue[], b: readonly PropertyValue[]): boolean {
    if (a.length !== b.length) return false;
    for (const [index, value] of a.entries()) if (!this.#later(value, b[index])) return false;
    return true;
  }

  #outputs(a: OutputProperty, b: OutputProperty): boolean {
    return (
      (this.#ignoreSecrets || (a.secret ?? false) === (b.secret ?? false)) &&
      this.#later(a.value, b.value) &&
      sameSet(a.dependencies ?? [], b.dependencies ?? []) &&
      this.#extras(a, b)
    );
  }

  #extras(a: SignatureObject, b: SignatureObject): boolean {
    return this.maps(publicMembers(a.extra), publicMembers(b.extra));
  }

  #later(a: PropertyValue | undefined, b: PropertyValue | undefined): boolean {
    if (a === undefined || b === undefined) return a === b;
    this.#pending.push(a, b);
    return true;
  }
}

function publicMembers(extra: PropertyMap = new Map()): PropertyMap {
  return new Map([...extra].filter(([key]) => !isInternalKey(key)));
}

function withoutSecret(value: PropertyValue): PropertyValue {
  let inner = value;
  while (inner.kind === "secret") inner = inner.value;
  return inner;
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  const left = new Set(a);
  const right = new Set(b);
  return left.size === right.size && [...left].every((name) => right.has(name));
}
