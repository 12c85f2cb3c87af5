import { append } from "@stackwright/base/append";
import { CtyError, convert, Type, Value } from "@stackwright/cty";
import { ProviderSourceError, VersionConstraints } from "@stackwright/provider-source";
import { type Evaluated, evaluate } from "../eval/evaluate.ts";
import { createFunctionTable } from "../eval/function-table.ts";
import { createScope } from "../eval/scope.ts";
import type { Expression, ScopeTraversal } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors, sourceRange } from "../syntax/diagnostic.ts";
import { parseTraversal } from "../syntax/parse.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import { nativeForm, staticKeyword, staticList, staticTraversal } from "../syntax/static.ts";
import type { ContentAttribute } from "./body-content.ts";
import type { ProviderConfigReference } from "./module-config.ts";

const NO_NAMES = createScope({
  functions: createFunctionTable([], { maxStringLength: 1 << 20 }),
});

/** Reads arguments whose values must be known without evaluating the configuration. */
export class StaticReader {
  readonly diagnostics: Diagnostic[];
  readonly #evaluate: ((expression: Expression) => Evaluated) | undefined;

  /** @param evaluate what is done with an expression. @default it has no names and functions */
  constructor(diagnostics: Diagnostic[], evaluateIt?: (expression: Expression) => Evaluated) {
    this.diagnostics = diagnostics;
    this.#evaluate = evaluateIt;
  }

  fail(summary: string, detail: string, subject: SourceRange): void {
    this.diagnostics.push({ severity: "error", code: "LANG_CONFIG", summary, detail, subject });
  }

  warn(summary: string, detail: string, subject: SourceRange): void {
    this.diagnostics.push({ severity: "warning", code: "LANG_CONFIG", summary, detail, subject });
  }

  /** A value without references and functions. Strings of JSON files are taken as they are. */
  literal(expression: Expression): Value | undefined {
    switch (expression.kind) {
      case "json-string":
        if (this.#evaluate === undefined) return Value.string(expression.text.text);
        break;
      case "tuple": {
        const values = expression.elements.map((element) => this.literal(element));
        return values.includes(undefined)
          ? undefined
          : Value.tuple(values.filter((value) => value !== undefined));
      }
      case "binary":
      case "boolean":
      case "call":
      case "conditional":
      case "for":
      case "index":
      case "invalid":
      case "null":
      case "number":
      case "object":
      case "parentheses":
      case "relative-traversal":
      case "scope-traversal":
      case "splat":
      case "splat-item":
      case "string":
      case "template":
      case "template-join":
      case "template-wrap":
      case "unary":
      default:
    }
    if (expression.kind === "object" && expression.source.name.endsWith(".json")) {
      const entries = expression.items.map(({ key, value }) => {
        const name = key.expression.kind === "json-string" ? key.expression.text.text : "";
        return [name, this.literal(value)] as const;
      });
      if (entries.some(([, value]) => value === undefined)) return undefined;
      return Value.object(entries.map(([name, value]) => [name, value ?? Value.dynamic] as const));
    }
    const { value, diagnostics } = this.#evaluate?.(expression) ?? evaluate(expression, NO_NAMES);
    append(this.diagnostics, diagnostics);
    return hasErrors(diagnostics) ? undefined : value;
  }

  /** An argument that must be a constant of a primitive type. */
  #constant(attribute: ContentAttribute | undefined, type: Type): Value | undefined {
    if (attribute === undefined) return undefined;
    const before = this.diagnostics.length;
    const value = this.literal(attribute.expression);
    if (value === undefined) {
      if (this.#evaluate === undefined) {
        append(this.diagnostics, this.diagnostics.splice(before).map(withoutEarlyValues));
      }
      return undefined;
    }
    try {
      const converted = convert(value, type);
      if (converted.isKnown && !converted.isNull) return converted;
    } catch (error) {
      if (!(error instanceof CtyError)) throw error;
    }
    const detail = `The argument "${attribute.name}" must be a constant of type ${type.kind}.`;
    this.fail("Unsuitable value type", detail, rangeOf(attribute.expression));
    return undefined;
  }

  text(attribute: ContentAttribute | undefined): string | undefined {
    return this.#constant(attribute, Type.string)?.asString();
  }

  flag(attribute: ContentAttribute | undefined): boolean | undefined {
    return this.#constant(attribute, Type.bool)?.asBoolean();
  }

  versions(attribute: ContentAttribute | undefined): VersionConstraints | undefined {
    const written = this.text(attribute);
    if (attribute === undefined || written === undefined) return undefined;
    try {
      return VersionConstraints.parse(written);
    } catch (error) {
      if (!(error instanceof ProviderSourceError)) throw error;
      const detail = `The version constraint "${written}" is not correct: ${error.message}.`;
      this.fail("Invalid version constraint", detail, rangeOf(attribute.expression));
      return undefined;
    }
  }

  /** A reference; in quotes too, as it once was written. */
  reference(expression: Expression): ScopeTraversal | undefined {
    if (expression.kind === "string") {
      const quoted = parseTraversal({ name: expression.source.name, text: expression.value });
      if (quoted.value !== undefined) {
        const detail = "References are written without quotes.";
        this.warn("Quoted references are deprecated", detail, rangeOf(expression));
        const { source, start, end } = expression;
        return { ...quoted.value, source, start, end, rootEnd: end };
      }
    }
    const { value, diagnostics } = staticTraversal(expression);
    append(this.diagnostics, diagnostics ?? []);
    return value;
  }

  /** A list of references in brackets. */
  references(attribute: ContentAttribute | undefined): ScopeTraversal[] {
    if (attribute === undefined) return [];
    const { value, diagnostics } = staticList(attribute.expression);
    append(this.diagnostics, diagnostics ?? []);
    return (value ?? []).flatMap((element) => this.reference(element) ?? []);
  }

  /** `name`, `name.alias` or `name.alias[key]`. */
  provider(expression: Expression): ProviderConfigReference | undefined {
    const written = expression.kind === "json-string" ? jsonReference(expression) : expression;
    const computed = written.kind === "index" ? written : undefined;
    const reference = this.reference(computed?.collection ?? written);
    if (reference === undefined) return undefined;
    const [step, last, more] = reference.steps;
    const range = rangeOf(expression);
    const name = reference.root;
    if (more === undefined && (step === undefined || step.kind === "attribute-step")) {
      const alias = step?.name;
      const key = computed?.key ?? (last?.kind === "index-step" ? last.key : undefined);
      const extra = last !== undefined && (last.kind !== "index-step" || computed !== undefined);
      if (!extra && (key === undefined || alias !== undefined))
        return { name, alias, range, ...(key !== undefined && { key }) };
    }
    const detail =
      "A provider configuration is named by its local name, or local name and alias: aws.west. One with for_each has a key behind the alias: aws.by_region[each.key].";
    this.fail("Invalid provider reference", detail, range);
    return undefined;
  }

  /** Whether an argument is a certain word. */
  isWord(attribute: ContentAttribute, word: string): boolean {
    return staticKeyword(attribute.expression) === word;
  }
}

/** A reference to a provider in a string of a JSON file, which may have a key that is an expression. */
function jsonReference(expression: Expression): Expression {
  const { value, diagnostics = [] } = nativeForm(expression);
  return value?.kind === "index" && !hasErrors(diagnostics) ? value : expression;
}

/** Where nothing has a value yet, a name is not one that is missing, but one that cannot be used. */
export function withoutEarlyValues(diagnostic: Diagnostic): Diagnostic {
  if (diagnostic.code !== "LANG_EVAL_REFERENCE") return diagnostic;
  return {
    ...diagnostic,
    summary: "Variables not allowed",
    detail:
      "This value is read before anything of the configuration is evaluated, so it has to be written out.",
  };
}

export function rangeOf({
  source,
  start,
  end,
}: Pick<Expression, "source" | "start" | "end">): SourceRange {
  return sourceRange(source, start, end);
}
