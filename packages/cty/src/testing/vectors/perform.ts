import {
  absolute,
  add,
  and,
  CtyError,
  conformsTo,
  convert,
  decodeJson,
  decodeJsonImplied,
  decodeMsgpack,
  divide,
  encodeJson,
  encodeMsgpack,
  equal,
  greaterThan,
  greaterThanOrEqual,
  hasElement,
  hasIndex,
  index,
  length,
  lessThan,
  lessThanOrEqual,
  modulo,
  multiply,
  negate,
  not,
  or,
  safeKnownPrefix,
  subtract,
  Type,
  unify,
  Value,
} from "../../index.ts";
import { bitsOfDouble, build, dump, type Notation, typeOfJson, typeToJson } from "./notation.ts";

/** A question about values. Which members are there depends on `op`. */
export interface Request {
  readonly op: string;
  readonly a?: Notation;
  readonly b?: Notation;
  readonly values?: readonly Notation[];
  readonly type?: unknown;
  readonly types?: readonly unknown[];
  readonly unsafe?: boolean;
  readonly text?: string;
  readonly hex?: string;
}

/** The answer, or why there is none. Reasons are for people; only whether there is an answer is compared. */
export interface Answer {
  readonly ok?: unknown;
  readonly error?: string;
}

type Operator = (a: Value, b: Value) => Value;

const BINARY: Readonly<Record<string, Operator>> = {
  add,
  subtract,
  multiply,
  divide,
  modulo,
  and,
  or,
  lessThan,
  greaterThan,
  lessThanOrEqual,
  greaterThanOrEqual,
  index,
  hasIndex,
  hasElement,
};

const UNARY: Readonly<Record<string, (value: Value) => Value>> = { negate, absolute, not, length };

/** Answers a question with this package. Only errors that are declared count as answers. */
export function perform(request: Request): Answer {
  try {
    return { ok: answer(request) };
  } catch (error) {
    if (error instanceof CtyError) return { error: `${error.code}: ${error.message}` };
    throw error;
  }
}

function answer(request: Request): unknown {
  const a = request.a === undefined ? Value.dynamic : build(request.a);
  const b = request.b === undefined ? Value.dynamic : build(request.b);
  const unary = UNARY[request.op];
  if (unary !== undefined) return dump(unary(a));
  const binary = BINARY[request.op];
  if (binary !== undefined) return dump(binary(a, b));
  switch (request.op) {
    case "describe":
      return describeValue(a);
    case "convert":
      return dump(convert(a, typeOfJson(request.type)));
    case "unify":
      return unifyAll(request);
    case "equal":
      return { equal: dump(equal(a, b)), raw: a.rawEquals(b) };
    case "conforms": {
      const [type, constraint] = (request.types ?? []).map(typeOfJson);
      return conformsTo(type ?? Type.dynamic, constraint ?? Type.dynamic);
    }
    case "decode-msgpack":
      return dump(decodeMsgpack(Buffer.from(request.hex ?? "", "hex"), typeOfJson(request.type)));
    case "decode-json":
      return dump(decodeJson(request.text ?? "", typeOfJson(request.type)));
    case "implied-json":
      return dump(decodeJsonImplied(request.text ?? ""));
    case "number":
      return numberForms(Value.parseNumber(request.text ?? ""));
    case "number-forms":
      return numberForms(a);
    case "prefix":
      return { prefix: safeKnownPrefix(request.text ?? "") };
    default:
      throw new TypeError(`unknown op ${request.op}`);
  }
}

function describeValue(value: Value): unknown {
  const result: Record<string, unknown> = { value: dump(value) };
  for (const [name, type] of [["", value.type] as const, ["Dynamic", Type.dynamic] as const]) {
    result[`msgpack${name}`] = encoded(() =>
      Buffer.from(encodeMsgpack(value, type)).toString("hex"),
    );
    result[`json${name}`] = encoded(() => encodeJson(value, type));
  }
  // What cannot be encoded is absent, as in the answers of the oracle.
  return JSON.parse(JSON.stringify(result));
}

function encoded(encode: () => string): string | undefined {
  try {
    return encode();
  } catch (error) {
    if (error instanceof CtyError) return undefined;
    throw error;
  }
}

function unifyAll(request: Request): unknown {
  const values = (request.values ?? []).map(build);
  const types = [...(request.types ?? []).map(typeOfJson), ...values.map((value) => value.type)];
  const unified = unify(types, { unsafe: request.unsafe ?? false });
  if (unified === undefined) throw new CtyError("CTY_CONVERSION", "no common type");
  const converted = values.map((value, i) => {
    const conversion = unified.conversions[i];
    if (conversion === undefined) return dump(value);
    try {
      return dump(conversion(value));
    } catch (error) {
      if (error instanceof CtyError) return null;
      throw error;
    }
  });
  return { type: typeToJson(unified.type), values: converted };
}

function numberForms(value: Value): unknown {
  const number = value.asBigFloat();
  return {
    value: dump(value),
    g10: number.text("g", 10),
    e: number.text("e"),
    g: number.text("g"),
    f3: number.text("f", 3),
    e5: number.text("e", 5),
    g4: number.text("g", 4),
    double: bitsOfDouble(number.toNumber()),
    exact: number.toExactNumber() !== undefined,
    isInt: number.isInteger,
    minBits: number.minPrecision,
    negative: number.negative,
  };
}
