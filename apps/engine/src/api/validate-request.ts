import type { FastifySchemaCompiler } from "fastify";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { type FieldError, ServerError } from "../domain/server-error.ts";

interface Finding {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: {
    readonly additionalProperties?: readonly string[];
    readonly allowedValue?: unknown;
    readonly allowedValues?: readonly unknown[];
  };
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
    const errors = errorsOf(validator.Errors(value) as readonly Finding[], httpPart ?? "body");
    const [first] = errors;
    const detail = first === undefined ? "" : `: ${first.pointer} ${first.detail}`;
    // An unknown path is no resource.
    const code = httpPart === "params" ? "not_found" : "invalid_request";
    return { error: new ServerError(code, `the request is not valid${detail}`, { errors }) };
  };
};

/** What is wrong with which member, once each: of one that has to have one of some values it names these. */
function errorsOf(findings: readonly Finding[], part: string): readonly FieldError[] {
  const choices = Map.groupBy(
    findings.filter(({ params }) => "allowedValue" in params),
    ({ instancePath }) => instancePath,
  );
  const errors = findings.flatMap((finding): FieldError[] => {
    const { keyword, instancePath, params } = finding;
    const choice = choices.get(instancePath);
    // A member that is not known is found twice, once as a schema that is false; a choice once for each of its values, and as a whole.
    if (keyword === "boolean" || (choice !== undefined && keyword === "anyOf")) return [];
    if (choice?.includes(finding) === true && finding !== choice[0]) return [];
    const values = choice?.map((one) => one.params.allowedValue) ?? params.allowedValues;
    const isChoice = keyword === "const" || keyword === "enum";
    const detail =
      isChoice && values !== undefined
        ? `must be ${values.map((one) => JSON.stringify(one)).join(" or ")}`
        : [finding.message, ...(params.additionalProperties ?? [])].join(": ");
    return [{ pointer: `/${part}${instancePath}`, detail }];
  });
  return errors.slice(0, 20);
}

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
