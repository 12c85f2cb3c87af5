import type { JsonSchema } from "./json-schema-arbitrary.ts";

interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly schema: JsonSchema;
}

interface TaggedOperation extends ApiOperation {
  readonly tags: readonly string[];
}

type Content = Readonly<Record<string, { readonly schema: JsonSchema }>>;

/** One operation of the API of runs, as its OpenAPI document describes it. */
export interface ApiOperation {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: JsonSchema | undefined;
  /** Type of a body that is no JSON. */
  readonly upload: string | undefined;
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

interface Document {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly operationId?: string;
            readonly tags?: readonly string[];
            readonly parameters?: readonly Parameter[];
            readonly requestBody?: { readonly content?: Content };
            readonly responses: ApiOperation["responses"];
            readonly "x-body"?: string;
          }
        >
      >
    >
  >;
}

/** The operations of the API of runs in an OpenAPI document. */
export function operationsOf(document: unknown): readonly ApiOperation[] {
  return allOperationsOf(document).filter(({ tags }) => tags.includes("runs"));
}

/** The operations of all faces of a server in its OpenAPI document. */
export function allOperationsOf(document: unknown): readonly TaggedOperation[] {
  return Object.entries((document as Document).paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: operation.operationId ?? "",
      tags: operation.tags ?? [],
      method: method.toUpperCase(),
      path,
      parameters: operation.parameters ?? [],
      body: operation.requestBody?.content?.["application/json"]?.schema,
      upload: operation["x-body"],
      responses: operation.responses,
    })),
  );
}
