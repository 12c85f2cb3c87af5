import { convert, Type, Value } from "@stackwright/cty";
import { functionFailure } from "../eval/call-function.ts";
import type { EvaluationContext } from "../eval/context.ts";
import { conversionMessage } from "../eval/conversion-message.ts";
import { evaluate } from "../eval/evaluate.ts";
import { functionCallFrame, type LangFunction } from "../eval/function.ts";
import type { FunctionTable } from "../eval/function-table.ts";
import type { EvaluationScope } from "../eval/scope.ts";
import type { Expression, FunctionCall } from "../syntax/ast.ts";
import { isIdentifier } from "../syntax/identifier.ts";
import { parseTemplate } from "../syntax/parse.ts";
import { expressionReferences } from "../syntax/references.ts";
import { readText } from "./filesystem.ts";
import { anyParam, textParam } from "./parameter.ts";

/** Deepest nesting of templates that render templates. */
const MAX_DEPTH = 64;

/** How deep in templates a function table belongs. */
const depths = new WeakMap<FunctionTable, number>();

const vars = anyParam("vars", "a map or object of the names in the template");

interface Rendering {
  readonly name: string;
  readonly template: string;
  readonly context: EvaluationContext;
  readonly call: FunctionCall;
}

/** Renders a template with the names of an object, and with nothing else in scope. */
function render(
  { name, template, context, call }: Rendering,
  given: Value,
  varsNode: Expression,
): Value {
  const fail = (detail: string, at: Expression = varsNode): Value => {
    context.error("LANG_EVAL_ARGUMENT", detail, at, at, { context: call });
    return Value.dynamic;
  };
  const [values, marks] = given.unmark();
  if (values.isNull)
    return fail('Invalid value for the parameter "vars": argument must not be null.');
  const mapping = values.type.kind === "object" || values.type.kind === "map";
  if (!mapping && values.type.kind !== "dynamic") {
    return fail('Invalid value for the parameter "vars": must be a map or object.');
  }
  if (!values.isKnown) return Value.dynamic.withMarks(marks);
  const variables = new Map(values.entries());
  for (const variable of variables.keys()) {
    if (!isIdentifier(variable)) {
      return fail(
        `The name ${JSON.stringify(variable)} cannot be used in a template: names are letters, digits and underscores.`,
      );
    }
  }
  const { value: expression, diagnostics } = parseTemplate({ name, text: template });
  if (diagnostics.length > 0) {
    context.add(diagnostics);
    return Value.dynamic;
  }
  for (const { root } of expressionReferences(expression)) {
    if (!variables.has(root)) {
      return fail(`The template uses the name "${root}", which is not among the given ones.`);
    }
  }
  const { functions } = context.scope;
  const depth = (depths.get(functions) ?? 0) + 1;
  if (depth > MAX_DEPTH) return fail("Templates render each other too deeply.", call);
  const inner: FunctionTable = { ...functions, get: (wanted) => functions.get(wanted) };
  depths.set(inner, depth);
  const scope: EvaluationScope = {
    functions: inner,
    variable: (wanted) => variables.get(wanted),
    names: () => variables.keys(),
  };
  const result = evaluate(expression, scope, context.limits);
  context.add(result.diagnostics);
  return result.value.withMarks(marks);
}

/** The text of an argument, or undefined where it is none (reported) or unknown. */
function textArgument(
  context: EvaluationContext,
  call: FunctionCall,
): { value: Value; text?: string } {
  const [node] = call.arguments;
  if (node === undefined) return { value: Value.dynamic };
  const errors = context.errorCount;
  const given = context.value(node);
  if (context.errorCount > errors) return { value: Value.dynamic };
  const fail = (detail: string): { value: Value } => {
    context.error("LANG_EVAL_ARGUMENT", detail, node, node, { context: call });
    return { value: Value.dynamic };
  };
  try {
    const value = convert(given, Type.string);
    const [plain] = value.unmark();
    if (plain.isNull) return fail("The argument must not be null.");
    return plain.isKnown ? { value, text: plain.asString() } : { value };
  } catch (error) {
    return fail(`A string is required: ${conversionMessage(error)}.`);
  }
}

function evaluateTemplateString(call: FunctionCall, context: EvaluationContext): Value {
  const [node, varsNode] = call.arguments;
  if (node === undefined || varsNode === undefined) return Value.dynamic;
  const named = ["scope-traversal", "relative-traversal", "index", "json-string"].includes(
    node.kind,
  );
  if (!named) {
    context.error(
      "LANG_EVAL_ARGUMENT",
      "The template must be a reference to a string defined elsewhere. A literal template can be written in place of the whole call.",
      node,
      node,
      { context: call },
    );
    return Value.dynamic;
  }
  const { value, text } = textArgument(context, call);
  const given = context.value(varsNode);
  if (text === undefined) return Value.dynamic.withMarksOf(value, given);
  const rendering = { name: "<templatestring argument>", template: text, context, call };
  const result = render(rendering, given, varsNode).withMarksOf(value);
  try {
    const rendered = convert(result, Type.string);
    if (!rendered.isNull) return rendered;
    context.error("LANG_EVAL_CALL", "The template gives null and not a string.", call, call);
  } catch (error) {
    const detail = `The template does not give a string: ${conversionMessage(error)}.`;
    context.error("LANG_EVAL_CALL", detail, call, call);
  }
  return Value.unknown(Type.string);
}

function evaluateTemplateFile(call: FunctionCall, context: EvaluationContext): Value {
  const [node, varsNode] = call.arguments;
  if (node === undefined || varsNode === undefined) return Value.dynamic;
  const { value, text: path } = textArgument(context, call);
  const given = context.value(varsNode);
  if (path === undefined) return Value.dynamic.withMarksOf(value, given);
  let template: string;
  try {
    template = readText(context.scope.functions.host, path);
  } catch (error) {
    const { message } = functionFailure(error);
    context.error(
      "LANG_EVAL_ARGUMENT",
      `Invalid value for the parameter "path": ${message}.`,
      node,
      node,
      {
        context: call,
        call: functionCallFrame(TEMPLATE_FILE, call.name),
      },
    );
    return Value.dynamic;
  }
  return render({ name: path, template, context, call }, given, varsNode).withMarksOf(value);
}

const TEMPLATE_FILE: LangFunction = {
  name: "templatefile",
  category: "filesystem",
  description: "The text of a template file, rendered with the given names.",
  parameters: [textParam("path", "the path of the template file"), vars],
  evaluate: evaluateTemplateFile,
};

export const TEMPLATE_FUNCTIONS: readonly LangFunction[] = [
  TEMPLATE_FILE,
  {
    name: "templatestring",
    category: "string",
    description: "The text of a template that is held in a value, rendered with the given names.",
    parameters: [textParam("template", "a reference to the template"), vars],
    evaluate: evaluateTemplateString,
  },
];
