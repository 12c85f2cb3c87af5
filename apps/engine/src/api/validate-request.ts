import type { FastifySchemaCompiler } from "fastify";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { type FieldError, ServerError } from "../domain/server-error.ts";

interface Finding {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: { readonly additionalProperties?: readonly string[] };
  readonly message: string;
}

/** Validates params, query, headers and body by the schemas of the route; the refusal names every member that is wrong. */
export const compileRequestValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  let compiled: ReturnType<typeof Compile<TSchema>> | undefined;
  return (data: unknown) => {
    // With the first request: a server has hundreds of routes, and starts without waiting for them.
    const validator = (compiled ??= Compile(schema));
    const value = httpPart === "querystring" ? withNumbers(schema, data) : data;
    if (validator.Check(value)) return { value };
    const errors = (validator.Errors(value) as readonly Finding[]).slice(0, 20).map(
      ({ instancePath, message, params }): FieldError => ({
        pointer: `/${httpPart ?? "body"}${instancePath}`,
        detail: [message, ...(params.additionalProperties ?? [])].join(": "),
      }),
    );
    const [first] = errors;
    const detail = first === undefined ? "" : `: ${first.pointer} ${first.detail}`;
    // An unknown path is no resource.
    const code = httpPart === "params" ? "not_found" : "invalid_request";
    return { error: new ServerError(code, `the request is not valid${detail}`, { errors }) };
  };
};

/** Texts of a query become the integers that its schema asks for. */
function withNumbers(schema: TSchema, data: unknown): unknown {
  const { properties = {} } = schema as { properties?: Record<string, { type?: unknown }> };
  return Object.fromEntries(
    Object.entries(data as Record<string, unknown>).map(([name, value]) => {
      const isNumber =
        properties[name]?.type === "integer" &&
        typeof value === "string" &&
        /^[0-9]{1,15}$/.test(value);
      return [name, isNumber ? Number(value) : value];
    }),
  );
}
