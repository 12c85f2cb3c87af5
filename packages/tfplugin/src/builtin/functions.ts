import { CtyError, rangeOf, refine, Type, Value } from "@stackwright/cty";
import type { CallFunctionReply, CallFunctionRequest } from "@stackwright/mux/router";
import { isIdentifier, writeAttributes, writeExpression } from "./hcl-writer.ts";

/**
 * Reads a text in the syntax of a `.tfvars` file: attributes only, whose expressions refer to nothing and call nothing.
 * A text as result says what is wrong and where. The language is not part of this package, so its caller brings it.
 */
export type TfvarsReader = (source: string) => ReadonlyMap<string, Value> | string;

/** Calls a function of the built-in provider. Arguments are as declared; nulls and unknowns are handled nevertheless. */
export function callBuiltin(
  { name, arguments: [argument] }: CallFunctionRequest,
  readTfvars: TfvarsReader,
): CallFunctionReply {
  if (argument === undefined) return problem("an argument is missing");
  switch (name) {
    case "encode_expr":
      return encodeExpression(argument);
    case "encode_tfvars":
      return encodeTfvars(argument);
    case "decode_tfvars":
      return decodeTfvars(argument, readTfvars);
    default:
      return { error: { text: `there is no function ${name}` } };
  }
}

function problem(text: string): CallFunctionReply {
  return { error: { text, argument: 0 } };
}

function encodeExpression(value: Value): CallFunctionReply {
  if (!value.isWhollyKnown) return { result: unknownExpression(value) };
  return written(() => writeExpression(value));
}

/** How an expression begins is known from the type of the value, once it is not null. */
function unknownExpression(value: Value): Value {
  const text = refine(Value.unknown(Type.string), { notNull: true });
  const isNull = value.isKnown ? value.isNull : rangeOf(value).isNull;
  const fullPrefix = isNull === false ? FIRST_CHARACTER[value.type.kind] : undefined;
  return fullPrefix === undefined ? text : refine(text, { fullPrefix });
}

const FIRST_CHARACTER: Readonly<Partial<Record<Type["kind"], string>>> = {
  string: '"',
  object: "{",
  map: "{",
  list: "[",
  set: "[",
  tuple: "[",
};

function encodeTfvars(value: Value): CallFunctionReply {
  if (value.isKnown && value.isNull) return problem("null has no form in this syntax");
  if (!value.isWhollyKnown) {
    return { result: refine(Value.unknown(Type.string), { notNull: true }) };
  }
  const { kind } = value.type;
  if (kind !== "object" && kind !== "map") {
    return problem("the value must be an object, whose attributes become the variables");
  }
  const invalid = [...value.entries()].map(([name]) => name).find((name) => !isIdentifier(name));
  if (invalid !== undefined) {
    return problem(`${JSON.stringify(invalid)} is not a valid name of a variable`);
  }
  return written(() => writeAttributes(value));
}

/** Capsules and infinite numbers have no form. */
function written(write: () => string): CallFunctionReply {
  try {
    return { result: Value.string(write()) };
  } catch (error) {
    if (error instanceof TypeError || error instanceof CtyError) return problem(error.message);
    throw error;
  }
}

function decodeTfvars(source: Value, readTfvars: TfvarsReader): CallFunctionReply {
  if (!source.isKnown) return { result: Value.dynamic };
  if (source.isNull) return problem("the text must not be null");
  const values = readTfvars(source.asString());
  return typeof values === "string" ? problem(values) : { result: Value.object(values) };
}
