import { append } from "@stackwright/base/append";
import type { ResourceMode } from "../config/module-config.ts";
import type { InstanceKey } from "../config/reference.ts";
import { evaluate } from "../eval/evaluate.ts";
import type { EvaluationScope } from "../eval/scope.ts";
import type { Expression, ScopeTraversal, TraversalStep } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors, sourceRange } from "../syntax/diagnostic.ts";
import { isIdentifier } from "../syntax/identifier.ts";
import type { SourceInput } from "../syntax/open-source.ts";
import { type Parsed, parseTraversal } from "../syntax/parse.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import { nativeForm } from "../syntax/static.ts";
import { type Address, configAddress, type ModuleStep, type ResourceAddress } from "./address.ts";

/** One part of an address as written. */
interface Part {
  readonly range: SourceRange;
  /** A name, or a key in brackets. */
  readonly name?: string;
  readonly key?: InstanceKey;
}

/**
 * Reads an address from a text, as it is given on a command line or kept in a store. Undefined where
 * it is none; the diagnostics (`LANG_ADDRESS` or those of the syntax) say why.
 */
export function parseAddress(input: SourceInput | string): Parsed<Address | undefined> {
  const source = typeof input === "string" ? { name: "<address>", text: input } : input;
  const { value, diagnostics } = parseTraversal(source);
  if (value === undefined) return { value: undefined, diagnostics };
  const found: Diagnostic[] = [];
  return { value: traversalAddress(value, found), diagnostics: found };
}

/** The address that a reference is, as in `moved` blocks. */
export function traversalAddress(
  traversal: ScopeTraversal,
  diagnostics: Diagnostic[],
): Address | undefined {
  const parts = traversalParts(traversal, diagnostics);
  return parts === undefined ? undefined : readAddress(parts, wholeRange(traversal), diagnostics);
}

/**
 * The address that an expression is whose keys may be computed, as in the `to` of an import block
 * with for_each. Undefined, with diagnostics, where it is none or a key is not known.
 */
export function evaluateAddress(
  expression: Expression,
  scope: EvaluationScope,
  diagnostics: Diagnostic[],
): Address | undefined {
  const keyOf = (key: Expression) => evaluateKey(key, scope, diagnostics);
  const parts = expressionParts(expression, keyOf, diagnostics);
  return parts === undefined ? undefined : readAddress(parts, wholeRange(expression), diagnostics);
}

/** What an address with computed keys names, without evaluation. */
export interface UnkeyedAddress {
  /** Of the declaration: without any keys. */
  readonly address: Address;
  /** The expressions in brackets, as far as they are computed. */
  readonly keys: readonly Expression[];
}

/**
 * The declaration that {@link evaluateAddress} would find an instance of. Undefined, with diagnostics, where the expression
 * is not an address for any keys.
 */
export function unkeyedAddress(
  expression: Expression,
  diagnostics: Diagnostic[],
): UnkeyedAddress | undefined {
  const keys: Expression[] = [];
  const anyKey = (key: Expression): InstanceKey => keys.push(key);
  const parts = expressionParts(expression, anyKey, diagnostics);
  if (parts === undefined) return undefined;
  const address = readAddress(parts, wholeRange(expression), diagnostics);
  return address === undefined ? undefined : { address: configAddress(address), keys };
}

function wholeRange({ source, start, end }: Expression): SourceRange {
  return sourceRange(source, start, end);
}

function fail(diagnostics: Diagnostic[], detail: string, subject: SourceRange): undefined {
  diagnostics.push({
    severity: "error",
    code: "LANG_ADDRESS",
    summary: "Invalid address",
    detail,
    subject,
  });
}

function traversalParts(traversal: ScopeTraversal, diagnostics: Diagnostic[]): Part[] | undefined {
  const { source, start, rootEnd, root } = traversal;
  const first = { range: sourceRange(source, start, rootEnd), name: root };
  return addSteps([first], traversal.steps, diagnostics);
}

function addSteps(
  parts: readonly Part[],
  steps: readonly TraversalStep[],
  diagnostics: Diagnostic[],
): Part[] | undefined {
  const all = [...parts];
  for (const step of steps) {
    const range = sourceRange(step.source, step.start, step.end);
    if (step.kind === "attribute-step") {
      all.push({ range, name: step.name });
      continue;
    }
    const { key } = step;
    if (key.kind === "string") all.push({ range, key: key.value });
    else if (key.kind === "number" && isKeyNumber(Number(key.text))) {
      all.push({ range, key: Number(key.text) });
    } else return fail(diagnostics, BAD_KEY, range);
  }
  return all;
}

const BAD_KEY = "The key of an instance is a string or a whole number that is not negative.";

function isKeyNumber(number: number): boolean {
  return Number.isSafeInteger(number) && number >= 0;
}

/** The key that an expression in brackets stands for; undefined after an error, which is reported. */
type KeyReader = (expression: Expression) => InstanceKey | undefined;

function expressionParts(
  expression: Expression,
  keyOf: KeyReader,
  diagnostics: Diagnostic[],
): Part[] | undefined {
  if (expression.kind === "scope-traversal") return traversalParts(expression, diagnostics);
  if (expression.kind === "json-string") {
    const { value, diagnostics: found } = nativeForm(expression);
    append(diagnostics, found ?? []);
    return value === undefined ? undefined : expressionParts(value, keyOf, diagnostics);
  }
  if (expression.kind === "relative-traversal") {
    const parts = expressionParts(expression.from, keyOf, diagnostics);
    return parts === undefined ? undefined : addSteps(parts, expression.steps, diagnostics);
  }
  if (expression.kind === "index") {
    const parts = expressionParts(expression.collection, keyOf, diagnostics);
    if (parts === undefined) return undefined;
    const key = keyOf(expression.key);
    return key === undefined ? undefined : [...parts, { range: wholeRange(expression), key }];
  }
  const detail = "The address of an instance is required: names, and keys in brackets.";
  return fail(diagnostics, detail, wholeRange(expression));
}

function evaluateKey(
  expression: Expression,
  scope: EvaluationScope,
  diagnostics: Diagnostic[],
): InstanceKey | undefined {
  const { value, diagnostics: found } = evaluate(expression, scope);
  append(diagnostics, found);
  if (hasErrors(found)) return undefined;
  const range = wholeRange(expression);
  if (value.containsMarks) {
    const detail =
      "The key of an instance is shown everywhere and cannot be sensitive or ephemeral.";
    return fail(diagnostics, detail, range);
  }
  if (!value.isKnown) {
    return fail(diagnostics, "The key of an instance must be known before apply.", range);
  }
  if (!value.isNull && value.type.kind === "string") return value.asString();
  if (!value.isNull && value.type.kind === "number" && isKeyNumber(value.asNumber())) {
    return value.asNumber();
  }
  return fail(diagnostics, BAD_KEY, range);
}

/** Reads the parts of an address one behind the other. */
function readAddress(
  parts: readonly Part[],
  whole: SourceRange,
  diagnostics: Diagnostic[],
): Address | undefined {
  let at = 0;
  const key = (): InstanceKey | undefined => {
    const found = parts[at]?.key;
    if (found !== undefined) at++;
    return found;
  };
  const module: ModuleStep[] = [];
  while (parts[at]?.name === "module") {
    const name = parts[at + 1]?.name;
    if (name === undefined) {
      const detail = '"module" must be followed by a dot and the name of a module call.';
      return fail(diagnostics, detail, parts[at]?.range ?? whole);
    }
    at += 2;
    module.push({ name, key: key() });
  }
  const first = parts[at];
  if (first === undefined) return { kind: "module", module };
  const resource = readResource(parts.slice(at));
  if (resource === undefined) {
    const detail =
      "A resource is addressed by its type and name: TYPE.NAME, data.TYPE.NAME or ephemeral.TYPE.NAME, behind the modules that it is in.";
    return fail(diagnostics, detail, first.range);
  }
  at += resource.length;
  const address: ResourceAddress = { kind: "resource", module, ...resource.of, key: key() };
  const extra = parts[at];
  if (extra === undefined) return address;
  const detail = "An address ends with a resource or an instance of it; attributes have none.";
  return fail(diagnostics, detail, extra.range);
}

const MODES: Readonly<Record<string, ResourceMode | undefined>> = {
  data: "data",
  ephemeral: "ephemeral",
  resource: "managed",
};

function readResource(
  parts: readonly Part[],
): { of: Pick<ResourceAddress, "mode" | "type" | "name">; length: number } | undefined {
  const prefix = parts[0]?.name ?? "";
  const mode = Object.hasOwn(MODES, prefix) ? MODES[prefix] : undefined;
  const start = mode === undefined ? 0 : 1;
  const type = parts[start]?.name;
  const name = parts[start + 1]?.name;
  if (type === undefined || name === undefined || !isIdentifier(type)) return undefined;
  return { of: { mode: mode ?? "managed", type, name }, length: start + 2 };
}
