import { CtyError, encodeJson, Mark, Type, unmarkDeep, Value } from "@stackwright/cty";
import { evaluate } from "../eval/evaluate.ts";
import { createFunctionTable } from "../eval/function-table.ts";
import type { FunctionHost } from "../eval/host.ts";
import type { EvaluationScope } from "../eval/scope.ts";
import { EMPTY_BUNDLE } from "../function/empty-bundle.ts";
import { STANDARD_FUNCTIONS } from "../function/library.ts";
import type { Expression } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors } from "../syntax/diagnostic.ts";
import { parseExpression } from "../syntax/parse.ts";
import { renderDiagnostic } from "../syntax/render-terminal.ts";
import { typeText } from "./type-text.ts";
import { valueText } from "./value-text.ts";

/** How a console is set up. */
export interface ConsoleOptions {
  /** The names that expressions may use. @default the functions, `path` and `terraform.workspace` */
  readonly scope?: EvaluationScope;
  /** What functions get from outside, where no scope is given. */
  readonly host?: Partial<FunctionHost>;
  /** What is wrong with an expression before it is evaluated. @default nothing */
  readonly check?: (expression: Expression) => readonly Diagnostic[];
}

/** The answer to one expression. */
export interface ConsoleAnswer {
  /** What a terminal shows. */
  readonly text: string;
  /** One line of JSON that says the same; see {@link evaluateLine}. */
  readonly json: string;
  readonly diagnostics: readonly Diagnostic[];
}

/** A scope without any configuration, for trying out expressions. */
export function consoleScope(host: Partial<FunctionHost> = {}): EvaluationScope {
  const functions = createFunctionTable(STANDARD_FUNCTIONS, {
    maxStringLength: 32 * 1024 * 1024,
    files: EMPTY_BUNDLE,
    ...host,
  });
  return {
    functions,
    variable: () => undefined,
    names: () => Object.keys(ATTRIBUTES),
    resolve: ({ root, steps: [first] }) => {
      if (first?.kind !== "attribute-step") return undefined;
      const named = ATTRIBUTES[root]?.[first.name];
      const machine = root === "path" && first.name === "cwd" ? host.files?.machine : undefined;
      const text = machine?.workingDirectory ?? named;
      return text === undefined ? undefined : { value: Value.string(text), steps: 1 };
    },
    explainMissing: ({ root }) => {
      const attributes = ATTRIBUTES[root];
      if (attributes === undefined) return undefined;
      const forms = Object.keys(attributes).map((name) => `${root}.${name}`);
      return `"${root}" is not a value by itself; use ${forms.join(", ")}.`;
    },
  };
}

/** The names that exist without any configuration. */
const ATTRIBUTES: Readonly<Record<string, Readonly<Record<string, string>> | undefined>> = {
  path: { module: ".", root: ".", cwd: "." },
  terraform: { workspace: "default" },
};

/**
 * Evaluates one expression of any content; errors are part of the answer.
 *
 * As text the answer is the value as an expression, or for `type(x)` the type. As JSON it is one
 * object: `{"type", "value"}` with the text of the type and the exact value, and `"sensitive": true`
 * where the value must not be shown; `{"type", "value": null, "console"}` for what JSON cannot hold
 * (unknown, infinite); or `{"error": {"summary", "detail"}}` for the first error.
 */
export function evaluateLine(line: string, options: ConsoleOptions = {}): ConsoleAnswer {
  const scope = options.scope ?? consoleScope(options.host);
  // The line end after a heredoc belongs to it.
  const text = line.includes("\n") ? `${line}\n` : line;
  const parsed = parseExpression({ name: "<console-input>", text });
  if (hasErrors(parsed.diagnostics)) return failure(parsed.diagnostics);
  const wrong = options.check?.(parsed.value) ?? [];
  if (hasErrors(wrong)) return failure(wrong);
  const inside = typeArgument(parsed.value);
  const { value, diagnostics } = evaluate(inside ?? parsed.value, scope);
  if (hasErrors(diagnostics)) return failure(diagnostics);
  if (inside !== undefined) {
    const text = typeText(value.type);
    return { text, json: JSON.stringify({ type: "type", value: text }), diagnostics };
  }
  return { text: valueText(value), json: answerJson(value), diagnostics };
}

/** Answers expressions one by one. Empty ones get no answer. */
export async function* runConsole(
  entries: AsyncIterable<string> | Iterable<string>,
  options: ConsoleOptions = {},
): AsyncGenerator<ConsoleAnswer> {
  const scope = options.scope ?? consoleScope(options.host);
  for await (const entry of entries) {
    if (entry.trim() !== "") yield evaluateLine(entry, { ...options, scope });
  }
}

/** What is inside of `type( )`, where that is the whole expression. */
function typeArgument(expression: Expression): Expression | undefined {
  if (expression.kind !== "call" || expression.name !== "type") return undefined;
  return expression.arguments.length === 1 && !expression.expandFinal
    ? expression.arguments[0]
    : undefined;
}

function failure(diagnostics: readonly Diagnostic[]): ConsoleAnswer {
  const first = diagnostics.find(({ severity }) => severity === "error");
  const error = { summary: first?.summary ?? "", detail: first?.detail ?? "" };
  return {
    text: diagnostics
      .map((diagnostic) => renderDiagnostic(diagnostic))
      .join("")
      .trimEnd(),
    json: JSON.stringify({ error }),
    diagnostics,
  };
}

function answerJson(marked: Value): string {
  const type = JSON.stringify(typeText(marked.type));
  const [value, marks] = unmarkDeep(marked);
  const sensitive = marks.has(Mark.sensitive) ? ', "sensitive": true' : "";
  const json = exactJson(value);
  if (json !== undefined) return `{"type": ${type}, "value": ${json}${sensitive}}`;
  const text = JSON.stringify(valueText(marked));
  return `{"type": ${type}, "value": null, "console": ${text}${sensitive}}`;
}

/** The value as JSON, or undefined where JSON cannot hold it. */
function exactJson(value: Value): string | undefined {
  if (!value.isWhollyKnown) return undefined;
  try {
    return encodeJson(value, value.type.kind === "dynamic" ? Type.dynamic : value.type);
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    return undefined;
  }
}
