import type { Expression, ScopeTraversal } from "../syntax/ast.ts";
import { type Diagnostic, sourceRange } from "../syntax/diagnostic.ts";
import { expressionReferences } from "../syntax/references.ts";
import { didYouMean } from "../syntax/suggestion.ts";
import type { ConfigBody } from "./body-content.ts";
import { collectReferences } from "./body-references.ts";
import type { ConditionRule, ModuleConfig, ResourceConfig } from "./module-config.ts";
import { parseReference, type ReferenceSubject } from "./reference.ts";

/** Something of a module that refers to other things, and its references. */
export interface ReferenceOwner {
  /** Address in the module, such as `aws_vpc.main`, `local.x`, `output.y`, `module.z`. */
  readonly address: string;
  readonly references: readonly ScopeTraversal[];
  /** Those of them that may never be evaluated, in the content of `dynamic` blocks. */
  readonly perhaps: ReadonlySet<ScopeTraversal>;
  /** Names with a meaning at this place. */
  readonly repeated: "count" | "for_each" | undefined;
  readonly self: boolean;
}

const PROVIDER_META = new Set(["alias", "version", "for_each"]);

const META = new Set([
  "count",
  "for_each",
  "depends_on",
  "provider",
  "providers",
  "source",
  "version",
  "lifecycle",
  "connection",
  "provisioner",
]);

/** Arguments of provisioners that are words. */
const KEYWORDS = new Set(["when", "on_failure"]);

const NONE: ReadonlySet<ScopeTraversal> = new Set();

function all(...expressions: readonly (Expression | undefined)[]): ScopeTraversal[] {
  return allOf(expressions);
}

function allOf(expressions: readonly (Expression | undefined)[]): ScopeTraversal[] {
  return expressions.flatMap((expression) =>
    expression === undefined ? [] : expressionReferences(expression),
  );
}

function ofConditions(conditions: readonly ConditionRule[]): ScopeTraversal[] {
  return conditions.flatMap(({ condition, errorMessage }) => all(condition, errorMessage));
}

function repetition({ count, forEach }: Pick<ResourceConfig, "count" | "forEach">) {
  if (forEach !== undefined) return "for_each";
  return count === undefined ? undefined : "count";
}

/** Everything in a module that has references, found without evaluating anything. */
export function referenceOwners(module: ModuleConfig): ReferenceOwner[] {
  const owners: ReferenceOwner[] = [];
  const add = (
    address: string,
    references: readonly ScopeTraversal[],
    repeated?: "count" | "for_each",
    self = false,
    perhaps: ReferenceOwner["perhaps"] = NONE,
  ): void => {
    if (references.length > 0) owners.push({ address, references, perhaps, repeated, self });
  };
  const addBody = (
    address: string,
    body: ConfigBody,
    meta: ReadonlySet<string>,
    repeated?: "count" | "for_each",
    self = false,
  ): void => {
    const { all: references, perhaps } = collectReferences(body, meta);
    add(address, references, repeated, self, perhaps);
  };
  for (const [name, { validations }] of module.variables)
    add(`var.${name}`, ofConditions(validations));
  for (const [name, { expression }] of module.locals) add(`local.${name}`, all(expression));
  for (const [name, output] of module.outputs) {
    add(`output.${name}`, [
      ...all(output.expression),
      ...output.dependsOn,
      ...ofConditions(output.preconditions),
    ]);
  }
  for (const [key, { body, scope, forEach }] of module.providers) {
    if (scope !== undefined) continue;
    const repeated = forEach === undefined ? undefined : "for_each";
    add(`provider.${key}`, all(forEach));
    addBody(`provider.${key}`, body, PROVIDER_META, repeated);
  }
  for (const [name, call] of module.modules) {
    add(`module.${name}`, [...all(call.count, call.forEach), ...call.dependsOn]);
    const keys = [...(call.providers?.values() ?? [])].map(({ key }) => key);
    add(`module.${name}`, allOf(keys), repetition(call));
    addBody(`module.${name}`, call.body, META, repetition(call));
  }
  for (const [address, resource] of module.resources) {
    const { lifecycle } = resource;
    const repeated = repetition(resource);
    add(address, [
      ...all(resource.count, resource.forEach, resource.enabled),
      ...resource.dependsOn,
    ]);
    addBody(address, resource.body, META, repeated);
    add(address, all(resource.provider?.key), repeated);
    add(address, allOf(lifecycle.replaceTriggeredBy), repeated);
    add(address, ofConditions(lifecycle.preconditions), repeated);
    add(address, ofConditions(lifecycle.postconditions), repeated, true);
    for (const { body } of resource.provisioners) {
      addBody(address, body, KEYWORDS, repeated, true);
    }
    if (resource.connection !== undefined) {
      addBody(address, resource.connection, KEYWORDS, repeated, true);
    }
  }
  for (const [name, check] of module.checks) add(`check.${name}`, ofConditions(check.assertions));
  return owners;
}

/**
 * Reports references to what a module does not declare, with the name that was probably meant, and
 * `each`, `count` and `self` where they have no meaning. In the content of `dynamic` blocks, which
 * may turn out to be none, these are warnings.
 */
export function checkReferences(module: ModuleConfig): Diagnostic[] {
  const diagnostics: Diagnostic[] = [];
  const scoped = scopedData(module);
  for (const owner of referenceOwners(module)) {
    for (const traversal of owner.references) {
      const reference = parseReference(traversal, (diagnostic) => diagnostics.push(diagnostic));
      if (reference === undefined) continue;
      const problem = problemOf(module, scoped, owner, reference.subject);
      if (problem === undefined) continue;
      const [summary, detail] = problem;
      const subject = sourceRange(traversal.source, traversal.start, traversal.end);
      // What is never evaluated does no harm, and the reference command says nothing of it.
      const severity = owner.perhaps.has(traversal) ? "warning" : "error";
      diagnostics.push({ severity, code: "LANG_CONFIG", summary, detail, subject });
    }
  }
  return diagnostics;
}

/** Addresses of the data sources of checks, by the address of the check. */
function scopedData(module: ModuleConfig): Map<string, string> {
  const scoped = new Map<string, string>();
  for (const [name, { data }] of module.checks) {
    if (data !== undefined) scoped.set(`check.${name}`, `data.${data.type}.${data.name}`);
  }
  return scoped;
}

type Problem = readonly [summary: string, detail: string];

function problemOf(
  module: ModuleConfig,
  scoped: ReadonlyMap<string, string>,
  owner: ReferenceOwner,
  subject: ReferenceSubject,
): Problem | undefined {
  switch (subject.kind) {
    case "variable":
      return undeclared("input variable", subject.name, module.variables);
    case "local":
      return undeclared("local value", subject.name, module.locals);
    case "module":
      return undeclared("module", subject.name, module.modules);
    case "resource": {
      const address = resourceAddress(subject);
      const known = module.resources.has(address) || scoped.get(owner.address) === address;
      return known ? undefined : undeclaredResource(module, address, subject);
    }
    case "each":
      if (owner.repeated === "for_each") return undefined;
      return [
        'Reference to "each" in context without for_each',
        '"each" has a meaning only where for_each is set.',
      ];
    case "count":
      if (owner.repeated === "count") return undefined;
      return [
        'Reference to "count" in non-counted context',
        '"count" has a meaning only where count is set.',
      ];
    case "self":
      if (owner.self) return undefined;
      return [
        'Invalid "self" reference',
        '"self" has a meaning only in postconditions, provisioners and connections.',
      ];
    case "path":
    case "terraform":
    default:
      return undefined;
  }
}

/** The address of a resource without an instance key. */
export function resourceAddress({
  mode,
  type,
  name,
}: Extract<ReferenceSubject, { kind: "resource" }>): string {
  return `${mode === "managed" ? "" : `${mode}.`}${type}.${name}`;
}

function undeclared(
  what: string,
  name: string,
  declared: ReadonlyMap<string, unknown>,
): Problem | undefined {
  if (declared.has(name)) return undefined;
  return [
    `Reference to undeclared ${what}`,
    `There is no ${what} "${name}" in this module.${didYouMean(name, declared.keys())}`,
  ];
}

function undeclaredResource(
  module: ModuleConfig,
  address: string,
  { mode, type, name }: Extract<ReferenceSubject, { kind: "resource" }>,
): Problem {
  const data = `data.${type}.${name}`;
  const hint =
    mode === "managed" && module.resources.has(data)
      ? ` Did you mean the data source ${data}?`
      : didYouMean(address, module.resources.keys());
  return [
    "Reference to undeclared resource",
    `There is no resource ${address} in this module.${hint}`,
  ];
}
