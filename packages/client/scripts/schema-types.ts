/** The part of a JSON schema that the documents of the server use. */
export interface Schema {
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** Types in TypeScript of JSON schemas; those with a title become declarations, each once. */
export class SchemaTypes {
  readonly #declarations = new Map<string, string>();

  /** The declarations of all titled schemas so far, sorted by name. */
  get declarations(): readonly string[] {
    return [...this.#declarations].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text);
  }

  typeOf(schema: Schema): string {
    const { title } = schema;
    if (title === undefined) return this.#bare(schema, "");
    const isObject = schema.properties !== undefined;
    const type = this.#bare(schema, "");
    const text = isObject ? `export interface ${title} ${type}` : `export type ${title} = ${type};`;
    const known = this.#declarations.get(title);
    if (known !== undefined && known !== text) throw new Error(`two schemas are called ${title}`);
    this.#declarations.set(title, text);
    return title;
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
        schema.title === undefined ? this.#bare(schema, `${indent}  `) : this.typeOf(schema);
      return [
        ...(schema.description === undefined ? [] : [`${indent}  /** ${schema.description} */`]),
        `${indent}  readonly ${name}${isRequired ? "" : "?"}: ${type}${isRequired ? "" : " | undefined"};`,
      ];
    });
    return `{\n${lines.join("\n")}\n${indent}}`;
  }
}
