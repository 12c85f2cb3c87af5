import { join } from "node:path";
import { Mark, Type, unmarkDeep, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { consoleScope } from "../console/console.ts";
import type { Expression } from "../syntax/ast.ts";
import { hasErrors } from "../syntax/diagnostic.ts";
import { parseExpression } from "../syntax/parse.ts";
import { expressionCalls } from "../syntax/references.ts";
import { abstractLiterals } from "../testing/abstract-literals.ts";
import { readCorpus } from "../testing/corpus.ts";
import { whyNotConvertible, whyNotRefined } from "../testing/refines.ts";
import { evaluate } from "./evaluate.ts";
import type { EvaluationScope } from "./scope.ts";

/*
 * The expressions are those of the corpus: every function and operator of the language with values
 * that make sense for it. Their literals become names, and the names get other values.
 */

const base = consoleScope();
const file = join(import.meta.dirname, "../../fixtures/reference-corpus.jsonl");

function withNames(values: ReadonlyMap<string, Value>): EvaluationScope {
  return {
    functions: base.functions,
    names: () => values.keys(),
    variable: (name) => values.get(name),
    resolve: (reference) => base.resolve?.(reference),
  };
}

const cases = readCorpus(file)
  .filter(({ error }) => !error)
  .map(({ id, expr }) => ({
    id,
    expr,
    ...abstractLiterals(parseExpression({ name: "t", text: expr }).value),
  }));

/** The known values with some of them replaced, for each name alone and for all together. */
function* replaced(
  values: ReadonlyMap<string, Value>,
  replace: (value: Value) => Value,
): Generator<[string, ReadonlyMap<string, Value>]> {
  for (const [name, value] of values) yield [name, new Map(values).set(name, replace(value))];
  yield ["all", new Map([...values].map(([name, value]) => [name, replace(value)]))];
}

describe("unknown inputs", () => {
  const kinds: [string, (value: Value) => Value, typeof whyNotRefined][] = [
    ["unknown values of the same type", (value) => Value.unknown(value.type), whyNotRefined],
    ["unknown values of unknown type", () => Value.dynamic, whyNotConvertible],
  ];

  it.each(kinds)("give a result that the known one refines: %s", (_, replace, whyNot) => {
    const wrong: string[] = [];
    for (const { expr, expression, values } of cases) {
      const known = evaluate(expression, withNames(values));
      if (hasErrors(known.diagnostics)) continue;
      for (const [name, names] of replaced(values, replace)) {
        const { value, diagnostics } = evaluate(expression, withNames(names));
        const problem = hasErrors(diagnostics)
          ? `fails: ${diagnostics[0]?.detail}`
          : whyNot(value, known.value);
        if (problem !== undefined) wrong.push(`${expr} with ${name}: ${problem}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

describe("marks", () => {
  /** Functions that take marks off, or whose arguments may fail and then have no value. */
  const EXEMPT = new Set(["nonsensitive", "issensitive", "can", "try"]);
  /** Loops that use keys only, or are never entered: no marked value takes part in the result. */
  const UNUSED = /%\{ for (?:k, v in .*\$\{k\}|x in \[\])/;

  const isExempt = (expr: string, expression: Expression): boolean =>
    UNUSED.test(expr) || expressionCalls(expression).some(({ name }) => EXEMPT.has(name));

  it("of any input are on the result", () => {
    const wrong: string[] = [];
    for (const { expr, expression, values } of cases) {
      if (isExempt(expr, expression)) continue;
      const plain = evaluate(expression, withNames(values));
      if (hasErrors(plain.diagnostics)) continue;
      const marked = new Map(
        [...values].map(([name, value]) => [name, value.mark(Mark.sensitive)]),
      );
      const { value, diagnostics } = evaluate(expression, withNames(marked));
      if (marked.size === 0 || hasErrors(diagnostics)) continue;
      const [stripped, marks] = unmarkDeep(value);
      if (!marks.has(Mark.sensitive)) wrong.push(`${expr}: the mark is lost`);
      if (!stripped.rawEquals(unmarkDeep(plain.value)[0])) wrong.push(`${expr}: the value differs`);
    }
    expect(wrong).toEqual([]);
  });

  it("of unknown inputs are on the result", () => {
    const wrong: string[] = [];
    for (const { expr, expression, values } of cases) {
      if (isExempt(expr, expression)) continue;
      const marked = new Map(
        [...values].map(([name, value]) => [name, Value.unknown(value.type).mark(Mark.sensitive)]),
      );
      const { value, diagnostics } = evaluate(expression, withNames(marked));
      if (marked.size === 0 || hasErrors(diagnostics)) continue;
      if (!unmarkDeep(value)[1].has(Mark.sensitive)) wrong.push(`${expr}: the mark is lost`);
    }
    expect(wrong).toEqual([]);
  });
});

it("knows the values that it abstracted", () => {
  const { expression, values } = abstractLiterals(
    parseExpression({ name: "t", text: '[1, "a"][0]' }).value,
  );
  expect(evaluate(expression, withNames(values)).value.equals(Value.number(1))).toBe(true);
  expect([...values.values()].map(({ type }) => type)).toEqual([Type.number, Type.string]);
});
