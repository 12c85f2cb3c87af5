import { componentOf, type OpenApiDocument } from "../openapi/document.ts";
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

/** The operations of the API of runs in an OpenAPI document: those of our own that have a name. */
export function operationsOf(document: unknown): readonly ApiOperation[] {
  return allOperationsOf(document).filter(
    ({ name, path }) => name !== "" && path.startsWith("/api/v1/"),
  );
}

/** The operations of all faces of a server in its OpenAPI document. */
export function allOperationsOf(document: unknown): readonly TaggedOperation[] {
  const { paths } = inlined(document, document) as Document;
  return Object.entries(paths).flatMap(([path, methods]) =>
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

/** A part of a document with its components in place of the references to them. */
function inlined(part: unknown, document: unknown): unknown {
  if (Array.isArray(part)) return part.map((one) => inlined(one, document));
  if (part === null || typeof part !== "object") return part;
  if ("$ref" in part && typeof part.$ref === "string") {
    const { schemas = {} } = (document as OpenApiDocument).components ?? {};
    return inlined(schemas[componentOf(part.$ref)], document);
  }
  return Object.fromEntries(
    Object.entries(part).map(([key, one]) => [key, inlined(one, document)]),
  );
}
