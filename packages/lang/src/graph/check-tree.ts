import { formatModulePath } from "../address/address.ts";
import { readAttributes } from "../config/body-content.ts";
import { checkReferences, referenceOwners, resourceAddress } from "../config/check-references.ts";
import type { ModuleNode } from "../config/load-tree.ts";
import type { ModuleConfig, Repetition } from "../config/module-config.ts";
import { parseReference, type Reference } from "../config/reference.ts";
import type { ScopeTraversal } from "../syntax/ast.ts";
import { type Diagnostic, sortDiagnostics, sourceRange } from "../syntax/diagnostic.ts";
import type { SourceRange } from "../syntax/source.ts";
import { didYouMean } from "../syntax/suggestion.ts";

/**
 * Checks all modules of a tree and what they say about each other, without evaluating anything:
 * references to what is not declared, to outputs that called modules do not have, to instances of
 * what is not repeated and the other way round; use of deprecated variables and outputs; ephemeral
 * outputs of the root module.
 */
export function checkTree(root: ModuleNode): Diagnostic[] {
  const diagnostics: Diagnostic[] = [];
  const visit = (module: ModuleNode): void => {
    diagnostics.push(...new TreeChecker(module).check());
    for (const child of module.children.values()) visit(child);
  };
  visit(root);
  return sortDiagnostics(diagnostics);
}

class TreeChecker {
  readonly #module: ModuleNode;
  readonly #diagnostics: Diagnostic[] = [];

  constructor(module: ModuleNode) {
    this.#module = module;
  }

  check(): Diagnostic[] {
    const { config, path, children } = this.#module;
    this.#diagnostics.push(...checkReferences(config));
    for (const { references } of referenceOwners(config)) {
      for (const traversal of references) this.#reference(traversal);
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

  #reference(traversal: ScopeTraversal): void {
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
      this.#key(address, "attributes", resource, subject.key, attribute, range);
    }
    if (subject.kind !== "module") return;
    const child = children.get(subject.name);
    const call = config.modules.get(subject.name);
    if (child === undefined || call === undefined) return;
    const attribute = subject.output !== undefined;
    const address = `module.${subject.name}`;
    if (!this.#key(address, "outputs", call, subject.key, attribute, range)) return;
    this.#output(address, child.config, reference, range);
  }

  /** Whether a key is there exactly where there are several instances. */
  #key(
    address: string,
    what: string,
    { count, forEach }: Pick<Repetition, "count" | "forEach">,
    key: string | number | undefined,
    attribute: boolean,
    range: SourceRange,
  ): boolean {
    const repeated = count !== undefined ? "count" : forEach !== undefined ? "for_each" : undefined;
    if (repeated !== undefined && key === undefined && attribute) {
      const example = repeated === "count" ? `${address}[count.index]` : `${address}[each.key]`;
      const detail = `${address} is repeated by ${repeated}, so that its ${what} are those of an instance: write ${example}, or ${address}[*] for all of them.`;
      this.#report("error", "Missing instance key", detail, range);
      return false;
    }
    if (repeated === undefined && key !== undefined) {
      const detail = `${address} has neither count nor for_each, so that it has no instances with keys.`;
      this.#report("error", "Unexpected instance key", detail, range);
      return false;
    }
    return true;
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
      this.#report("error", "Unsupported attribute", detail, range);
    } else if (output.deprecated !== undefined) {
      const detail = `${address}.${subject.output}: ${output.deprecated}`;
      this.#report("warning", "Deprecated output value", detail, range);
    }
  }
}
