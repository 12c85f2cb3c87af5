import { RfsStacksError } from "../errors.ts";

/** The members of a JSON object of a request, each of a known name and type. `null` means absent. */
export class BodyFields {
  readonly #body: Readonly<Record<string, unknown>>;

  /** Refuses members that are not listed. */
  constructor(body: unknown, known: readonly string[], what = "the request body") {
    if (body === undefined) throw new RfsStacksError("RFS_BODY_MISSING");
    if (typeof body !== "object" || body === null || Array.isArray(body)) {
      throw new RfsStacksError("RFS_PARAMETER_TYPE", `${what} has to be an object`);
    }
    const unknown = Object.keys(body).find((name) => !known.includes(name));
    if (unknown !== undefined) {
      const name = unknown.slice(0, 64);
      throw new RfsStacksError(
        "RFS_PARAMETER_UNKNOWN",
        `"${name}" is not a parameter of this request; its parameters are ${known.join(", ")}`,
      );
    }
    this.#body = body as Readonly<Record<string, unknown>>;
  }

  text(name: string, bounds: { readonly max: number; readonly min?: number }): string | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (typeof value !== "string") {
      throw new RfsStacksError("RFS_PARAMETER_TYPE", `${name} has to be a string`);
    }
    const { length } = value;
    if (length <= bounds.max && length >= (bounds.min ?? 0)) return value;
    throw new RfsStacksError(
      "RFS_PARAMETER_LENGTH",
      `${name} has ${length} characters; it may have ${bounds.min ?? 0} to ${bounds.max}`,
    );
  }

  requiredText(name: string, bounds: { readonly max: number; readonly min?: number }): string {
    const value = this.text(name, bounds);
    if (value !== undefined) return value;
    throw new RfsStacksError("RFS_PARAMETER_MISSING", `${name} is required`);
  }

  flag(name: string): boolean | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw new RfsStacksError("RFS_PARAMETER_TYPE", `${name} has to be true or false`);
  }

  list(name: string, max: number): readonly unknown[] | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) {
      throw new RfsStacksError("RFS_PARAMETER_TYPE", `${name} has to be an array`);
    }
    if (value.length <= max) return value as readonly unknown[];
    throw new RfsStacksError("RFS_PARAMETER_LENGTH", `${name} has more than ${max} items`);
  }

  /** The members of an object. */
  object(name: string, known: readonly string[]): BodyFields | undefined {
    const value = this.#value(name);
    return value === undefined ? undefined : new BodyFields(value, known, name);
  }

  texts(name: string, max: number): readonly string[] | undefined {
    const values = this.list(name, max);
    if (values === undefined || values.every((value) => typeof value === "string")) return values;
    throw new RfsStacksError("RFS_PARAMETER_TYPE", `${name} has to be an array of strings`);
  }

  integer(
    name: string,
    { min, max }: { readonly min: number; readonly max: number },
  ): number | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (typeof value !== "number" || !Number.isInteger(value)) {
      throw new RfsStacksError("RFS_PARAMETER_TYPE", `${name} has to be a whole number`);
    }
    if (value >= min && value <= max) return value;
    throw new RfsStacksError("RFS_PARAMETER_RANGE", `${name} is a number from ${min} to ${max}`);
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    const found = values.find((one) => one === value);
    if (found !== undefined) return found;
    throw new RfsStacksError("RFS_PARAMETER_RANGE", `${name} is ${values.join(" or ")}`);
  }

  has(name: string): boolean {
    return this.#value(name) !== undefined;
  }

  #value(name: string): unknown {
    return Object.hasOwn(this.#body, name) ? (this.#body[name] ?? undefined) : undefined;
  }
}
