import { Mark, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { consoleScope } from "../console/console.ts";
import type { EvaluationScope } from "../eval/scope.ts";
import { parseExpression } from "../syntax/parse.ts";
import { checkCondition } from "./condition.ts";

const VALUES: Readonly<Record<string, Value>> = {
  name: Value.string("foo"),
  key: Value.string("hunter2").mark(Mark.sensitive),
};

const scope: EvaluationScope = {
  ...consoleScope(),
  resolve: ({ root, steps: [first] }) => {
    const value =
      root === "var" && first?.kind === "attribute-step" ? VALUES[first.name] : undefined;
    return value === undefined ? undefined : { value, steps: 1 };
  },
};

function check(text: string) {
  const condition = parseExpression({ name: "main.tf", text }).value;
  const errorMessage = parseExpression({ name: "main.tf", text: '"no"' }).value;
  const range = { source: condition.source, start: condition.start, end: condition.end };
  return checkCondition({ condition, errorMessage, range }, scope, "Failed");
}

describe("a condition that does not hold", () => {
  it("is reported with what its references stand for", () => {
    const { status, diagnostics } = check('var.name == "bar"');
    expect(status).toBe("fail");
    expect(diagnostics).toMatchObject([
      { summary: "Failed", values: [{ traversal: "var.name", statement: 'is "foo"' }] },
    ]);
  });

  it("shows no sensitive value", () => {
    const { diagnostics } = check('var.key == "bar"');
    expect(diagnostics).toMatchObject([
      { values: [{ traversal: "var.key", statement: "has a sensitive value" }] },
    ]);
  });

  it("is reported so where it is neither true nor false", () => {
    expect(check("var.name").diagnostics).toMatchObject([
      { summary: "Invalid condition result", values: [{ statement: 'is "foo"' }] },
    ]);
  });
});

describe("the message of a condition that does not hold", () => {
  const withMessage = (message: string) => {
    const condition = parseExpression({ name: "main.tf", text: "false" }).value;
    const errorMessage = parseExpression({ name: "main.tf", text: message }).value;
    const range = { source: condition.source, start: 0, end: 5 };
    return checkCondition({ condition, errorMessage, range }, scope, "Failed").messageProblem;
  };

  it.for([
    ["null", "The message of a condition must not be null."],
    ["[1]", "The message of a condition must be a text: expected string, got tuple."],
    ["7", undefined],
    ["var.key", undefined],
  ] as const)("%s is found to be one or not", ([message, problem]) => {
    expect(withMessage(message)).toBe(problem);
  });
});
