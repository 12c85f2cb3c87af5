import { append } from "@stackwright/base/append";
import { CtyError, convert, Mark, Type, unmarkDeep, Value } from "@stackwright/cty";
import { type Address, formatAddress, type ResourceAddress } from "../address/address.ts";
import { evaluateAddress, unkeyedAddress } from "../address/parse-address.ts";
import { resourceAddress } from "../config/check-references.ts";
import { expandRepetition } from "../config/expansion.ts";
import type { ModuleNode } from "../config/load-tree.ts";
import type { ImportConfig, ProviderConfigReference } from "../config/module-config.ts";
import type { ModuleScope } from "../config/module-scope.ts";
import { rangeOf } from "../config/static-reader.ts";
import { evaluate } from "../eval/evaluate.ts";
import type { Expression } from "../syntax/ast.ts";
import { type Diagnostic, hasErrors } from "../syntax/diagnostic.ts";
import { expressionReferences } from "../syntax/references.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import { findDeclaration } from "./moved-blocks.ts";
import { EPHEMERAL_IMPORT } from "./validate-imports.ts";

/** One object to import. */
export interface ResolvedImport {
  readonly to: ResourceAddress;
  /** By id or by identity: exactly one of the two is set. */
  readonly id: string | undefined;
  readonly identity: Value | undefined;
  readonly range: SourceRange;
}

/** Checks what can be said of import blocks without evaluation. */
export function checkImports(root: ModuleNode, diagnostics: Diagnostic[]): void {
  const visit = (module: ModuleNode): void => {
    for (const { range } of module.config.imports) {
      const detail = `Import blocks stand in the root module, not in module.${module.path.join(".module.")}.`;
      fail(diagnostics, "Invalid import configuration", detail, range);
    }
    for (const child of module.children.values()) visit(child);
  };
  for (const child of root.children.values()) visit(child);
  for (const { provider, to, forEach } of root.config.imports) {
    const target = unkeyedAddress(to, diagnostics);
    if (target !== undefined) {
      checkTarget(root, target.address, to, diagnostics);
      for (const key of target.keys) checkKey(key, forEach !== undefined, diagnostics);
    }
    if (provider === undefined || isProviderOf(root, target?.address, provider)) continue;
    const detail = "The provider of what is imported is that of the resource: set it there.";
    fail(diagnostics, "Invalid import provider argument", detail, provider.range);
  }
}

/** Whether the resource of an import names the same provider: then nothing can be meant otherwise. */
function isProviderOf(
  root: ModuleNode,
  address: Address | undefined,
  { name, alias }: ProviderConfigReference,
): boolean {
  if (address?.kind !== "resource" || address.module.length > 0) return false;
  const own = root.config.resources.get(resourceAddress(address))?.provider;
  return own?.name === name && own.alias === alias;
}

/** The key in an address depends on nothing but the element of for_each that the block is repeated for. */
function checkKey(key: Expression, repeated: boolean, diagnostics: Diagnostic[]): void {
  const foreign = expressionReferences(key).some(({ root }) => root !== "each");
  if (repeated && !foreign) return;
  const detail = repeated
    ? "The key of an instance can refer to each.key and each.value here, and to nothing else."
    : "The key of an instance is written as a number or a string here. Only a block with for_each can have an expression.";
  fail(diagnostics, "Invalid import address", detail, rangeOf(key));
}

/** An import block is about a managed resource that is declared. Everything else would be dropped without a word. */
function checkTarget(
  root: ModuleNode,
  address: Address,
  to: Expression,
  diagnostics: Diagnostic[],
): address is ResourceAddress {
  if (address.kind !== "resource" || address.mode !== "managed") {
    const detail = "Only managed resources can be imported, each by the address of its instance.";
    fail(diagnostics, "Invalid import address", detail, rangeOf(to));
    return false;
  }
  if (findDeclaration(root, address) !== undefined) return true;
  const detail = `There is no resource ${formatAddress(address)} in the configuration that this could be imported to.`;
  fail(diagnostics, "Configuration for import target does not exist", detail, rangeOf(to));
  return false;
}

function fail(
  diagnostics: Diagnostic[],
  summary: string,
  detail: string,
  subject: SourceRange,
): undefined {
  diagnostics.push({ severity: "error", code: "LANG_IMPORT", summary, detail, subject });
}

/**
 * The objects that the import blocks of the root module are about. Targets must be declared managed
 * resources, each named once; ids must be known. `scope` is that of the root module.
 */
export function evaluateImports(
  root: ModuleNode,
  scope: ModuleScope,
  diagnostics: Diagnostic[],
): ResolvedImport[] {
  const requests = new Map<string, ResolvedImport>();
  for (const declaration of root.config.imports) {
    for (const instance of instances(declaration, scope, diagnostics)) {
      const request = evaluateImport(root, declaration, instance, diagnostics);
      if (request === undefined) continue;
      const text = formatAddress(request.to);
      const earlier = requests.get(text);
      if (earlier !== undefined) {
        const { filename, start } = earlier.range.source.locate(
          earlier.range.start,
          earlier.range.end,
        );
        const detail = `${text} is imported already, at ${filename} line ${start.line}.`;
        fail(diagnostics, "Duplicate import configuration", detail, rangeOf(declaration.to));
        continue;
      }
      requests.set(text, request);
    }
  }
  return [...requests.values()];
}

/** A scope for each object of a block with for_each, or the one of the module. */
function instances(
  { forEach }: ImportConfig,
  scope: ModuleScope,
  diagnostics: Diagnostic[],
): ModuleScope[] {
  if (forEach === undefined) return [scope];
  const expansion = expandRepetition({ count: undefined, forEach }, scope, diagnostics);
  if (expansion.kind === "unknown") diagnostics.push(expansion.reason);
  if (expansion.kind !== "for_each") return [];
  return [...expansion.entries].map(([key, value]) =>
    scope.forInstance({ each: { key: Value.string(key), value } }),
  );
}

function evaluateImport(
  root: ModuleNode,
  { to, id, identity, range }: ImportConfig,
  scope: ModuleScope,
  diagnostics: Diagnostic[],
): ResolvedImport | undefined {
  const address = evaluateAddress(to, scope, diagnostics);
  if (address === undefined) return undefined;
  if (!checkTarget(root, address, to, diagnostics)) return undefined;
  const idText = id === undefined ? undefined : evaluateId(id, scope, diagnostics);
  const object = identity === undefined ? undefined : evaluateKnown(identity, scope, diagnostics);
  if (idText === undefined && object === undefined) return undefined;
  return { to: address, id: idText, identity: object, range };
}

function evaluateKnown(
  expression: Expression,
  scope: ModuleScope,
  diagnostics: Diagnostic[],
): Value | undefined {
  const summary = "Invalid import argument";
  const { value, diagnostics: found } = evaluate(expression, scope);
  append(diagnostics, found);
  if (hasErrors(found)) return undefined;
  const [plain, marks] = unmarkDeep(value);
  const subject = rangeOf(expression);
  if (marks.has(Mark.ephemeral)) {
    return fail(diagnostics, summary, EPHEMERAL_IMPORT, subject);
  }
  if (!plain.isWhollyKnown) {
    const detail =
      "What is imported must be known when the plan is made. It depends on something that is known only after apply.";
    return fail(diagnostics, summary, detail, subject);
  }
  if (plain.isNull) return fail(diagnostics, summary, "It must not be null.", subject);
  return plain;
}

function evaluateId(
  expression: Expression,
  scope: ModuleScope,
  diagnostics: Diagnostic[],
): string | undefined {
  const summary = "Invalid import argument";
  const value = evaluateKnown(expression, scope, diagnostics);
  if (value === undefined) return undefined;
  const subject = rangeOf(expression);
  try {
    const id = convert(value, Type.string).asString();
    if (id !== "") return id;
    return fail(diagnostics, summary, "The id must not be an empty string.", subject);
  } catch (error) {
    if (!(error instanceof CtyError)) throw error;
    return fail(diagnostics, summary, `The id must be a string: ${error.message}.`, subject);
  }
}
