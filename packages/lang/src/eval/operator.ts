import {
  add,
  CtyError,
  convert,
  divide,
  equal,
  greaterThan,
  greaterThanOrEqual,
  lessThan,
  lessThanOrEqual,
  modulo,
  multiply,
  negate,
  not,
  notEqual,
  refineNotNull,
  subtract,
  Type,
  Value,
} from "@stackwright/cty";
import type { Binary, BinaryOperator, Expression, Unary } from "../syntax/ast.ts";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import type { EvaluationContext } from "./context.ts";
import { conversionMessage } from "./conversion-message.ts";

interface Operation {
  readonly operand: Type;
  readonly result: Type;
  readonly allowNull?: boolean;
  readonly run: (left: Value, right: Value) => Value;
}

const arithmetic = (run: Operation["run"]): Operation => ({
  operand: Type.number,
  result: Type.number,
  run,
});
const comparison = (run: Operation["run"]): Operation => ({
  operand: Type.number,
  result: Type.bool,
  run,
});
const equality = (run: Operation["run"]): Operation => ({
  operand: Type.dynamic,
  result: Type.bool,
  allowNull: true,
  run,
});

const OPERATIONS: Readonly<Record<Exclude<BinaryOperator, "&&" | "||">, Operation>> = {
  "+": arithmetic(add),
  "-": arithmetic(subtract),
  "*": arithmetic(multiply),
  "/": arithmetic(divide),
  "%": arithmetic(modulo),
  "<": comparison(lessThan),
  "<=": comparison(lessThanOrEqual),
  ">": comparison(greaterThan),
  ">=": comparison(greaterThanOrEqual),
  "==": equality(equal),
  "!=": equality(notEqual),
};

const UNKNOWN_BOOL = refineNotNull(Value.unknown(Type.bool));

export function evaluateBinary(context: EvaluationContext, node: Binary): Value {
  const { operator } = node;
  if (operator === "&&" || operator === "||") return evaluateLogical(context, node, operator);
  const operation = OPERATIONS[operator];
  const errors = context.errorCount;
  const left = asOperand(context, context.value(node.left), operation.operand, node.left, node);
  const right = asOperand(context, context.value(node.right), operation.operand, node.right, node);
  const failed = Value.unknown(operation.result);
  if (context.errorCount > errors) return failed;
  if (operation.allowNull !== true) {
    for (const [value, side] of [
      [left, node.left],
      [right, node.right],
    ] as const) {
      if (value.isNull) return nullOperand(context, side, node, operation.result);
    }
  }
  try {
    return operation.run(left, right);
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    context.error("LANG_EVAL_OPERATION", `The operation failed: ${error.message}.`, node, node);
    return failed;
  }
}

export function evaluateUnary(context: EvaluationContext, node: Unary): Value {
  const type = node.operator === "!" ? Type.bool : Type.number;
  const errors = context.errorCount;
  const operand = asOperand(context, context.value(node.operand), type, node.operand, node);
  if (context.errorCount > errors) return Value.unknown(type);
  if (operand.isNull) return nullOperand(context, node.operand, node, type);
  return node.operator === "!" ? not(operand) : negate(operand);
}

function nullOperand(
  context: EvaluationContext,
  side: Expression,
  node: Expression,
  result: Type,
): Value {
  context.error("LANG_EVAL_OPERATION", "An operand must not be null.", side, side, {
    context: node,
  });
  return Value.unknown(result);
}

/** The operand as the type that the operator wants; reported and unknown where it does not fit. */
function asOperand(
  context: EvaluationContext,
  value: Value,
  type: Type,
  side: Expression,
  node: Expression,
): Value {
  if (type.kind === "dynamic") return value;
  try {
    return convert(value, type);
  } catch (error) {
    const detail = `This is not a suitable operand: ${conversionMessage(error)}.`;
    context.error("LANG_EVAL_OPERAND", detail, side, side, { context: node });
    return Value.unknown(type);
  }
}

interface Side {
  readonly value: Value;
  readonly diagnostics: readonly Diagnostic[];
  readonly failed: boolean;
}

/**
 * `&&` and `||`. Both sides are always evaluated, but a side that decides the result alone (false
 * for `&&`, true for `||`) does so wherever it stands, and the problems of the other side are then
 * dropped: the other side does not matter. The marks of both go to the result in any case.
 */
function evaluateLogical(context: EvaluationContext, node: Binary, operator: "&&" | "||"): Value {
  const before = context.errorCount;
  const leftGiven = context.separately(node.left);
  const rightGiven = context.separately(node.right);
  const left = asOperand(context, leftGiven.value, Type.bool, node.left, node);
  const right = asOperand(context, rightGiven.value, Type.bool, node.right, node);
  const report = (...sides: Side[]): void => {
    for (const { diagnostics } of sides) context.add(diagnostics);
  };
  if (context.errorCount > before) {
    report(leftGiven, rightGiven);
    return Value.unknown(Type.bool);
  }
  const [a, leftMarks] = left.unmark();
  const [b, rightMarks] = right.unmark();
  const marks = leftMarks.union(rightMarks);
  const decisive = operator === "||";
  const decides = (value: Value): boolean =>
    value.isKnown && !value.isNull && value.asBoolean() === decisive;
  const neutral = (value: Value): boolean =>
    value.isKnown && !value.isNull && value.asBoolean() !== decisive;

  if (decides(a)) {
    report(leftGiven);
    return Value.bool(decisive).withMarks(marks);
  }
  if (decides(b)) {
    report(rightGiven);
    return Value.bool(decisive).withMarks(marks);
  }
  if (!a.isKnown && !b.isKnown && !leftGiven.failed) {
    report(leftGiven);
    return UNKNOWN_BOOL.withMarks(marks);
  }
  if (!a.isKnown && neutral(b)) {
    report(leftGiven);
    return UNKNOWN_BOOL.withMarks(marks);
  }
  if (!b.isKnown && neutral(a)) {
    report(rightGiven);
    return UNKNOWN_BOOL.withMarks(marks);
  }
  report(leftGiven, rightGiven);
  if (leftGiven.failed || rightGiven.failed) return Value.unknown(Type.bool).withMarks(marks);
  if (a.isNull) return nullOperand(context, node.left, node, Type.bool);
  if (b.isNull) return nullOperand(context, node.right, node, Type.bool);
  if (!a.isKnown || !b.isKnown) return UNKNOWN_BOOL.withMarks(marks);
  return Value.bool(!decisive).withMarks(marks);
}
