import {
  decodeMsgpack,
  encodeMsgpack,
  Mark,
  Marks,
  markWithPaths,
  Path,
  Type,
  unmarkDeepWithPaths,
  Value,
} from "@stackwright/cty";
import { EngineError } from "../errors.ts";

/** A value in JSON: its msgpack encoding with its type, and where it is secret. Unknowns keep their refinements. */
export interface EncodedValue {
  readonly value: string;
  readonly sensitive?: readonly EncodedPath[];
}

/** Names of attributes, and keys in a list of one: `["tags", ["a"], [0]]`. */
export type EncodedPath = readonly (
  | string
  | readonly [string | number]
  | readonly [null, string]
)[];

export function encodeValue(value: Value): EncodedValue {
  const [plain, found] = unmarkDeepWithPaths(value);
  const sensitive = found
    .filter(({ marks }) => marks.has(Mark.sensitive))
    .map(({ path }) => encodePath(path));
  const bytes = encodeMsgpack(plain, Type.dynamic);
  return {
    value: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64"),
    ...(sensitive.length > 0 && { sensitive }),
  };
}

export function decodeValue({ value, sensitive = [] }: EncodedValue): Value {
  const plain = decodeMsgpack(Buffer.from(value, "base64"), Type.dynamic);
  const marks = Marks.of(Mark.sensitive);
  return markWithPaths(
    plain,
    sensitive.map((path) => ({ path: decodePath(path), marks })),
  );
}

export function encodePath(path: Path): EncodedPath {
  return path.steps.map((step) => {
    if (step.kind === "attribute") return step.name;
    const [key] = step.key.unmark();
    if (key.isKnown && !key.isNull && key.type.kind === "string") return [key.asString()] as const;
    if (key.isKnown && !key.isNull && key.type.kind === "number") return [key.asNumber()] as const;
    return [null, Buffer.from(encodeMsgpack(key, Type.dynamic)).toString("base64")] as const;
  });
}

export function decodePath(encoded: EncodedPath): Path {
  let path = Path.root;
  for (const step of encoded) {
    if (typeof step === "string") path = path.attribute(step);
    else if (step[0] === null)
      path = path.index(decodeMsgpack(Buffer.from(step[1] ?? "", "base64"), Type.dynamic));
    else path = path.index(typeof step[0] === "number" ? Value.number(step[0]) : step[0]);
  }
  return path;
}

export function invalidPlan(why: string, cause?: unknown): EngineError {
  return new EngineError("ENGINE_PLAN_INVALID", `the plan cannot be read: ${why}`, { cause });
}
