import { isDeepStrictEqual } from "node:util";
import { conformsTo } from "../../index.ts";
import { type Notation, typeOfJson } from "./notation.ts";
import type { Answer, Request } from "./perform.ts";

/** Whether the answers agree, or which of the deliberate differences (see DESIGN.md) tells them apart. */
type Agreement =
  | "same"
  /** Where unknowns are compared, this package knows more. */
  | "decides-inequality"
  /** The reference says that sets with unknown parts inside of their elements are unequal, which may turn out wrong. */
  | "leaves-sets-open"
  /** The reference lets an operand pass that has no meaning, and happens to have a result. */
  | "refuses-operand"
  /** The reference crashes. */
  | "answers-instead-of-crash"
  /**
   * In two places the reference gives a value of a type that the target does not allow: of a set with unknown elements
   * it makes an unknown list of the source's elements, and attributes that cannot be filled in from a map get lost.
   */
  | "keeps-target-type"
  /** The reference drops the marks of a null when a collection is converted. */
  | "keeps-marks-of-null"
  /** The reference applies the second of two conversions to the original instead of the result of the first. */
  | "composes-conversions"
  /** The reference lets optional attributes into the types of nulls, which then differ from other elements. */
  | "keeps-types-plain";

/** Undefined where the answers contradict each other. */
export function agreement(request: Request, want: Answer, got: Answer): Agreement | undefined {
  if (want.error !== undefined && got.error !== undefined) return "same";
  if (isDeepStrictEqual(normalized(got.ok), normalized(want.ok))) return "same";
  if (want.error?.startsWith("panic:") === true && CRASHES.has(request.op)) {
    return "answers-instead-of-crash";
  }
  if (got.error !== undefined) return refuses(request, got.error) ? "refuses-operand" : undefined;
  if (request.op === "hasElement") return decidesMembership(want, got);
  if (request.op === "equal") return equalityDifference(request, want, got);
  if (request.op === "convert" || request.op === "unify")
    return conversionDifference(request, want, got);
  return undefined;
}

const CRASHES = new Set(["modulo", "length", "hasIndex", "unify"]);

/**
 * Answers without what does not matter: the precision of zero, the order of members, and which attributes are optional in
 * the type of a value.
 */
function normalized(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer ?? null), (_key, part: unknown) => {
    if (isRecord(part) && part.n === "0") return { n: "0" };
    // The reference writes an empty tuple type like this when it was made of nothing at all.
    if (Array.isArray(part) && part[0] === "tuple" && part[1] === null) return ["tuple", []];
    return Array.isArray(part) && part[0] === "object" && isRecord(part[1])
      ? part.slice(0, 2)
      : part;
  });
}

function isRecord(part: unknown): part is Record<string, unknown> {
  return typeof part === "object" && part !== null && !Array.isArray(part);
}

function refuses({ op, a, b }: Request, error: string): boolean {
  if (error.startsWith("CTY_NULL"))
    return [a, b].some((operand) => operand !== undefined && isNull(operand));
  if (op === "hasElement") return error.startsWith("CTY_WRONG_TYPE");
  return op === "index" && error.startsWith("CTY_NO_SUCH_ELEMENT");
}

function isNull(notation: Notation): boolean {
  return "null" in notation || ("marks" in notation && isNull(notation.v));
}

function equalityDifference(request: Request, want: Answer, got: Answer): Agreement | undefined {
  if (!contains(request, "unknown")) return undefined;
  const reference = truthOf(want);
  const own = truthOf(got);
  if (reference === undefined && own === false) return "decides-inequality";
  if (reference === false && own === undefined && contains(request, "set"))
    return "leaves-sets-open";
  return undefined;
}

/** A value of another type is no element of a set, whatever the set will be. */
function decidesMembership(want: Answer, got: Answer): Agreement | undefined {
  const open = truthOf({ ok: { equal: want.ok } }) === undefined;
  return open && truthOf({ ok: { equal: got.ok } }) === false ? "decides-inequality" : undefined;
}

function conversionDifference(request: Request, want: Answer, got: Answer): Agreement | undefined {
  const sources = [...(request.a === undefined ? [] : [request.a]), ...(request.values ?? [])];
  const toLists = JSON.stringify([request.type, got.ok]).includes('"list"');
  if (toLists && sources.some(hasUncertainSet)) return "keeps-target-type";
  if (want.error !== undefined) return hasOptional(request.type) ? "keeps-types-plain" : undefined;
  if (request.op === "convert" && fitsBetter(request.type, want.ok, got.ok))
    return "keeps-target-type";
  if (composesConversions(request, want, got)) return "composes-conversions";
  const plain = isDeepStrictEqual(withoutMarks(got.ok), withoutMarks(want.ok));
  return plain && sources.some(hasMarkedNull) ? "keeps-marks-of-null" : undefined;
}

/** A null or unknown of a type that the target allows, where that of the reference is of another. */
function fitsBetter(target: unknown, want: unknown, got: unknown): boolean {
  if (!isRecord(want) || !isRecord(got)) return false;
  const state = "null" in want ? "null" : "unknown";
  if (!(state in want && state in got)) return false;
  const constraint = typeOfJson(target);
  const fits = (answer: Record<string, unknown>) => {
    return conformsTo(typeOfJson(normalized(answer[state])), constraint);
  };
  return fits(got) && !fits(want);
}

/** Only objects and tuples are converted twice, and only where a map or list is among the values. */
function composesConversions({ values = [] }: Request, want: Answer, got: Answer): boolean {
  if (!isRecord(want.ok) || !isRecord(got.ok)) return false;
  const wanted = normalized(want.ok.values);
  const own = normalized(got.ok.values);
  if (!isDeepStrictEqual(normalized(got.ok.type), normalized(want.ok.type))) return false;
  if (!Array.isArray(wanted) || !Array.isArray(own)) return false;
  return values.every((source, i) => {
    return isStructural(source) || isDeepStrictEqual(own[i], wanted[i]);
  });
}

function isStructural(source: Notation): boolean {
  const type = "null" in source ? source.null : "unknown" in source ? source.unknown : undefined;
  const kind: unknown = Array.isArray(type) ? type[0] : undefined;
  return "object" in source || "tuple" in source || kind === "object" || kind === "tuple";
}

/** Whether a part of a type constraint is an object with optional attributes. */
function hasOptional(type: unknown): boolean {
  if (!Array.isArray(type)) return isRecord(type) && Object.values(type).some(hasOptional);
  return (type[0] === "object" && type.length === 3) || type.some(hasOptional);
}

/** Whether a part of the notation satisfies the condition. */
function some(notation: unknown, condition: (part: Record<string, unknown>) => boolean): boolean {
  if (Array.isArray(notation)) return notation.some((part) => some(part, condition));
  if (!isRecord(notation)) return false;
  return condition(notation) || Object.values(notation).some((part) => some(part, condition));
}

/** A set of several elements, one of which is or contains an unknown. */
function hasUncertainSet(notation: Notation): boolean {
  return some(notation, ({ set }) => {
    return Array.isArray(set) && set.length > 1 && some(set, (part) => "unknown" in part);
  });
}

function hasMarkedNull(notation: Notation): boolean {
  return some(notation, ({ marks, v }) => marks !== undefined && isRecord(v) && "null" in v);
}

function withoutMarks(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(normalized(answer)), (_key, part: unknown) =>
    isRecord(part) && "marks" in part ? part.v : part,
  );
}

/** The truth in an answer about equality, below any marks. */
function truthOf({ ok }: Answer): boolean | undefined {
  let part: unknown = isRecord(ok) ? ok.equal : undefined;
  while (isRecord(part) && "marks" in part) part = part.v;
  return isRecord(part) && typeof part.b === "boolean" ? part.b : undefined;
}

function contains(request: Request, member: string): boolean {
  return JSON.stringify(request).includes(`"${member}"`);
}
