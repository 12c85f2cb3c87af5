import {
  type AttributeStep,
  childExpressions,
  type Expression,
  type ScopeTraversal,
} from "@stackwright/lang";

/** What an expression does with all instances of a call of a module, or with one of which the key is not known. */
interface InstanceUses {
  /** Outputs that are read of them: no reference ends with those. */
  readonly outputs: readonly { readonly call: string; readonly step: AttributeStep }[];
  /** Calls of which all outputs are passed on, by any name. */
  readonly wholes: readonly string[];
}

/** Functions that read no outputs of what they are given. */
const OF_KEYS: ReadonlySet<string> = new Set(["length", "keys"]);

/** Calls by the names that loops give to their instances; other names of loops hide those. */
type LoopNames = ReadonlyMap<string, string | undefined>;

export function instanceUses(expression: Expression): InstanceUses {
  const visitor = new Visitor();
  visitor.visit(expression, new Map());
  return visitor;
}

class Visitor implements InstanceUses {
  readonly outputs: { readonly call: string; readonly step: AttributeStep }[] = [];
  readonly wholes: string[] = [];
  /** What the element of a splat is of. */
  readonly #elements = new Map<Expression, Expression>();
  /** Of which it is known what is read. */
  readonly #known = new Set<Expression>();

  visit(expression: Expression, names: LoopNames): void {
    if (expression.kind === "for") {
      this.#loop(expression, names);
      return;
    }
    if (expression.kind === "scope-traversal") {
      this.#traversal(expression, names);
      return;
    }
    if (expression.kind === "splat") {
      this.#elements.set(expression.item, expression.from);
      this.visit(expression.each, names);
      this.visit(expression.from, names);
      return;
    }
    if (expression.kind === "relative-traversal") {
      const { from, steps } = expression;
      const of = callIn(from.kind === "index" ? from.collection : this.#elements.get(from));
      if (of !== undefined) this.#read(of, steps[0]);
    }
    if (expression.kind === "call" && OF_KEYS.has(expression.name)) {
      for (const argument of expression.arguments) {
        const of = callIn(argument);
        if (of !== undefined) this.#known.add(of);
      }
    }
    for (const child of childExpressions(expression)) this.visit(child, names);
  }

  #loop(loop: Extract<Expression, { kind: "for" }>, names: LoopNames): void {
    const { collection, keyName, valueName } = loop;
    const of = callIn(collection);
    if (of !== undefined) this.#known.add(of);
    this.visit(collection, names);
    const inner = new Map(names).set(valueName, of && callName(of));
    if (keyName !== undefined) inner.set(keyName, undefined);
    for (const child of [loop.key, loop.value, loop.condition]) {
      if (child !== undefined) this.visit(child, inner);
    }
  }

  #traversal(traversal: ScopeTraversal, names: LoopNames): void {
    const { root, steps } = traversal;
    const [first, second] = steps;
    if (names.has(root)) {
      const call = names.get(root);
      if (call === undefined) return;
      if (first?.kind === "attribute-step") this.outputs.push({ call, step: first });
      else this.wholes.push(call);
      return;
    }
    const call = callName(traversal);
    const isWhole = steps.length === 1 || (steps.length === 2 && second?.kind === "index-step");
    if (call !== undefined && isWhole && !this.#known.has(traversal)) this.wholes.push(call);
  }

  #read(of: ScopeTraversal, step: ScopeTraversal["steps"][number] | undefined): void {
    const call = callName(of);
    if (call === undefined || step?.kind !== "attribute-step") return;
    this.#known.add(of);
    this.outputs.push({ call, step });
  }
}

/** The call whose instances an expression is. */
function callIn(expression: Expression | undefined): ScopeTraversal | undefined {
  if (expression?.kind === "parentheses") return callIn(expression.expression);
  if (expression?.kind === "call") {
    const [argument, ...others] = expression.arguments;
    return expression.name === "values" && others.length === 0 ? callIn(argument) : undefined;
  }
  if (expression?.kind !== "scope-traversal" || expression.steps.length !== 1) return undefined;
  return callName(expression) === undefined ? undefined : expression;
}

function callName({ root, steps: [step] }: ScopeTraversal): string | undefined {
  return root === "module" && step?.kind === "attribute-step" ? step.name : undefined;
}
