import { append } from "@stackwright/base/append";
import {
  type Attribute,
  type Block,
  type Body,
  type Expression,
  expressionReferences,
  parseFile,
  parseReference,
  type ScopeTraversal,
  type SyntaxFile,
} from "@stackwright/lang";
import type { Declaration, ModuleSymbol, Occurrence, Span } from "./symbol.ts";

/** What a file of the native syntax declares, and which names it has where. */
export interface FileIndex {
  readonly file: SyntaxFile;
  readonly declarations: readonly Declaration[];
  /** In the order of the file, declarations among them. */
  readonly occurrences: readonly Occurrence[];
  /** The sources of the module calls by name, as far as they are constants. */
  readonly calls: ReadonlyMap<string, string>;
  /** The sources of required providers by local name. */
  readonly providers: ReadonlyMap<string, string>;
}

/** What the names of a file mean: a configuration, or values of variables. */
export type FileRole = "configuration" | "values";

/**
 * Finds the names of a file. Nothing outside of the file is looked at, so that an index is good for as long as the text is the
 * same; what the names of called modules mean is for the workspace.
 */
export function indexFile(name: string, text: string, role: FileRole): FileIndex {
  const file = parseFile({ name, text });
  const indexer = new Indexer();
  if (role === "values") indexer.values(file.body);
  else indexer.configuration(file.body);
  return {
    file,
    declarations: indexer.declarations,
    occurrences: indexer.occurrences.toSorted((a, b) => a.span.start - b.span.start),
    calls: indexer.calls,
    providers: indexer.providers,
  };
}

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
  "enabled",
  "depends_on",
]);

class Indexer {
  readonly declarations: Declaration[] = [];
  readonly occurrences: Occurrence[] = [];
  readonly calls = new Map<string, string>();
  readonly providers = new Map<string, string>();

  values(body: Body): void {
    for (const item of body.items) {
      if (item.kind !== "attribute") continue;
      const symbol: ModuleSymbol = { kind: "variable", name: item.name };
      this.occurrences.push({ symbol, span: nameOf(item), declares: false });
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
        this.#body(block.body, new Set(["type"]));
        return;
      case "output":
        if (first !== undefined) {
          this.#declare({ kind: "output", name: first.value }, labelSpan(first), block);
        }
        this.#body(block.body);
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
      case "moved":
      case "removed": {
        const before = this.occurrences.length;
        this.#body(block.body);
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
    this.declarations.push({ symbol, span, whole: { start: whole.start, end: whole.end } });
    this.occurrences.push({ symbol, span, declares: true });
  }

  /** A configuration is named by its alias, where it has one. */
  #provider(label: Block["labels"][number], block: Block): void {
    const alias = argument(block.body, "alias");
    if (alias?.kind !== "string") {
      this.#declare({ kind: "provider", name: label.value }, labelSpan(label), block);
      return;
    }
    const name = `${label.value}.${alias.value}`;
    const span = { start: alias.start + 1, end: Math.max(alias.start + 1, alias.end - 1) };
    this.#declare({ kind: "provider", name }, span, block);
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
        const symbol: ModuleSymbol = { kind: "variable", name: item.name };
        this.occurrences.push({ symbol, call: label.value, span: nameOf(item), declares: false });
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
      if (item.kind !== "block" || item.type !== "required_providers") continue;
      for (const entry of item.body.items) {
        if (entry.kind !== "attribute" || entry.expression.kind !== "object") continue;
        for (const { key, value } of entry.expression.items) {
          if (key.literal !== "source" || value.kind !== "string") continue;
          this.providers.set(entry.name, value.value);
        }
      }
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
      this.#expression(item.expression, iterators);
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

  #providerReference(expression: Expression): void {
    if (expression.kind !== "scope-traversal") return;
    const [step] = expression.steps;
    const { root, start, rootEnd } = expression;
    if (step?.kind !== "attribute-step") {
      const span = { start, end: rootEnd };
      this.occurrences.push({ symbol: { kind: "provider", name: root }, span, declares: false });
      return;
    }
    const symbol: ModuleSymbol = { kind: "provider", name: `${root}.${step.name}` };
    const span = { start: step.end - step.name.length, end: step.end };
    this.occurrences.push({ symbol, span, declares: false });
  }

  #expression(expression: Expression, iterators: ReadonlySet<string> = NONE): void {
    for (const traversal of expressionReferences(expression)) {
      if (!iterators.has(traversal.root)) this.#reference(traversal);
    }
  }

  #reference(traversal: ScopeTraversal): void {
    const subject = parseReference(traversal)?.subject;
    if (subject?.kind === "variable" || subject?.kind === "local") {
      this.#named(traversal, 0, { kind: subject.kind, name: subject.name });
    } else if (subject?.kind === "module") {
      this.#named(traversal, 0, { kind: "module", name: subject.name });
      if (subject.output === undefined) return;
      const symbol: ModuleSymbol = { kind: "output", name: subject.output };
      this.#named(traversal, subject.key === undefined ? 1 : 2, symbol, subject.name);
    } else if (subject?.kind === "resource") {
      const { mode, type, name } = subject;
      const prefix = mode === "managed" ? "" : `${mode}.`;
      const at = mode !== "managed" || traversal.root === "resource" ? 1 : 0;
      this.#named(traversal, at, { kind: "resource", name: `${prefix}${type}.${name}` });
    }
  }

  /** The name that a step of a reference is. */
  #named(traversal: ScopeTraversal, at: number, symbol: ModuleSymbol, call?: string): void {
    const step = traversal.steps[at];
    if (step?.kind !== "attribute-step" || step.source !== traversal.source) return;
    // Text inside of another source, such as a template in JSON, has offsets of its own.
    if (step.source.embedding !== undefined) return;
    const span = { start: step.end - step.name.length, end: step.end };
    this.occurrences.push({ symbol, ...(call !== undefined && { call }), span, declares: false });
  }
}

const NONE: ReadonlySet<string> = new Set();

function nameOf({ start, nameEnd }: Attribute): Span {
  return { start, end: nameEnd };
}

/** The text of a label, without its quotes. */
function labelSpan({ start, end, quoted }: Block["labels"][number]): Span {
  return quoted ? { start: start + 1, end: Math.max(start + 1, end - 1) } : { start, end };
}

/** The value of an argument that is a string without sequences. */
function constant(body: Body, name: string): string | undefined {
  const found = argument(body, name);
  return found?.kind === "string" ? found.value : undefined;
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
