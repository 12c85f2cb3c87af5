import type { FastifySchemaCompiler } from "fastify";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { type FieldProblem, invalidField, type RegistryError } from "../errors.ts";

/** What is wrong, by the keyword of the schema that refuses it. */
const PROBLEMS: Readonly<Record<string, FieldProblem>> = {
  required: "missing",
  additionalProperties: "unknown",
  maxLength: "too-long",
  maxItems: "too-long",
  minLength: "too-short",
  minItems: "too-short",
  pattern: "pattern",
  minimum: "out-of-range",
  maximum: "out-of-range",
  exclusiveMinimum: "out-of-range",
  exclusiveMaximum: "out-of-range",
  const: "not-listed",
  enum: "not-listed",
};

/** One finding of a validator. */
interface Finding {
  readonly keyword: string;
  readonly instancePath: string;
  readonly params: object;
  readonly message: string;
}

/** How headers are spelled in messages, where that is not as they arrive. */
const HEADER_NAMES: ReadonlyMap<string, string> = new Map([
  ["client-request-id", "Client-Request-Id"],
]);

/**
 * Validates params, query, headers and body of a request by the schemas of its route, so that what the
 * OpenAPI document says is what holds. A refusal is `REGISTRY_INVALID_FIELD` with the first field that is
 * wrong. Texts of a query become the numbers and lists that its schema asks for.
 */
export const compileValidator: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  let compiled: ReturnType<typeof Compile<TSchema>> | undefined;
  const isQuery = httpPart === "querystring" || httpPart === "query";
  return (data: unknown) => {
    // With the first request: a server has hundreds of routes, and starts without waiting for them.
    const validator = (compiled ??= Compile(schema));
    const value = isQuery ? fromTexts(schema, data) : data;
    if (validator.Check(value)) return { value };
    const findings = validator.Errors(value) as readonly Finding[];
    return { error: refusal(findings, schema, value) };
  };
};

/** The members of a schema, each with its own. */
function membersOf(schema: TSchema): Readonly<Record<string, { readonly type?: unknown }>> {
  return (schema as { properties?: Record<string, { readonly type?: unknown }> }).properties ?? {};
}

const INTEGER = /^[+-]?[0-9]{1,10}$/;

function fromTexts(schema: TSchema, data: unknown): unknown {
  const members = membersOf(schema);
  return Object.fromEntries(
    Object.entries(data as Record<string, unknown>).map(([name, value]) => {
      const type = Object.hasOwn(members, name) ? members[name]?.type : undefined;
      if (type === "array" && !Array.isArray(value)) return [name, [value]];
      const isNumber = type === "integer" && typeof value === "string" && INTEGER.test(value);
      return [name, isNumber ? Number(value) : value];
    }),
  );
}

function refusal(findings: readonly Finding[], schema: TSchema, value: unknown): RegistryError {
  // A member that is not known is named before a value that is wrong: it may be its misspelled name.
  const finding =
    findings.find(({ keyword }) => keyword === "additionalProperties") ??
    findings.find(({ keyword }) => keyword !== "boolean");
  const { keyword = "", instancePath = "", params = {}, message = "" } = finding ?? {};
  const { additionalProperties, requiredProperties, type } = params as {
    readonly additionalProperties?: readonly string[];
    readonly requiredProperties?: readonly string[];
    readonly type?: string;
  };
  const [, inPath = ""] = instancePath.split("/");
  const plain = additionalProperties?.[0] ?? requiredProperties?.[0] ?? inPath;
  const name = (HEADER_NAMES.get(plain) ?? (plain === "" ? "body" : plain)).slice(0, 64);
  if (keyword === "additionalProperties") {
    const known = Object.keys(membersOf(schema)).join(", ");
    const text = `"${name}" is not a parameter of this request; its parameters are ${known}`;
    return invalidField(name, "unknown", text);
  }
  if (keyword === "required") return invalidField(name, "missing", `${name} is required`);
  if (keyword === "type") {
    const given = (value as Record<string, unknown> | null)?.[inPath];
    if (Array.isArray(given) && type !== "object") {
      return invalidField(name, "wrong-type", `${name} has to be one ${type}`);
    }
    const problem = type === "integer" ? "not-integer" : "wrong-type";
    return invalidField(name, problem, `${name} ${message}`);
  }
  return invalidField(name, PROBLEMS[keyword] ?? "wrong-type", `${name} ${message}`);
}
