import { isJsonObject, readJsonObject } from "@stackwright/base/json";
import { TfeError } from "../errors.ts";

const DEPTH = 32;

/** The resource in the body of a request. Its `type` is not checked: commands send an empty one with locks. */
export class RequestDocument {
  readonly #attributes: Readonly<Record<string, unknown>>;
  readonly #relationships: Readonly<Record<string, unknown>>;
  /** Undefined where it has none that is a text. */
  readonly id: string | undefined;
  /** The resources of a document that has a list of them. */
  readonly items: readonly RequestDocument[];
  /** Whether it is a list, also an empty one. */
  readonly isList: boolean;

  private constructor(data: unknown) {
    const resource = isJsonObject(data) ? data : {};
    const { attributes, relationships, id } = resource;
    this.id = typeof id === "string" ? id : undefined;
    this.#attributes = isJsonObject(attributes) ? attributes : {};
    this.#relationships = isJsonObject(relationships) ? relationships : {};
    this.isList = Array.isArray(data);
    this.items = Array.isArray(data) ? data.map((item) => new RequestDocument(item)) : [];
  }

  /** Reads a body; an empty one has no attributes. `TFE_INVALID_REQUEST` for what is not a JSON object. */
  static read(body: Uint8Array): RequestDocument {
    if (body.byteLength === 0) return new RequestDocument(undefined);
    const { object, problem } = readJsonObject(body, { maxDepth: DEPTH });
    if (problem !== undefined) {
      throw new TfeError("TFE_INVALID_REQUEST", "the request body is not a JSON object");
    }
    return new RequestDocument(object["data"]);
  }

  /** `TFE_UNPROCESSABLE` for a value that is not a text. */
  text(name: string, maxLength = 1024): string | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (typeof value === "string" && value.length <= maxLength && value.isWellFormed())
      return value;
    throw invalid(name, `a text of at most ${maxLength} characters`);
  }

  flag(name: string): boolean | undefined {
    const value = this.#value(name);
    if (value === undefined || typeof value === "boolean") return value;
    throw invalid(name, "true or false");
  }

  wholeNumber(name: string): bigint | undefined {
    const value = this.#value(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0)
      return BigInt(value);
    throw invalid(name, "a whole number that is not negative");
  }

  /** A list of at most `maxItems` texts; empty without one. */
  texts(name: string, maxItems: number): readonly string[] {
    const value = this.#value(name) ?? [];
    const isList =
      Array.isArray(value) &&
      value.every((item) => typeof item === "string" && item.length <= 1024);
    if (isList && value.length <= maxItems) return value as string[];
    throw invalid(name, `a list of at most ${maxItems} texts`);
  }

  /** A list of at most `maxItems` objects; empty without one. */
  objects(name: string, maxItems: number): readonly Readonly<Record<string, unknown>>[] {
    const value = this.#value(name) ?? [];
    const isList = Array.isArray(value) && value.every(isJsonObject);
    if (isList && value.length <= maxItems) return value;
    throw invalid(name, `a list of at most ${maxItems} objects`);
  }

  /** The id of a relation to one resource. */
  relation(name: string): string | undefined {
    const relation = this.#relationships[name];
    const data = isJsonObject(relation) ? relation["data"] : undefined;
    const id = isJsonObject(data) ? data["id"] : undefined;
    return typeof id === "string" ? id : undefined;
  }

  /** The same, where anything else than one resource, or null for none, is refused. */
  oneRelated(name: string): string | undefined {
    if (!Object.hasOwn(this.#relationships, name)) return undefined;
    const relation = this.#relationships[name];
    const data = isJsonObject(relation) ? relation["data"] : undefined;
    if (data === null) return undefined;
    const id = this.relation(name);
    if (id !== undefined) return id;
    throw invalid(name, "a relation to one resource");
  }

  /** The resources of a relation to many; their attributes are in place. */
  relations(name: string): readonly RequestDocument[] {
    const relation = this.#relationships[name];
    const data = isJsonObject(relation) ? relation["data"] : undefined;
    return Array.isArray(data) ? data.map((item) => new RequestDocument(item)) : [];
  }

  /** The resources of a relation to many; undefined where the document does not have it. */
  manyRelated(name: string): readonly RequestDocument[] | undefined {
    if (!Object.hasOwn(this.#relationships, name)) return undefined;
    const relation = this.#relationships[name];
    if (isJsonObject(relation) && Array.isArray(relation["data"])) return this.relations(name);
    throw invalid(name, "a relation to a list");
  }

  #value(name: string): unknown {
    return this.#attributes[name] ?? undefined;
  }
}

function invalid(name: string, wanted: string): TfeError {
  return new TfeError("TFE_UNPROCESSABLE", `"${name}" has to be ${wanted}`);
}
