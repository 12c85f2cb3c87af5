/** The part of an OpenAPI document that is read here. */
export interface OpenApiDocument {
  readonly info: { readonly title: string; readonly version: string };
  readonly tags?: readonly { readonly name: string; readonly description?: string }[];
  readonly components?: { readonly schemas?: Readonly<Record<string, DocumentSchema>> };
  readonly paths?: Readonly<Record<string, Readonly<Record<string, DocumentOperation>>>>;
}

/** One operation: a method of a path. */
export interface DocumentOperation {
  readonly operationId?: string;
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly parameters?: readonly DocumentParameter[];
  readonly requestBody?: { readonly required?: boolean; readonly content?: DocumentContent };
  readonly responses?: Readonly<
    Record<string, { readonly description?: string; readonly content?: DocumentContent }>
  >;
  /** Type of a body that is read as a stream. */
  readonly "x-body"?: string;
  /** What a caller needs, in words. */
  readonly "x-access"?: string;
}

interface DocumentParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: DocumentSchema;
}

/** Schemas by the type of the content. */
export type DocumentContent = Readonly<Record<string, { readonly schema?: DocumentSchema }>>;

/** A JSON schema, or a reference to one of the components. */
export interface DocumentSchema {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly DocumentSchema[];
  readonly items?: DocumentSchema;
  readonly properties?: Readonly<Record<string, DocumentSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | DocumentSchema;
  readonly default?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
}

/** The name of the component that a reference is to. */
export function componentOf(reference: string): string {
  return reference.slice(COMPONENTS.length);
}

/** What references to components begin with. */
export const COMPONENTS = "#/components/schemas/";
