import { append } from "@stackwright/base/append";
import { formatModulePath } from "../address/address.ts";
import { readAttributes } from "../config/body-content.ts";
import { checkReferences, referenceOwners, resourceAddress } from "../config/check-references.ts";
import type { ModuleNode } from "../config/load-tree.ts";
import type { ModuleConfig, Repetition, ResourceConfig } from "../config/module-config.ts";
import { type InstanceKey, parseReference, type Reference } from "../config/reference.ts";
import type { SchemaBlock } from "../schema/block-schema.ts";
import type { Expression, ScopeTraversal, TraversalStep } from "../syntax/ast.ts";
import { type Diagnostic, sortDiagnostics, sourceRange } from "../syntax/diagnostic.ts";
import { expressionReferences } from "../syntax/references.ts";
import type { SourceRange } from "../syntax/source-file.ts";
import { didYouMean } from "../syntax/suggestion.ts";

/** What is known besides the tree. */
export interface TreeCheckOptions {
  /** What a resource looks like, where that is known: references to its attributes are checked. */
  readonly schemaOf?: (module: ModuleNode, resource: ResourceConfig) => SchemaBlock | undefined;
}

/**
 * Checks all modules of a tree and what they say about each other, without evaluating anything:
 * references to what is not declared, to attributes that a resource does not have, to instances of
 * what is not repeated and the other way round; use of deprecated variables and outputs; ephemeral
 * outputs of the root module.
 *
 * Errors are what the reference command rejects for all values as well. What only fails
 * where it is evaluated outside of `try`, such as an output that a module does not have, is a warning.
 */
export function checkTree(root: ModuleNode, options: TreeCheckOptions = {}): Diagnostic[] {
  const diagnostics: Diagnostic[] = [];
  const visit = (module: ModuleNode): void => {
    append(diagnostics, new TreeChecker(module, options).check());
    for (const child of module.children.values()) visit(child);
  };
  visit(root);
  return sortDiagnostics(diagnostics);
}

/**
 * Finds what is wrong for all values with the references of an expression that a module could have: to attributes that a
 * resource does not have, and to instances of what is not repeated and the other way round.
 */
export function checkExpression(
  module: ModuleNode,
  expression: Expression,
  options: TreeCheckOptions = {},
): Diagnostic[] {
  return new TreeChecker(module, options).expression(expression);
}

class TreeChecker {
  readonly #module: ModuleNode;
  readonly #options: TreeCheckOptions;
  readonly #diagnostics: Diagnostic[] = [];

  constructor(module: ModuleNode, options: TreeCheckOptions) {
    this.#module = module;
    this.#options = options;
  }

  check(): Diagnostic[] {
    const { config, path, children } = this.#module;
    append(this.#diagnostics, checkReferences(config));
    for (const { references, perhaps } of referenceOwners(config)) {
      for (const traversal of references) {
        this.#reference(traversal, perhaps.has(traversal) ? "warning" : "error");
      }
    }
    for (const { name, ephemeral, range } of config.outputs.values()) {
      if (path.length > 0 || !ephemeral) continue;
      const detail = `The output "${name}" of the root module is kept, so that it cannot be ephemeral.`;
      this.#report("error", "Ephemeral output not allowed", detail, range);
    }
    for (const [name, child] of children) this.#call(name, child);
    const address = formatModulePath(path.map((name) => ({ name, key: undefined })));
    if (address === "") return this.#diagnostics;
    return this.#diagnostics.map((diagnostic) => ({ ...diagnostic, address }));
  }

  expression(expression: Expression): Diagnostic[] {
    for (const traversal of expressionReferences(expression)) this.#reference(traversal, "error");
    return this.#diagnostics.filter(({ severity }) => severity === "error");
  }

  #report(
    severity: Diagnostic["severity"],
    summary: string,
    detail: string,
    subject: SourceRange,
  ): void {
    this.#diagnostics.push({ severity, code: "LANG_CONFIG", summary, detail, subject });
  }

  #call(name: string, { config }: ModuleNode): void {
    const call = this.#module.config.modules.get(name);
    if (call === undefined) return;
    for (const [argument, { nameRange }] of readAttributes(call.body, [])) {
      const deprecated = config.variables.get(argument)?.deprecated;
      if (deprecated !== undefined) {
        this.#report("warning", "Deprecated input variable", deprecated, nameRange);
      }
    }
  }

  #reference(traversal: ScopeTraversal, severity: Diagnostic["severity"]): void {
    const reference = parseReference(traversal);
    if (reference === undefined) return;
    const { subject, steps } = reference;
    const range = sourceRange(traversal.source, traversal.start, traversal.end);
    const { config, children } = this.#module;
    if (subject.kind === "resource") {
      const address = resourceAddress(subject);
      const resource = config.resources.get(address);
      if (resource === undefined) return;
      const attribute = steps[0]?.kind === "attribute-step";
      const problem = keyProblem(address, "attributes", resource, subject.key, attribute);
      if (problem !== undefined) this.#report(severity, ...problem, range);
      else this.#attributes(address, resource, steps, severity);
    }
    if (subject.kind !== "module") return;
    const child = children.get(subject.name);
    const call = config.modules.get(subject.name);
    if (child === undefined || call === undefined) return;
    const address = `module.${subject.name}`;
    const named = subject.output !== undefined;
    const problem = keyProblem(address, "outputs", call, subject.key, named);
    if (problem !== undefined) this.#report("warning", ...problem, range);
    else this.#output(address, child.config, reference, range);
  }

  /** Follows a reference into nested blocks that occur once, as far as the schema goes. */
  #attributes(
    address: string,
    resource: ResourceConfig,
    steps: readonly TraversalStep[],
    severity: Diagnostic["severity"],
  ): void {
    let schema = this.#options.schemaOf?.(this.#module, resource);
    for (const step of steps) {
      if (schema === undefined || step.kind !== "attribute-step") return;
      const { attributes, blocks } = schema;
      const block = blocks.get(step.name);
      if (block === undefined && !attributes.has(step.name)) {
        const known = [...attributes.keys(), ...blocks.keys()];
        const detail = `${address} has no argument, block or attribute "${step.name}".${didYouMean(step.name, known)}`;
        const at = sourceRange(step.source, step.start, step.end);
        this.#report(severity, "Unsupported attribute", detail, at);
      }
      const once = block?.nesting === "single" || block?.nesting === "group";
      schema = once ? block?.block : undefined;
    }
  }

  #output(
    address: string,
    { outputs }: ModuleConfig,
    { subject }: Reference,
    range: SourceRange,
  ): void {
    if (subject.kind !== "module" || subject.output === undefined) return;
    const output = outputs.get(subject.output);
    if (output === undefined) {
      const detail = `The module has no output "${subject.output}".${didYouMean(subject.output, outputs.keys())}`;
      this.#report("warning", "Unsupported attribute", detail, range);
    } else if (output.deprecated !== undefined) {
      const detail = `${address}.${subject.output}: ${output.deprecated}`;
      this.#report("warning", "Deprecated output value", detail, range);
    }
  }
}

/** A key must be there exactly where there are several instances. */
function keyProblem(
  address: string,
  what: string,
  { count, forEach }: Pick<Repetition, "count" | "forEach">,
  key: InstanceKey | undefined,
  attribute: boolean,
): readonly [summary: string, detail: string] | undefined {
  const repeated = count !== undefined ? "count" : forEach !== undefined ? "for_each" : undefined;
  if (repeated !== undefined && key === undefined && attribute) {
    const example = repeated === "count" ? `${address}[count.index]` : `${address}[each.key]`;
    const detail = `${address} is repeated by ${repeated}, so that its ${what} are those of an instance: write ${example}, or ${address}[*] for all of them.`;
    return ["Missing instance key", detail];
  }
  if (repeated !== undefined || key === undefined) return undefined;
  const detail = `${address} has neither count nor for_each, so that it has no instances with keys.`;
  return ["Unexpected instance key", detail];
}
