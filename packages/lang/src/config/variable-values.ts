import { append } from "@stackwright/base/append";
import { CtyError, Value } from "@stackwright/cty";
import type { Expression } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors } from "../syntax/diagnostic.ts";
import { parseJson } from "../syntax/json-parser.ts";
import type { SyntaxLimits } from "../syntax/limits.ts";
import { parseExpression, parseFile } from "../syntax/parse.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import { didYouMean } from "../syntax/suggestion.ts";
import { jsonRootBody, readAttributes } from "./body-content.ts";
import { completeInput, markInput } from "./input-value.ts";
import type { VariableConfig } from "./module-config.ts";
import { rangeOf, StaticReader } from "./static-reader.ts";

/** Where values of root variables come from. Later sources win over earlier ones. */
export type VariableValueOrigin =
  /** Texts by name, such as those of an environment; names that are not declared are passed over. */
  | { readonly kind: "environment"; readonly values: Readonly<Record<string, string>> }
  /** A file of values, in native syntax or JSON by its name. */
  | { readonly kind: "file"; readonly name: string; readonly text: string | Uint8Array }
  /** Texts given by hand; names that are not declared are mistakes. */
  | { readonly kind: "argument"; readonly name: string; readonly text: string }
  /** Values that exist already, as from an API. */
  | { readonly kind: "value"; readonly name: string; readonly value: Value };

/** Values of the variables of a module and what is wrong with them. */
export interface VariableValues {
  /** One value for every declared variable; unknown of its type where it has none. */
  readonly values: ReadonlyMap<string, Value>;
  /** Where the values that come from files are written. */
  readonly places: ReadonlyMap<string, SourceRange>;
  /** Names of variables that have neither a value nor a default. */
  readonly missing: readonly string[];
  /** Names that a source has a value for, in place of a default. */
  readonly given: ReadonlySet<string>;
  readonly diagnostics: readonly Diagnostic[];
}

type Given =
  | { readonly kind: "text"; readonly text: string; readonly origin: string }
  | { readonly kind: "expression"; readonly expression: Expression }
  | { readonly kind: "value"; readonly value: Value };

/**
 * Works out the values of root variables: the last source that has one, else the default. Values are
 * completed by the defaults of optional attributes, converted to the type, and marked as the
 * variable declares. Conditions of `validation` blocks are for {@link checkCondition}, with a scope.
 */
export function resolveVariables(
  variables: ReadonlyMap<string, VariableConfig>,
  sources: readonly VariableValueOrigin[],
  limits?: SyntaxLimits,
): VariableValues {
  const diagnostics: Diagnostic[] = [];
  const given = new Map<string, Given>();
  for (const source of sources) collect(source, variables, given, diagnostics, limits);
  const reader = new StaticReader(diagnostics);
  const values = new Map<string, Value>();
  for (const [name, variable] of variables) {
    values.set(name, valueOf(reader, variable, given.get(name)));
  }
  const places = new Map(
    [...given].flatMap(([name, one]): [string, SourceRange][] =>
      one.kind === "expression" ? [[name, rangeOf(one.expression)]] : [],
    ),
  );
  const missing = [...variables.values()]
    .filter((variable) => variable.default === undefined && !given.has(variable.name))
    .map(({ name }) => name);
  return { values, places, missing, given: new Set(given.keys()), diagnostics };
}

function collect(
  source: VariableValueOrigin,
  variables: ReadonlyMap<string, VariableConfig>,
  given: Map<string, Given>,
  diagnostics: Diagnostic[],
  limits: SyntaxLimits | undefined,
): void {
  switch (source.kind) {
    case "environment":
      for (const [name, text] of Object.entries(source.values)) {
        if (variables.has(name)) given.set(name, { kind: "text", text, origin: "the environment" });
      }
      return;
    case "argument":
      checkDeclared(source.name, variables, diagnostics, "error");
      given.set(source.name, { kind: "text", text: source.text, origin: "an argument" });
      return;
    case "value":
      checkDeclared(source.name, variables, diagnostics, "error");
      given.set(source.name, { kind: "value", value: source.value });
      return;
    case "file": {
      for (const { name, nameRange, expression } of readFile(source, diagnostics, limits)) {
        checkDeclared(name, variables, diagnostics, "warning", nameRange);
        given.set(name, { kind: "expression", expression });
      }
      return;
    }
    default:
  }
}

function readFile(
  file: { readonly name: string; readonly text: string | Uint8Array },
  diagnostics: Diagnostic[],
  limits: SyntaxLimits | undefined,
) {
  if (file.name.endsWith(".json")) {
    const { root, diagnostics: found } = parseJson(file, limits);
    append(diagnostics, found);
    return readAttributes(jsonRootBody(root, diagnostics), diagnostics, {
      literals: true,
    }).values();
  }
  const { body, diagnostics: found } = parseFile(file, limits);
  append(diagnostics, found);
  return readAttributes(body, diagnostics).values();
}

function checkDeclared(
  name: string,
  variables: ReadonlyMap<string, VariableConfig>,
  diagnostics: Diagnostic[],
  severity: Diagnostic["severity"],
  subject?: SourceRange,
): void {
  if (variables.has(name)) return;
  diagnostics.push({
    severity,
    code: "LANG_CONFIG",
    summary: "Value for undeclared variable",
    detail: `There is no variable "${name}" in the root module.${didYouMean(name, variables.keys())}`,
    ...(subject !== undefined && { subject }),
  });
}

function valueOf(reader: StaticReader, variable: VariableConfig, given: Given | undefined): Value {
  const { constraint, name } = variable;
  const fallback = (): Value => {
    if (variable.default !== undefined) return variable.default;
    const detail = `The variable "${name}" has no default, and no value was given for it.`;
    reader.fail("No value for required variable", detail, variable.range);
    return Value.unknown(constraint.type);
  };
  const raw = given === undefined ? undefined : rawValue(reader, variable, given);
  const usesDefault = raw === undefined || (raw.isNull && !variable.nullable);
  if (given !== undefined && variable.deprecated !== undefined) {
    const place = given.kind === "expression" ? rangeOf(given.expression) : variable.range;
    reader.warn("Deprecated input variable", variable.deprecated, place);
  }
  if (given !== undefined && raw === undefined)
    return markInput(variable, Value.unknown(constraint.type));
  if (usesDefault) return markInput(variable, fallback());
  try {
    return markInput(variable, completeInput(variable, raw));
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    const detail = `The value of the variable "${name}" does not fit its type: ${error.message}.`;
    const place = given?.kind === "expression" ? rangeOf(given.expression) : variable.range;
    reader.fail("Invalid value for input variable", detail, place);
    return markInput(variable, Value.unknown(constraint.type));
  }
}

/** The value before defaults and conversion, or undefined where it has none (reported). */
function rawValue(reader: StaticReader, variable: VariableConfig, given: Given): Value | undefined {
  if (given.kind === "value") return given.value;
  if (given.kind === "expression") return reader.literal(given.expression);
  if (variable.textIsLiteral) return Value.string(given.text);
  const name = `<value of var.${variable.name} from ${given.origin}>`;
  const { value: expression, diagnostics } = parseExpression({ name, text: given.text });
  append(reader.diagnostics, diagnostics);
  return hasErrors(diagnostics) ? undefined : reader.literal(expression);
}
