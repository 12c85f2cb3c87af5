import fc from "fast-check";
import { Type, withoutOptionalAttributes } from "../../index.ts";
import {
  constraint,
  decimalText,
  number,
  relatedConstraint,
  text,
  type,
  value,
  valueOf,
} from "./arbitraries.ts";
import { build, typeToJson } from "./notation.ts";
import type { Answer, Request } from "./perform.ts";

const scalar = value({ depth: 0 });
const nested = value({ depth: 3 });
const marked = value({ depth: 2, marks: true });

/** Two values, often of one type and often equal. */
const pair = fc.oneof(
  type({ depth: 2 }).chain((t) => fc.tuple(valueOf(t), valueOf(t))),
  nested.map((v) => [v, v] as const),
  fc.tuple(nested, nested),
  fc.tuple(number, number),
  fc.tuple(marked, marked),
);

const arithmetic = fc.constantFrom("add", "subtract", "multiply", "divide", "modulo");
const comparison = fc.constantFrom(
  "lessThan",
  "greaterThan",
  "lessThanOrEqual",
  "greaterThanOrEqual",
);
const numeric = fc.oneof(
  { weight: 5, arbitrary: number },
  { weight: 1, arbitrary: valueOf(Type.number) },
);

/** Questions of every kind, with the share that each kind has of all. */
const QUESTIONS: readonly fc.WeightedArbitrary<Request>[] = [
  { weight: 30, arbitrary: value({ depth: 3, open: true }).map((a) => ({ op: "describe", a })) },
  { weight: 5, arbitrary: number.map((a) => ({ op: "describe", a })) },
  {
    weight: 20,
    arbitrary: type({ depth: 3, open: true })
      .chain((t) => fc.tuple(valueOf(t, { marks: true }), relatedConstraint(t)))
      .map(([a, t]) => ({ op: "convert", a, type: typeToJson(t) })),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(marked, constraint(2))
      .map(([a, t]) => ({ op: "convert", a, type: typeToJson(t) })),
  },
  {
    weight: 6,
    arbitrary: type({ depth: 2, open: true })
      .chain((t) => fc.array(relatedConstraint(t), { minLength: 1, maxLength: 4 }))
      .chain((types) =>
        fc.tuple(
          fc.tuple(...types.map((t) => valueOf(withoutOptionalAttributes(t)))),
          fc.boolean(),
        ),
      )
      .map(([values, unsafe]) => ({ op: "unify", values, unsafe })),
  },
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.array(type({ depth: 2, open: true }), { minLength: 1, maxLength: 5 }), fc.boolean())
      .map(([types, unsafe]) => ({ op: "unify", types: types.map(typeToJson), unsafe })),
  },
  {
    weight: 8,
    arbitrary: fc
      .tuple(fc.array(value({ depth: 2 }), { minLength: 1, maxLength: 4 }), fc.boolean())
      .map(([values, unsafe]) => ({ op: "unify", values, unsafe })),
  },
  { weight: 12, arbitrary: pair.map(([a, b]) => ({ op: "equal", a, b })) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(type({ depth: 2 }), constraint(2))
      .map((types) => ({ op: "conforms", types: types.map(typeToJson) })),
  },
  {
    weight: 10,
    arbitrary: fc.tuple(arithmetic, numeric, numeric).map(([op, a, b]) => ({ op, a, b })),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(comparison, numeric, numeric).map(([op, a, b]) => ({ op, a, b })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom("and", "or"), valueOf(Type.bool), valueOf(Type.bool))
      .map(([op, a, b]) => ({ op, a, b })),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.constantFrom("negate", "absolute"), numeric)
      .map(([op, a]) => ({ op, a })),
  },
  { weight: 3, arbitrary: nested.map((a) => ({ op: "length", a })) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom("index", "hasIndex", "hasElement"), marked, scalar)
      .map(([op, a, b]) => ({ op, a, b })),
  },
  { weight: 6, arbitrary: fc.oneof(decimalText(), text).map((t) => ({ op: "number", text: t })) },
  { weight: 6, arbitrary: number.map((a) => ({ op: "number-forms", a })) },
  {
    weight: 3,
    arbitrary: fc.array(text, { maxLength: 3 }).map((t) => ({ op: "prefix", text: t.join("") })),
  },
];

/** `count` random questions, always the same for one seed. */
export function randomRequests(seed: number, count: number): Request[] {
  return fc.sample(fc.oneof(...QUESTIONS), { seed, numRuns: count });
}

/** For every encoding in the answers to "describe", the question what it decodes to. */
export function decodingRequests(
  requests: readonly Request[],
  answers: readonly Answer[],
): Request[] {
  return requests.flatMap((request, i) => {
    const ok = answers[i]?.ok;
    if (request.op !== "describe" || request.a === undefined) return [];
    if (typeof ok !== "object" || ok === null) return [];
    const type = typeToJson(build(request.a).type);
    const encodings = new Map<string, unknown>(Object.entries(ok));
    const result: Request[] = [];
    for (const [suffix, decodedAs] of [["", type] as const, ["Dynamic", "dynamic"] as const]) {
      const hex = encodings.get(`msgpack${suffix}`);
      const text = encodings.get(`json${suffix}`);
      if (typeof hex === "string") result.push({ op: "decode-msgpack", hex, type: decodedAs });
      if (typeof text === "string") result.push({ op: "decode-json", text, type: decodedAs });
    }
    return result;
  });
}
