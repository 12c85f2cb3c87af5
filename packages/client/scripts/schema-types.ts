/** The part of a JSON schema that the documents of the server use. */
export interface Schema {
  readonly $ref?: string;
  readonly description?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** What references to the schemas of a document begin with. */
const COMPONENTS = "#/components/schemas/";

/** Types in TypeScript of the schemas of a document; those with a name become declarations, each once. */
export class SchemaTypes {
  readonly #components: Readonly<Record<string, Schema>>;
  readonly #declarations = new Map<string, string>();

  constructor(components: Readonly<Record<string, Schema>>) {
    this.#components = components;
  }

  /** The declarations of all titled schemas so far, sorted by name. */
  get declarations(): readonly string[] {
    return [...this.#declarations].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  }

  /** The schema that is meant by one that may be a reference. */
  resolve(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema;
    const found = this.#components[schema.$ref.slice(COMPONENTS.length)];
    if (found === undefined) throw new Error(`the document has no ${schema.$ref}`);
    return found;
  }

  typeOf(schema: Schema): string {
    if (schema.$ref === undefined) return this.#bare(schema, "");
    const name = schema.$ref.slice(COMPONENTS.length);
    if (this.#declarations.has(name)) return name;
    // Known before it is complete, as it may refer to itself.
    this.#declarations.set(name, "");
    const found = this.resolve(schema);
    const type = this.#bare(found, "");
    const isObject = found.properties !== undefined;
    const text = isObject ? `export interface ${name} ${type}` : `export type ${name} = ${type};`;
    this.#declarations.set(name, text);
    return name;
  }

  #bare(schema: Schema, indent: string): string {
    const { anyOf, enum: values, items, properties, type } = schema;
    if (anyOf !== undefined) {
      return [...new Set(anyOf.map((one) => this.typeOf(one)))].join(" | ");
    }
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (values !== undefined) return values.map((value) => JSON.stringify(value)).join(" | ");
    switch (type) {
      case "string":
      case "boolean":
      case "null":
        return type;
      case "integer":
      case "number":
        return "number";
      case "array": {
        const item = this.typeOf(items ?? {});
        return `readonly ${/[ |]/.test(item) ? `(${item})` : item}[]`;
      }
      case "object":
        return this.#object(properties ?? {}, schema.required ?? [], indent);
      case undefined:
        return "unknown";
      default:
        throw new Error(`a schema of the unknown type "${type}"`);
    }
  }

  #object(
    properties: Readonly<Record<string, Schema>>,
    required: readonly string[],
    indent: string,
  ): string {
    const entries = Object.entries(properties);
    if (entries.length === 0) return "Readonly<Record<string, unknown>>";
    const lines = entries.flatMap(([name, schema]) => {
      const isRequired = required.includes(name);
      const type =
        schema.$ref === undefined ? this.#bare(schema, `${indent}  `) : this.typeOf(schema);
      return [
        ...(schema.description === undefined ? [] : [`${indent}  /** ${schema.description} */`]),
        `${indent}  readonly ${name}${isRequired ? "" : "?"}: ${type}${isRequired ? "" : " | undefined"};`,
      ];
    });
    return `{\n${lines.join("\n")}\n${indent}}`;
  }
}
