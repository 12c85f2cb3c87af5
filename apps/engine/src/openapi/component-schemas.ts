import { isDeepStrictEqual } from "node:util";
import { COMPONENTS, type DocumentSchema, type OpenApiDocument } from "./document.ts";

/**
 * The document with each titled schema once, as a component that others refer to by its title: what generators of clients make their types of.
 * Routes have their schemas whole, as validation needs them. A description beside a reference stays there.
 *
 * Throws where two different schemas have the same title.
 */
export function withComponents<T extends OpenApiDocument>(document: T): T {
  const schemas = new Map<string, DocumentSchema>(
    Object.entries(document.components?.schemas ?? {}),
  );
  const place = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(place);
    if (value === null || typeof value !== "object") return value;
    const schema = Object.fromEntries(
      Object.entries(value).map(([key, member]) => [
        key,
        // A member that is called "title" is no title.
        key === "properties" ? placeMembers(member) : place(member),
      ]),
    ) as DocumentSchema;
    const { title, description, ...rest } = schema;
    if (title === undefined || !isSchema(schema)) return schema;
    const known = schemas.get(title);
    if (known !== undefined && !isDeepStrictEqual(known, rest)) {
      throw new Error(`two schemas are called ${title}`);
    }
    schemas.set(title, rest);
    return { $ref: COMPONENTS + title, ...(description !== undefined && { description }) };
  };
  const placeMembers = (members: object): object =>
    Object.fromEntries(Object.entries(members).map(([name, schema]) => [name, place(schema)]));
  const paths = place(document.paths ?? {});
  const sorted = [...schemas].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const components = { ...document.components, schemas: Object.fromEntries(sorted) };
  return { ...document, components, paths };
}

/** Schemas say what they are; other parts of a document that have a title do not. */
function isSchema({ type, anyOf, enum: values }: DocumentSchema): boolean {
  return type !== undefined || anyOf !== undefined || values !== undefined;
}
