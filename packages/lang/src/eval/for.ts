import { convert, Marks, Type, typeName, Value } from "@stackwright/cty";
import type { Expression, For } from "../syntax/ast.ts";
import type { EvaluationContext } from "./context.ts";
import { conversionMessage } from "./conversion-message.ts";
import { iterate } from "./iterate.ts";
import { checkWeight } from "./weight.ts";

type Names = (readonly [name: string, value: Value])[];

/**
 * `[for ...]` and `{for ...}`. The marks of the collection, of the condition and of the keys go to
 * the result: which elements it has reveals them. Where a condition or a key is unknown
 * nothing is known of the result, not even its type; the other elements are still evaluated for
 * their errors.
 */
export function evaluateFor(context: EvaluationContext, node: For): Value {
  const collection = context.value(node.collection);
  const [plain, collectionMarks] = collection.unmark();
  const fail = (detail: string, at: Expression): Value => {
    context.error("LANG_EVAL_FOR", detail, at, at, { context: node });
    return Value.dynamic;
  };
  if (collection.isNull) return fail("A loop cannot go over null.", node.collection);
  if (plain.type.kind === "dynamic") {
    context.withLocals(unknownNames(node), () =>
      context.visit(node.condition, node.key, node.value),
    );
    return Value.dynamic.withMarks(collectionMarks);
  }
  if (!isIterable(plain.type)) {
    return fail(`A loop cannot go over a ${typeName(plain.type)}.`, node.collection);
  }
  const checked = checkCondition(context, node);
  if (checked === undefined) return Value.dynamic;
  if (!plain.isKnown) {
    context.withLocals(unknownNames(node), () => context.visit(node.key, node.value));
    return Value.dynamic.withMarks(collectionMarks.union(checked));
  }

  const loop = new Loop(context, node, collectionMarks, !openElements(plain));
  for (const [key, value] of iterate(plain)) {
    const names: Names = node.keyName === undefined ? [] : [[node.keyName, key]];
    names.push([node.valueName, value]);
    context.withLocals(names, () => loop.step());
  }
  return loop.result();
}

/** The names of a loop without an element. */
function unknownNames({ keyName, valueName }: For): Names {
  const names: Names = keyName === undefined ? [] : [[keyName, Value.dynamic]];
  return [...names, [valueName, Value.dynamic]];
}

/** Whether unknown elements of a set may coincide or come in another order. */
export function openElements(value: Value): boolean {
  return value.type.kind === "set" && !value.isWhollyKnown && value.size > 1;
}

function isIterable(type: Type): boolean {
  return ["list", "set", "map", "tuple", "object"].includes(type.kind);
}

/**
 * Evaluates the condition once with unknown names, so that one that can never work is reported once
 * and not per element. Returns its marks, or undefined where it cannot work.
 */
function checkCondition(context: EvaluationContext, node: For): Marks | undefined {
  const { condition } = node;
  if (condition === undefined) return Marks.none;
  const errors = context.errorCount;
  const value = context.withLocals(unknownNames(node), () => context.value(condition));
  if (context.errorCount > errors) return undefined;
  const [plain, marks] = value.unmark();
  return asCondition(context, plain, condition, node) === undefined ? undefined : marks;
}

/** The condition as a bool, or undefined where it is none; that has been reported. */
function asCondition(
  context: EvaluationContext,
  plain: Value,
  condition: Expression,
  node: For,
): Value | undefined {
  const fail = (detail: string): undefined => {
    context.error("LANG_EVAL_FOR", detail, condition, condition, {
      summary: "Invalid 'for' condition",
      context: node,
    });
  };
  if (plain.isNull) return fail("The condition of a loop must not be null.");
  try {
    return convert(plain, Type.bool);
  } catch (error) {
    return fail(`The condition of a loop must be true or false: ${conversionMessage(error)}.`);
  }
}

/** The state of one loop. Mistakes that every element would repeat are reported for the first only. */
class Loop {
  readonly #context: EvaluationContext;
  readonly #node: For;
  readonly #values: Value[] = [];
  readonly #attributes = new Map<string, Value[]>();
  #marks: Marks;
  #known: boolean;

  constructor(context: EvaluationContext, node: For, marks: Marks, known: boolean) {
    this.#known = known;
    this.#context = context;
    this.#node = node;
    this.#marks = marks;
  }

  step(): void {
    if (!this.#included()) return;
    const { key, value } = this.#node;
    if (key === undefined) {
      this.#values.push(this.#context.value(value));
      return;
    }
    const name = this.#key(key);
    if (name === undefined) {
      this.#known = false;
      this.#context.visit(value);
      return;
    }
    const result = this.#context.value(value);
    const group = this.#attributes.get(name);
    if (group === undefined) {
      this.#attributes.set(name, [result]);
    } else if (this.#node.group) {
      group.push(result);
    } else {
      this.#fail(
        `Two elements give the key "${name}". To collect the values of equal keys write "..." behind the value.`,
        key,
        "Duplicate object key",
      );
    }
  }

  result(): Value {
    if (!this.#known) return Value.dynamic.withMarks(this.#marks);
    if (this.#node.key === undefined) {
      const tuple = Value.tuple(this.#values).withMarks(this.#marks);
      return checkWeight(this.#context, tuple, this.#values);
    }
    const attributes = [...this.#attributes].map(
      ([name, values]) =>
        [name, this.#node.group ? Value.tuple(values) : (values[0] ?? Value.dynamic)] as const,
    );
    const object = Value.object(attributes).withMarks(this.#marks);
    return checkWeight(this.#context, object, [...this.#attributes.values()].flat());
  }

  #fail(detail: string, at: Expression, summary?: string): void {
    if (!this.#known) return;
    this.#context.error("LANG_EVAL_FOR", detail, at, at, {
      context: this.#node,
      ...(summary !== undefined && { summary }),
    });
  }

  #included(): boolean {
    const { condition } = this.#node;
    if (condition === undefined) return true;
    const [plain, marks] = this.#context.value(condition).unmark();
    this.#marks = this.#marks.union(marks);
    const include = this.#known
      ? asCondition(this.#context, plain, condition, this.#node)
      : undefined;
    if (include?.isKnown === true) return include.asBoolean();
    this.#known = false;
    this.#context.visit(this.#node.key, this.#node.value);
    return false;
  }

  #key(key: Expression): string | undefined {
    const given = this.#context.value(key);
    const [plain, marks] = given.unmark();
    this.#marks = this.#marks.union(marks);
    if (plain.isNull) {
      this.#fail("The key of an element must not be null.", key, "Invalid object key");
      return undefined;
    }
    if (!plain.isKnown) return undefined;
    try {
      return convert(plain, Type.string).asString();
    } catch (error) {
      const detail = `The key of an element must be a string: ${conversionMessage(error)}.`;
      this.#fail(detail, key, "Invalid object key");
      return undefined;
    }
  }
}
