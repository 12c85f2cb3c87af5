import { append } from "@stackwright/base/append";
import {
  type Attribute,
  type AttributeStep,
  type Block,
  type Body,
  type Expression,
  expressionReferences,
  jsonExpression,
  nativeForm,
  parseReference,
  type ScopeTraversal,
  type SyntaxNode,
} from "@stackwright/lang";
import { instanceUses } from "./instance-outputs.ts";
import {
  type Declaration,
  type ModuleSymbol,
  type Occurrence,
  type Span,
  shortName,
} from "./symbol.ts";
import { textOf } from "./text-of.ts";

const RESOURCE_PREFIX: Readonly<Record<string, string>> = {
  resource: "",
  data: "data.",
  ephemeral: "ephemeral.",
};

/** Arguments of module calls that are no inputs. */
const CALL_META: ReadonlySet<string> = new Set([
  "source",
  "version",
  "providers",
  "count",
  "for_each",
  "depends_on",
]);

/** Arguments of variables and outputs that are not evaluated: in JSON syntax their texts are what they are, and no templates. */
const CONSTANTS: ReadonlySet<string> = new Set(["type", "default", "description", "deprecated"]);

/** Walks a file and collects what it names. */
export class NameCollector {
  readonly declarations: Declaration[] = [];
  readonly occurrences: Occurrence[] = [];
  readonly calls = new Map<string, string>();
  readonly providers = new Map<string, string>();
  readonly runs = new Map<string, string>();
  readonly wholes = new Set<string>();
  /** Whose module names are of, in a test. */
  #within: Pick<Occurrence, "run" | "isShared"> = {};
  #isTest = false;

  values(body: Body): void {
    for (const item of body.items) {
      if (item.kind !== "attribute") continue;
      this.#use({ kind: "variable", name: item.name }, nameOf(item));
    }
  }

  test(body: Body): void {
    this.#isTest = true;
    for (const item of body.items) {
      if (item.kind !== "block") continue;
      if (item.type === "run") this.#run(item);
      else if (item.type === "variables") this.#as({ isShared: true }, () => this.#set(item.body));
      else if (item.type === "mock_provider") this.#overrides(item.body);
      else if (item.type === "provider") this.#as({ isShared: true }, () => this.#body(item.body));
      else this.#override(item);
    }
  }

  configuration(body: Body): void {
    for (const item of body.items) {
      if (item.kind === "block") this.#topBlock(item);
    }
  }

  #topBlock(block: Block): void {
    const [first, second] = block.labels;
    const prefix = RESOURCE_PREFIX[block.type];
    if (prefix !== undefined) {
      if (first !== undefined && second !== undefined) {
        const name = `${prefix}${first.value}.${second.value}`;
        this.#declare({ kind: "resource", name }, labelSpan(second), block);
      }
      this.#resourceBody(block.body);
      return;
    }
    switch (block.type) {
      case "variable":
        if (first !== undefined) {
          this.#declare({ kind: "variable", name: first.value }, labelSpan(first), block);
        }
        this.#body(block.body, CONSTANTS);
        return;
      case "output":
        if (first !== undefined) {
          this.#declare({ kind: "output", name: first.value }, labelSpan(first), block);
        }
        this.#body(block.body, CONSTANTS);
        return;
      case "locals":
        for (const item of block.body.items) {
          if (item.kind !== "attribute") continue;
          this.#declare({ kind: "local", name: item.name }, nameOf(item), item);
          this.#expression(item.expression);
        }
        return;
      case "provider":
        if (first !== undefined) this.#provider(first, block);
        this.#body(block.body);
        return;
      case "module":
        this.#call(block);
        return;
      case "terraform":
        this.#settings(block.body);
        return;
      case "check":
        for (const item of block.body.items) {
          if (item.kind === "block" && item.type === "data") this.#topBlock(item);
          else this.#item(item);
        }
        return;
      case "import":
        this.#addresses(block.body);
        return;
      case "moved":
      case "removed": {
        const before = this.occurrences.length;
        this.#addresses(block.body);
        const own = this.occurrences.splice(before);
        append(
          this.occurrences,
          own.map((each) => ({ ...each, isHistory: true })),
        );
        return;
      }
      default:
        this.#resourceBody(block.body);
    }
  }

  #declare(symbol: ModuleSymbol, span: Span, whole: Span): void {
    // What is no text, such as a sequence in a label, is read as an empty one.
    if (shortName(symbol) === "") return;
    this.declarations.push({ symbol, span, whole: { start: whole.start, end: whole.end } });
    this.occurrences.push({ symbol, span, declares: true });
  }

  #use(symbol: ModuleSymbol, span: Span, calls: readonly string[] = []): void {
    const within = calls.length > 0 ? { ...this.#within, calls } : this.#within;
    this.occurrences.push({ symbol, span, declares: false, ...within });
  }

  #as(within: Pick<Occurrence, "run" | "isShared">, visit: () => void): void {
    const before = this.#within;
    this.#within = within;
    visit();
    this.#within = before;
  }

  /** The values that a test gives to variables. They are made of those that the file has for all runs. */
  #set(body: Body): void {
    this.values(body);
    this.#as({ isShared: true }, () => this.#body(body));
  }

  #run(block: Block): void {
    const [label] = block.labels;
    if (label === undefined) return;
    const run = label.value;
    this.#declare({ kind: "run", name: run }, labelSpan(label), block);
    for (const item of block.body.items) {
      if (item.kind !== "block" || item.type !== "module") continue;
      const source = constant(item.body, "source");
      if (source !== undefined) this.runs.set(run, source);
    }
    this.#as({ run }, () => {
      for (const item of block.body.items) {
        if (item.kind === "attribute") {
          if (item.name === "expect_failures") this.#expression(item.expression);
        } else if (item.type === "variables") {
          this.#set(item.body);
        } else if (item.type === "plan_options") {
          for (const option of item.body.items) {
            if (option.kind !== "attribute" || option.expression.kind !== "tuple") continue;
            for (const element of option.expression.elements) this.#address(element);
          }
        } else if (item.type === "assert") {
          this.#body(item.body);
        } else {
          this.#override(item);
        }
      }
    });
  }

  #overrides(body: Body): void {
    for (const item of body.items) if (item.kind === "block") this.#override(item);
  }

  /** What takes the place of an object, or of the outputs of a module. */
  #override({ type, body }: Block): void {
    if (!type.startsWith("override_")) return;
    const target = argument(body, "target");
    const calls = target && this.#address(target);
    for (const item of body.items) {
      if (item.kind !== "attribute" || item.name === "target") continue;
      this.#expression(item.expression);
      const { expression } = item;
      const isOfModule = type === "override_module" && item.name === "outputs";
      if (!isOfModule || calls === undefined || expression.kind !== "object") continue;
      for (const { key } of expression.items) {
        const name = key.literal ?? textOf(key.expression);
        if (name === undefined || name === "") continue;
        const span = key.literal === undefined ? inQuotes(key) : key;
        this.#use({ kind: "output", name }, { start: span.start, end: span.end }, calls);
      }
    }
  }

  #addresses(body: Body): void {
    for (const item of body.items) {
      const isAddress = item.kind === "attribute" && (item.name === "from" || item.name === "to");
      if (isAddress) this.#address(item.expression);
      else if (item.kind === "attribute" && item.name === "provider")
        this.#providerReference(item.expression);
      else this.#item(item);
    }
  }

  /** An address such as `module.a.lab_server.b[0]`: the calls in it, which are all of one that is of a module. */
  #address(written: Expression): readonly string[] {
    const expression = unquoted(written);
    const calls: string[] = [];
    if (expression.kind !== "scope-traversal") {
      this.#expression(expression);
      return calls;
    }
    const names = expression.steps.filter((step) => step.kind === "attribute-step");
    let word: string | undefined = expression.root;
    let at = 0;
    while (word === "module") {
      const step = names[at];
      if (step === undefined) return calls;
      this.#use({ kind: "module", name: step.name }, stepSpan(step), [...calls]);
      calls.push(step.name);
      word = names[at + 1]?.name;
      at += 2;
    }
    const isOfMode = word === "data" || word === "ephemeral" || word === "resource";
    const prefix = word === "data" || word === "ephemeral" ? `${word}.` : "";
    if (isOfMode) word = names[at++]?.name;
    const step = names[at];
    if (word === undefined || step === undefined) return calls;
    this.#use({ kind: "resource", name: `${prefix}${word}.${step.name}` }, stepSpan(step), calls);
    return calls;
  }

  /** A configuration is named by its alias, where it has one. */
  #provider(label: Block["labels"][number], block: Block): void {
    const alias = argument(block.body, "alias");
    const text = alias && textOf(alias);
    if (alias === undefined || text === undefined || text === "") {
      this.#declare({ kind: "provider", name: label.value }, labelSpan(label), block);
      return;
    }
    this.#declare({ kind: "provider", name: `${label.value}.${text}` }, inQuotes(alias), block);
  }

  #call(block: Block): void {
    const [label] = block.labels;
    if (label !== undefined) {
      this.#declare({ kind: "module", name: label.value }, labelSpan(label), block);
      const source = constant(block.body, "source");
      if (source !== undefined) this.calls.set(label.value, source);
    }
    for (const item of block.body.items) {
      if (item.kind === "attribute" && label !== undefined && !CALL_META.has(item.name)) {
        this.#use({ kind: "variable", name: item.name }, nameOf(item), [label.value]);
      }
      if (item.kind === "attribute" && item.name === "providers") {
        const { expression } = item;
        if (expression.kind !== "object") continue;
        for (const { value } of expression.items) this.#providerReference(value);
        continue;
      }
      this.#item(item);
    }
  }

  #settings(body: Body): void {
    for (const item of body.items) {
      if (item.kind !== "block" || item.type !== "required_providers") {
        this.#early(item);
        continue;
      }
      for (const entry of item.body.items) {
        if (entry.kind !== "attribute" || entry.expression.kind !== "object") continue;
        for (const { key, value } of entry.expression.items) {
          const source = textOf(value);
          if ((key.literal ?? textOf(key.expression)) !== "source" || source === undefined)
            continue;
          this.providers.set(entry.name, source);
        }
      }
    }
  }

  /** What is known before a run may stand in settings, such as where the state is kept; other names there are of the settings. */
  #early(item: Attribute | Block): void {
    if (item.kind === "block") {
      for (const inner of item.body.items) this.#early(inner);
      return;
    }
    if (item.name === "required_version") return;
    for (const traversal of expressionReferences(item.expression)) {
      if (traversal.root === "var" || traversal.root === "local") this.#reference(traversal);
    }
  }

  /** Bodies in which `provider` chooses a configuration. */
  #resourceBody(body: Body): void {
    for (const item of body.items) {
      if (item.kind === "attribute" && item.name === "provider") {
        this.#providerReference(item.expression);
      } else {
        this.#item(item);
      }
    }
  }

  #body(body: Body, skipped: ReadonlySet<string> = NONE, iterators: ReadonlySet<string> = NONE) {
    for (const item of body.items) {
      if (item.kind === "attribute" && skipped.has(item.name)) continue;
      this.#item(item, iterators);
    }
  }

  #item(item: Attribute | Block, iterators: ReadonlySet<string> = NONE): void {
    if (item.kind === "attribute") {
      const { name, expression } = item;
      const isList = name === "depends_on" && expression.kind === "tuple";
      for (const each of isList ? expression.elements.map(unquoted) : [expression]) {
        this.#expression(each, iterators, name === "depends_on");
      }
      return;
    }
    if (item.type === "lifecycle") {
      // What changes are ignored of are paths into the resource.
      this.#body(item.body, new Set(["ignore_changes"]), iterators);
      return;
    }
    if (item.type !== "dynamic") {
      this.#body(item.body, NONE, iterators);
      return;
    }
    const iterator = keyword(item.body, "iterator") ?? item.labels[0]?.value;
    const inner = iterator === undefined ? iterators : new Set([...iterators, iterator]);
    for (const own of item.body.items) {
      if (own.kind === "attribute" && own.name === "iterator") continue;
      this.#item(own, own.kind === "block" || own.name === "labels" ? inner : iterators);
    }
  }

  #providerReference(written: Expression): void {
    const expression = unquoted(written);
    if (expression.kind !== "scope-traversal") return;
    const [step] = expression.steps;
    const { source, root, start, rootEnd } = expression;
    if (step?.kind !== "attribute-step") {
      const span = { start: source.fileOffset(start), end: source.fileOffset(rootEnd) };
      this.#use({ kind: "provider", name: root }, span);
      return;
    }
    this.#use({ kind: "provider", name: `${root}.${step.name}` }, stepSpan(step));
  }

  #expression(
    expression: Expression,
    iterators: ReadonlySet<string> = NONE,
    isOrder = false,
  ): void {
    for (const traversal of expressionReferences(expression)) {
      if (!iterators.has(traversal.root)) this.#reference(traversal);
    }
    const { outputs, wholes } = instanceUses(expression);
    for (const { call, step } of outputs) {
      this.#use({ kind: "output", name: step.name }, stepSpan(step), [call]);
    }
    if (!isOrder) for (const call of wholes) this.wholes.add(call);
  }

  #reference(traversal: ScopeTraversal): void {
    if (this.#isTest && this.#ofTest(traversal)) return;
    const subject = parseReference(traversal)?.subject;
    if (subject?.kind === "variable" || subject?.kind === "local") {
      this.#named(traversal, 0, { kind: subject.kind, name: subject.name });
    } else if (subject?.kind === "module") {
      this.#named(traversal, 0, { kind: "module", name: subject.name });
      if (subject.output === undefined) return;
      const symbol: ModuleSymbol = { kind: "output", name: subject.output };
      this.#named(traversal, subject.key === undefined ? 1 : 2, symbol, [subject.name]);
    } else if (subject?.kind === "resource") {
      const { mode, type, name } = subject;
      const prefix = mode === "managed" ? "" : `${mode}.`;
      const at = mode !== "managed" || traversal.root === "resource" ? 1 : 0;
      this.#named(traversal, at, { kind: "resource", name: `${prefix}${type}.${name}` });
    }
  }

  /** References that tests alone have; whether it is one. */
  #ofTest(traversal: ScopeTraversal): boolean {
    const { root, steps } = traversal;
    const [first, second] = steps;
    if (root === "check") return true;
    if ((root !== "run" && root !== "output") || first?.kind !== "attribute-step") return false;
    if (root === "output") {
      this.#named(traversal, 0, { kind: "output", name: first.name });
      return true;
    }
    this.#as({}, () => this.#named(traversal, 0, { kind: "run", name: first.name }));
    if (second?.kind !== "attribute-step") return true;
    this.#as({ run: first.name }, () =>
      this.#named(traversal, 1, { kind: "output", name: second.name }),
    );
    return true;
  }

  /** The name that a step of a reference is. */
  #named(
    traversal: ScopeTraversal,
    at: number,
    symbol: ModuleSymbol,
    calls: readonly string[] = [],
  ): void {
    const step = traversal.steps[at];
    if (step?.kind !== "attribute-step" || step.source !== traversal.source) return;
    this.#use(symbol, stepSpan(step), calls);
  }
}

const NONE: ReadonlySet<string> = new Set();

/** A reference in quotes, as it once was written, and is still read. */
function unquoted(expression: Expression): Expression {
  if (expression.kind !== "string") return expression;
  const { source, start, end, value } = expression;
  if (source.text.slice(start + 1, end - 1) !== value) return expression;
  const node = { kind: "string", source, start, end, value } as const;
  return nativeForm(jsonExpression(node, [])).value ?? expression;
}

function nameOf({ start, nameEnd }: Attribute): Span {
  return { start, end: nameEnd };
}

/** The text of a label, without its quotes. */
function labelSpan(label: Block["labels"][number]): Span {
  return label.quoted ? inQuotes(label) : { start: label.start, end: label.end };
}

/** What is between the quotes, of which that at the end may not be written yet. */
function inQuotes({ source, start, end }: SyntaxNode): Span {
  const isClosed = end > start + 1 && source.text[end - 1] === '"';
  return { start: start + 1, end: Math.max(start + 1, isClosed ? end - 1 : end) };
}

/** The name in a step, in the file: text in JSON has offsets of its own. */
function stepSpan({ source, end, ...step }: AttributeStep): Span {
  return {
    start: source.fileOffset(end - step.name.length),
    end: source.fileOffset(end),
  };
}

/** The value of an argument that is a string without sequences. */
function constant(body: Body, name: string): string | undefined {
  const found = argument(body, name);
  return found && textOf(found);
}

function keyword(body: Body, name: string): string | undefined {
  const found = argument(body, name);
  return found?.kind === "scope-traversal" && found.steps.length === 0 ? found.root : undefined;
}

function argument(body: Body, name: string): Expression | undefined {
  for (const item of body.items) {
    if (item.kind === "attribute" && item.name === name) return item.expression;
  }
  return undefined;
}
