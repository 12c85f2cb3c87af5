import { append } from "@stackwright/base/append";
import { CtyError, convert, Type, type Value } from "@stackwright/cty";
import { EVAL_PROBLEMS } from "../eval/eval-problem.ts";
import { evaluate } from "../eval/evaluate.ts";
import { createFunctionTable } from "../eval/function-table.ts";
import { createScope } from "../eval/scope.ts";
import type { Expression, FunctionCall, ObjectItem } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors, sourceRange } from "../syntax/diagnostic.ts";
import { staticCall, staticKeyword, staticList, staticMap } from "../syntax/static.ts";
import { didYouMean } from "../syntax/suggestion.ts";
import type { TypeDefaults } from "./type-defaults.ts";

/** A type constraint as it was written. */
export interface TypeConstraint {
  /** `any` is `dynamic`; optional attributes are marked in the object types. */
  readonly type: Type;
  readonly defaults: TypeDefaults | undefined;
}

/** A constraint and what is wrong with it. With errors the parts in question are `any`. */
export interface ParsedTypeConstraint extends TypeConstraint {
  readonly diagnostics: readonly Diagnostic[];
}

const KEYWORDS = [
  "string",
  "number",
  "bool",
  "any",
  "list",
  "set",
  "map",
  "object",
  "tuple",
] as const;

/**
 * Reads a type constraint from an expression, without evaluating anything but the defaults of
 * optional attributes, which must be constant: `string`, `list(any)`,
 * `object({ a = number, b = optional(string, "x") })`. `list`, `set` and `map` by themselves mean
 * elements of `any` type.
 */
export function parseTypeConstraint(expression: Expression): ParsedTypeConstraint {
  const reader = new ConstraintReader();
  const constraint = reader.read(expression);
  return { ...constraint, diagnostics: reader.diagnostics };
}

const NO_FUNCTIONS = createScope({
  functions: createFunctionTable([], { maxStringLength: 1 << 20 }),
});

class ConstraintReader {
  readonly diagnostics: Diagnostic[] = [];

  read(expression: Expression): TypeConstraint {
    const word = staticKeyword(expression);
    if (word !== undefined) return this.#keyword(word, expression);
    const { value: call } = staticCall(expression);
    if (call === undefined) {
      return this.#fail(
        "A type is one of the words string, number, bool and any, or a constructor such as list(string).",
        expression,
      );
    }
    return this.#construct(call, expression);
  }

  #fail(detail: string, at: Expression): TypeConstraint {
    this.diagnostics.push({
      severity: "error",
      code: "LANG_TYPE",
      summary: EVAL_PROBLEMS.LANG_TYPE,
      detail,
      subject: sourceRange(at.source, at.start, at.end),
    });
    return ANY;
  }

  #keyword(word: string, at: Expression): TypeConstraint {
    switch (word) {
      case "string":
        return plain(Type.string);
      case "number":
        return plain(Type.number);
      case "bool":
        return plain(Type.bool);
      case "any":
        return ANY;
      case "list":
        return plain(Type.list(Type.dynamic));
      case "set":
        return plain(Type.set(Type.dynamic));
      case "map":
        return plain(Type.map(Type.dynamic));
      case "object":
      case "tuple":
        return this.#fail(
          `The type ${word} needs to know its parts: ${word === "object" ? "object({ name = string })" : "tuple([string, number])"}.`,
          at,
        );
      default:
        return this.#fail(`There is no type "${word}".${didYouMean(word, KEYWORDS)}`, at);
    }
  }

  #construct(call: FunctionCall, at: Expression): TypeConstraint {
    const [argument, extra] = call.arguments;
    const { name } = call;
    if (["string", "number", "bool", "any"].includes(name)) {
      return this.#fail(`The type ${name} has no parts: write it without parentheses.`, at);
    }
    if (!KEYWORDS.some((keyword) => keyword === name)) {
      const hint =
        name === "optional"
          ? " Only attributes of object types can be optional."
          : didYouMean(name, KEYWORDS);
      return this.#fail(`There is no type constructor "${name}".${hint}`, at);
    }
    if (argument === undefined || extra !== undefined || call.expandFinal) {
      return this.#fail(`The type constructor ${name} takes one argument.`, at);
    }
    if (name === "object") return this.#object(argument);
    if (name === "tuple") return this.#tuple(argument);
    const element = this.read(argument);
    const type = { list: Type.list, set: Type.set, map: Type.map }[name as "list" | "set" | "map"](
      element.type,
    );
    return withChildren(type, element.defaults === undefined ? [] : [["", element.defaults]]);
  }

  #tuple(argument: Expression): TypeConstraint {
    const { value: elements } = staticList(argument);
    if (elements === undefined) {
      return this.#fail("A tuple type takes the types of its elements in brackets.", argument);
    }
    const parts = elements.map((element) => this.read(element));
    const children = parts.flatMap(({ defaults }, at) =>
      defaults === undefined ? [] : [[String(at), defaults] as const],
    );
    return withChildren(Type.tuple(parts.map(({ type }) => type)), children);
  }

  #object(argument: Expression): TypeConstraint {
    const { value: items } = staticMap(argument);
    if (items === undefined) {
      return this.#fail("An object type takes the types of its attributes in braces.", argument);
    }
    const types = new Map<string, Type>();
    const optional: string[] = [];
    const values = new Map<string, Value>();
    const children: (readonly [string, TypeDefaults])[] = [];
    for (const item of items) {
      const name = attributeName(item);
      if (name === undefined) {
        this.#fail("The name of an attribute must be a plain word or text.", item.key.expression);
        continue;
      }
      if (types.has(name)) {
        this.#fail(`The attribute "${name}" is given already.`, item.key.expression);
        continue;
      }
      const attribute = this.#attribute(item.value);
      types.set(name, attribute.type);
      if (attribute.optional) optional.push(name);
      if (attribute.fallback !== undefined) values.set(name, attribute.fallback);
      if (attribute.defaults !== undefined) children.push([name, attribute.defaults]);
    }
    const type = Type.object(types, { optional });
    return withChildren(type, children, values);
  }

  /** A type, or `optional(type)`, or `optional(type, default)`. */
  #attribute(
    expression: Expression,
  ): TypeConstraint & { readonly optional: boolean; readonly fallback?: Value } {
    const call = staticKeyword(expression) === undefined ? staticCall(expression).value : undefined;
    if (call?.name !== "optional") return { ...this.read(expression), optional: false };
    const [typeNode, defaultNode, extra] = call.arguments;
    if (typeNode === undefined || extra !== undefined || call.expandFinal) {
      const detail = "An optional attribute is written optional(type) or optional(type, default).";
      return { ...this.#fail(detail, expression), optional: true };
    }
    const constraint = this.read(typeNode);
    if (defaultNode === undefined) return { ...constraint, optional: true };
    const fallback = this.#default(defaultNode, constraint);
    return { ...constraint, optional: true, ...(fallback !== undefined && { fallback }) };
  }

  #default(node: Expression, { type }: TypeConstraint): Value | undefined {
    const { value, diagnostics } = evaluate(node, NO_FUNCTIONS);
    append(this.diagnostics, diagnostics);
    if (hasErrors(diagnostics)) return undefined;
    try {
      return convert(value, type);
    } catch (error) {
      if (!(error instanceof CtyError)) throw error;
      this.#fail(`The default does not fit the type of the attribute: ${error.message}.`, node);
      return undefined;
    }
  }
}

function attributeName({ key }: ObjectItem): string | undefined {
  if (key.literal !== undefined) return key.literal;
  const { expression } = key;
  if (expression.kind === "json-string") return expression.text.text;
  return expression.kind === "string" ? expression.value : undefined;
}

function plain(type: Type): TypeConstraint {
  return { type, defaults: undefined };
}

const ANY = plain(Type.dynamic);

function withChildren(
  type: Type,
  children: readonly (readonly [string, TypeDefaults])[],
  values: ReadonlyMap<string, Value> = new Map(),
): TypeConstraint {
  if (children.length === 0 && values.size === 0) return plain(type);
  return { type, defaults: { type, values, children: new Map(children) } };
}
