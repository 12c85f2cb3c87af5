import { append } from "@stackwright/base/append";
import type { Value } from "@stackwright/cty";
import type { Expression, ScopeTraversal, SplatItem } from "../syntax/ast.ts";
import {
  type Diagnostic,
  type FunctionCallFrame,
  type ObservedValue,
  sourceRange,
} from "../syntax/diagnostic.ts";
import { expressionReferences } from "../syntax/references.ts";
import { describeValue } from "./describe.ts";
import { EVAL_PROBLEMS, type EvalProblemCode } from "./eval-problem.ts";
import type { EvaluationScope } from "./scope.ts";

/** Names of loops, innermost first. */
interface Locals {
  readonly name: string;
  readonly value: Value;
  readonly outer: Locals | undefined;
}

/** Bounds on one evaluation. */
export interface EvaluationLimits {
  /** Most nodes that are evaluated, each one as often as it is. @default 20,000,000 */
  readonly maxSteps?: number;
  /** Longest string that may come out of a template or function, in UTF-16 units. @default 32 Mi */
  readonly maxStringLength?: number;
  /** Most problems that are reported for one expression. @default 200 */
  readonly maxErrors?: number;
  /** Most parts of one value, shared parts counted as often as they occur. @default 10,000,000 */
  readonly maxValueParts?: number;
}

/** Thrown inside of an evaluation that has become too expensive; it never leaves `evaluate`. */
export class LimitReached extends Error {}

/** What to report besides code, detail and place. */
interface EvalProblemExtra {
  readonly summary?: string;
  readonly context?: Expression;
  readonly call?: FunctionCallFrame;
}

/**
 * One evaluation while it runs. Evaluating never stops at a mistake: it is reported, the value in
 * question is unknown, and the rest is evaluated for its own mistakes.
 */
export class EvaluationContext {
  readonly scope: EvaluationScope;
  readonly limits: Required<EvaluationLimits>;
  diagnostics: Diagnostic[] = [];
  locals: Locals | undefined;
  readonly #evaluate: (context: EvaluationContext, expression: Expression) => Value;
  readonly #items = new Map<SplatItem, Value>();
  #errors = 0;
  #steps = 0;
  #observing = false;

  constructor(
    scope: EvaluationScope,
    limits: EvaluationLimits,
    evaluate: (context: EvaluationContext, expression: Expression) => Value,
  ) {
    this.scope = scope;
    this.limits = {
      maxSteps: 20_000_000,
      maxStringLength: 32 * 1024 * 1024,
      maxErrors: 200,
      maxValueParts: 10_000_000,
      ...limits,
    };
    this.#evaluate = evaluate;
  }

  value(expression: Expression): Value {
    if (++this.#steps > this.limits.maxSteps) throw this.limit("It takes too many steps.");
    return this.#evaluate(this, expression);
  }

  /** The error for a limit; to be thrown. */
  limit(detail: string): LimitReached {
    return new LimitReached(detail);
  }

  /** Ends the evaluation where a string has become too long. */
  checkSize(value: Value): void {
    const [plain] = value.unmark();
    if (plain.type.kind !== "string" || !plain.isKnown || plain.isNull) return;
    const { maxStringLength } = this.limits;
    if (plain.asString().length <= maxStringLength) return;
    throw this.limit(`A string would be longer than ${maxStringLength} characters.`);
  }

  /** Evaluates, keeping the problems apart: they are returned, not reported. */
  separately(expression: Expression): {
    value: Value;
    diagnostics: readonly Diagnostic[];
    failed: boolean;
  } {
    const outer = this.diagnostics;
    const errors = this.#errors;
    this.diagnostics = [];
    const value = this.value(expression);
    const diagnostics = this.diagnostics;
    const failed = this.#errors > errors;
    this.diagnostics = outer;
    this.#errors = errors;
    return { value, diagnostics, failed };
  }

  /**
   * Evaluates what is not chosen yet for what it refers to alone: a value that becomes known later may choose it, and a scope that
   * records what an evaluation needs has to have seen it by then.
   */
  visit(...expressions: readonly (Expression | undefined)[]): void {
    for (const one of expressions) if (one !== undefined) this.separately(one);
  }

  /** Adds problems that were kept apart. */
  add(diagnostics: readonly Diagnostic[]): void {
    append(this.diagnostics, diagnostics);
    this.#errors += diagnostics.filter(({ severity }) => severity === "error").length;
  }

  /** Number of errors so far, for finding out whether something failed. */
  get errorCount(): number {
    return this.#errors;
  }

  /** Reports an error at an expression, with the values that the references in it have. */
  error(
    code: EvalProblemCode,
    detail: string,
    at: { readonly start: number; readonly end: number } & Pick<Expression, "source">,
    subject: Expression | undefined,
    extra: EvalProblemExtra = {},
  ): void {
    this.#errors++;
    if (this.#observing) return;
    const { summary = EVAL_PROBLEMS[code], context, call } = extra;
    const values = subject === undefined ? [] : this.#observe(subject);
    this.diagnostics.push({
      severity: "error",
      code,
      summary,
      detail,
      subject: sourceRange(at.source, at.start, at.end),
      ...(context !== undefined && {
        context: sourceRange(context.source, context.start, context.end),
      }),
      ...(values.length > 0 && { values }),
      ...(call !== undefined && { call }),
    });
  }

  /** Reports a warning at an expression. */
  warn(
    code: EvalProblemCode,
    summary: string,
    detail: string,
    at: { readonly start: number; readonly end: number } & Pick<Expression, "source">,
  ): void {
    if (this.#observing) return;
    const subject = sourceRange(at.source, at.start, at.end);
    this.diagnostics.push({ severity: "warning", code, summary, detail, subject });
  }

  #observe(expression: Expression): ObservedValue[] {
    const seen = new Set<string>();
    const values: ObservedValue[] = [];
    for (const reference of expressionReferences(expression)) {
      const traversal = reference.source.text.slice(reference.start, reference.end);
      if (seen.has(traversal)) continue;
      seen.add(traversal);
      const value = this.#quietly(reference);
      if (value !== undefined) values.push({ traversal, statement: describeValue(value) });
    }
    return values;
  }

  /** The value of a reference for a message; undefined where it has none. */
  #quietly(reference: ScopeTraversal): Value | undefined {
    this.#observing = true;
    const errors = this.#errors;
    const value = this.value(reference);
    const failed = this.#errors > errors;
    this.#errors = errors;
    this.#observing = false;
    return failed ? undefined : value;
  }

  /** Evaluates with more local names. */
  withLocals<T>(names: readonly (readonly [name: string, value: Value])[], run: () => T): T {
    const outer = this.locals;
    for (const [name, value] of names) this.locals = { name, value, outer: this.locals };
    const result = run();
    this.locals = outer;
    return result;
  }

  /** The value of a local name. */
  local(name: string): Value | undefined {
    for (let local = this.locals; local !== undefined; local = local.outer) {
      if (local.name === name) return local.value;
    }
    return undefined;
  }

  /** Evaluates with a value for the element of a splat. */
  withItem<T>(item: SplatItem, value: Value, run: () => T): T {
    const outer = this.#items.get(item);
    this.#items.set(item, value);
    const result = run();
    if (outer === undefined) this.#items.delete(item);
    else this.#items.set(item, outer);
    return result;
  }

  item(item: SplatItem): Value | undefined {
    return this.#items.get(item);
  }
}
