import { dirname } from "node:path";
import type { Type } from "@stackwright/cty";
import {
  type Block,
  functionSignature,
  type InstanceKey,
  STANDARD_FUNCTIONS,
  schemaType,
} from "@stackwright/lang";
import {
  type CompletionItem,
  CompletionItemKind,
  CompletionItemTag,
  InsertTextFormat,
} from "vscode-languageserver-protocol";
import { findPlace, type Place } from "../document/find-place.ts";
import { textPlace } from "../document/text-place.ts";
import { type WrittenPath, writtenPath } from "../document/written-path.ts";
import type { FileIndex } from "../index/file-index.ts";
import type { SymbolKind } from "../index/symbol.ts";
import {
  type ArgumentShape,
  type BlockShape,
  bodyShape,
  knownTypes,
  providerBody,
  type ShapeContext,
} from "../schema/body-shape.ts";
import type { DescribedBlock } from "../schema/provider-schemas.ts";
import { type FeatureContext, moduleInputs, shapeContext } from "./feature-context.ts";

/** A proposal, and what of the text before the offset it takes the place of. */
interface Completions {
  readonly items: readonly CompletionItem[];
  /** Where the replaced text begins; it ends at the offset. */
  readonly start: number;
}

const NONE: Completions = { items: [], start: 0 };
/** Most proposals of one request; the client asks again with more of the name. */
const MAX_ITEMS = 2000;

/** Proposes what may stand at an offset. Works in incomplete code: only the text before the offset decides what is replaced. */
export function complete(context: FeatureContext, path: string, offset: number): Completions {
  const index = context.workspace.index(path);
  if (index === undefined) return NONE;
  const completer = new Completer(context, path, index, offset);
  const { items, start } = completer.complete();
  return { items: items.slice(0, MAX_ITEMS), start };
}

class Completer {
  readonly #context: FeatureContext;
  readonly #path: string;
  readonly #index: FileIndex;
  readonly #offset: number;
  readonly #text: string;
  readonly #place: Place;
  readonly #written: WrittenPath;
  #shapes: ShapeContext | undefined;

  constructor(context: FeatureContext, path: string, index: FileIndex, offset: number) {
    this.#context = context;
    this.#path = path;
    this.#index = index;
    this.#offset = offset;
    this.#text = index.file.source.text;
    this.#place = findPlace(index.file, offset);
    this.#written = writtenPath(this.#text, offset);
  }

  get #shape(): ShapeContext {
    return (this.#shapes ??= shapeContext(this.#context, this.#path));
  }

  complete(): Completions {
    const kind = textPlace(this.#index.file, this.#offset);
    if (kind === "comment") return NONE;
    const line = this.#text.slice(this.#text.lastIndexOf("\n", this.#offset - 1) + 1, this.#offset);
    if (this.#path.endsWith(".tfvars")) return this.#valueNames(line);
    const label = /^\s*([a-z]+)\s+(?:"[^"\n]*"\s+)*"([^"\n]*)$/.exec(line);
    if (label !== null) return this.#labels(line, label[1] ?? "", label[2] ?? "");
    if (kind === "text") return NONE;
    const isExpression =
      this.#written.steps.length > 0 || this.#inExpression() || /[=([{,?:]/.test(line);
    const items = isExpression ? this.#references() : this.#names(line);
    return { items, start: this.#written.start };
  }

  #inExpression(): boolean {
    const { attribute } = this.#place;
    return attribute !== undefined && this.#offset > attribute.equalsStart;
  }

  // ---- names of arguments and blocks ----

  #names(line: string): CompletionItem[] {
    if (!/^\s*[\p{ID_Start}_]?[\p{ID_Continue}-]*$/u.test(line)) return [];
    const { blocks } = this.#place;
    if (blocks.at(-1)?.type === "required_providers") return [];
    const shape = bodyShape(blocks, this.#shape);
    if (shape === undefined) return [];
    const present = this.#presentNames();
    const items: CompletionItem[] = [];
    for (const [name, argument] of shape.arguments) {
      if (argument.readOnly || present.has(name)) continue;
      items.push(argumentItem(name, argument));
    }
    for (const [name, block] of shape.blocks) items.push(blockItem(name, block));
    return items;
  }

  #presentNames(): Set<string> {
    const { blocks, attribute } = this.#place;
    const body = blocks.at(-1)?.body ?? this.#index.file.body;
    return new Set(
      body.items.flatMap((item) =>
        item.kind === "attribute" && item !== attribute ? [item.name] : [],
      ),
    );
  }

  #valueNames(line: string): Completions {
    if (/[="]/.test(line)) return NONE;
    const inputs = moduleInputs(this.#context.workspace, dirname(this.#path));
    const present = this.#presentNames();
    const items = [...inputs]
      .filter(([name]) => !present.has(name))
      .map(([name, argument]) => argumentItem(name, argument));
    return { items, start: this.#written.start };
  }

  /** The text of a label that is being written. */
  #labels(line: string, type: string, prefix: string): Completions {
    const start = this.#offset - prefix.length;
    const isFirst = (line.match(/"/g) ?? []).length === 1;
    const shape = this.#shape;
    const plain = (label: string, detail = ""): CompletionItem => ({
      label,
      detail,
      kind: CompletionItemKind.Class,
    });
    if (!isFirst) return { items: [], start };
    if (type === "provider") {
      const names = [...this.#shape.requiredProviders.keys()];
      return { items: names.map((name) => plain(name)), start };
    }
    if (type === "dynamic") {
      const inner = bodyShape(this.#place.blocks, shape);
      const items = [...(inner?.blocks ?? [])]
        .filter(([name]) => name !== "dynamic" && name !== "lifecycle")
        .map(([name, { description }]) => plain(name, description));
      return { items, start };
    }
    const types = knownTypes(type, shape);
    return {
      items: [...types].map(([name, block]) => ({
        ...plain(name),
        ...documented(block.description ?? ""),
        ...tagged(block.deprecated),
      })),
      start,
    };
  }

  // ---- references ----

  #references(): CompletionItem[] {
    const { steps } = this.#written;
    if (steps.length === 0) return this.#roots();
    const [root = "", first, second] = steps;
    const own = dirname(this.#path);
    switch (root) {
      case "var":
        return steps.length === 1 ? this.#declared("variable", own) : [];
      case "local":
        return steps.length === 1 ? this.#declared("local", own) : [];
      case "module": {
        if (first === undefined) return this.#declared("module", own);
        const called = this.#context.workspace.calledFolder(own, first);
        const isOutput = steps.length === 2 || (steps.length === 3 && second === "[]");
        return called !== undefined && isOutput ? this.#declared("output", called) : [];
      }
      case "each":
        return words(["key", "value"]);
      case "count":
        return words(["index"]);
      case "path":
        return words(["module", "root", "cwd"]);
      case "terraform":
        return words(["workspace"]);
      case "self": {
        const block = this.#place.blocks[0];
        return block === undefined ? [] : this.#attributes(block, steps.slice(1));
      }
      case "data":
      case "ephemeral":
        return this.#resources(root, `${root}.`, steps.slice(1));
      default:
        return this.#resources("resource", "", steps);
    }
  }

  #declared(kind: SymbolKind, folder: string): CompletionItem[] {
    const inputs = kind === "variable" ? moduleInputs(this.#context.workspace, folder) : undefined;
    return this.#context.workspace
      .declarations(folder)
      .filter(({ symbol }) => symbol.kind === kind)
      .map(({ symbol: { name } }) => {
        const input = inputs?.get(name);
        return {
          label: name,
          kind: CompletionItemKind.Variable,
          ...(input !== undefined && {
            detail: input.type ?? "",
            ...documented(input.description),
          }),
        };
      });
  }

  /** Types, names and attributes of resources, after the steps that are written. */
  #resources(blockType: string, prefix: string, steps: readonly string[]): CompletionItem[] {
    const [type, name, ...rest] = steps;
    const addresses = this.#context.workspace
      .declarations(dirname(this.#path))
      .filter(({ symbol }) => symbol.kind === "resource" && symbol.name.startsWith(prefix))
      .map(({ symbol }) => symbol.name.slice(prefix.length).split("."))
      .filter((parts) => parts.length === 2);
    if (type === undefined) return words([...new Set(addresses.map(([each = ""]) => each))]);
    if (name === undefined) {
      return words(addresses.flatMap(([each, own = ""]) => (each === type ? [own] : [])));
    }
    const label = { value: type } as Block["labels"][number];
    return this.#attributes({ type: blockType, labels: [label] }, rest);
  }

  #attributes(block: Pick<Block, "type" | "labels">, steps: readonly string[]): CompletionItem[] {
    const schema = providerBody(block, this.#shape);
    if (schema === undefined) return [];
    if (steps.every((step) => step === "[]")) return attributeItems(schema);
    let type: Type | undefined = schemaType(schema);
    for (const step of steps) type = type && stepType(type, step);
    if (type?.kind !== "object") return [];
    return words([...type.attributes()].map(([name]) => name));
  }

  #roots(): CompletionItem[] {
    const { blocks, attribute } = this.#place;
    const top = blocks[0];
    const items: CompletionItem[] = [];
    const argument = attribute && bodyShape(blocks, this.#shape)?.arguments.get(attribute.name);
    for (const value of argument?.values ?? []) {
      items.push({ label: value, kind: CompletionItemKind.EnumMember, sortText: `0${value}` });
    }
    if (top?.type === "variable" && attribute?.name === "type") return items;
    const own = this.#context.workspace.declarations(dirname(this.#path));
    const kinds = new Set(own.map(({ symbol }) => symbol.kind));
    const roots = new Set(["path", "terraform"]);
    if (kinds.has("variable")) roots.add("var");
    if (kinds.has("local")) roots.add("local");
    if (kinds.has("module")) roots.add("module");
    for (const { symbol } of own) {
      if (symbol.kind === "resource") roots.add(symbol.name.split(".")[0] ?? "");
    }
    const names = new Set(
      top?.body.items.flatMap((item) => (item.kind === "attribute" ? [item.name] : [])),
    );
    if (names.has("count")) roots.add("count");
    if (names.has("for_each")) roots.add("each");
    if (blocks.some(({ type }) => ["provisioner", "connection", "postcondition"].includes(type))) {
      roots.add("self");
    }
    if (attribute?.name === "provider" || attribute?.name === "providers") {
      for (const { symbol } of own) if (symbol.kind === "provider") roots.add(symbol.name);
    }
    for (const root of roots) {
      items.push({ label: root, kind: CompletionItemKind.Module, sortText: `1${root}` });
    }
    for (const word of ["true", "false", "null"]) {
      items.push({ label: word, kind: CompletionItemKind.Keyword, sortText: `2${word}` });
    }
    for (const definition of STANDARD_FUNCTIONS) {
      const { name, description, deprecated } = definition;
      items.push({
        label: name,
        kind: CompletionItemKind.Function,
        detail: functionSignature(definition),
        sortText: `3${name}`,
        insertText: `${name}($0)`,
        insertTextFormat: InsertTextFormat.Snippet,
        ...documented(description),
        ...tagged(deprecated !== undefined),
      });
    }
    return items;
  }
}

function stepType(type: Type, step: InstanceKey): Type | undefined {
  if (step === "[]") {
    return type.kind === "list" || type.kind === "set" || type.kind === "map"
      ? type.element
      : undefined;
  }
  if (type.kind !== "object") return undefined;
  return new Map(type.attributes()).get(String(step));
}

function attributeItems(schema: DescribedBlock): CompletionItem[] {
  return [
    ...[...schema.attributes].map(([label, { description = "", deprecated }]) => ({
      label,
      kind: CompletionItemKind.Field,
      ...documented(description),
      ...tagged(deprecated),
    })),
    ...[...schema.blocks.keys()].map((label) => ({ label, kind: CompletionItemKind.Struct })),
  ];
}

function words(labels: readonly string[]): CompletionItem[] {
  return [...new Set(labels)].map((label) => ({ label, kind: CompletionItemKind.Field }));
}

function argumentItem(label: string, argument: ArgumentShape): CompletionItem {
  const { type, required, description, deprecated } = argument;
  const need = required ? "required" : "optional";
  return {
    label,
    kind: CompletionItemKind.Property,
    detail: type === undefined ? need : `${need}, ${type}`,
    // What must be there comes first.
    sortText: `${required ? 0 : 1}${label}`,
    insertText: `${label} = ${valueSnippet(type)}`,
    insertTextFormat: InsertTextFormat.Snippet,
    ...documented(description),
    ...tagged(deprecated),
  };
}

function valueSnippet(type: string | undefined): string {
  if (type === "string") return '"$0"';
  if (type?.startsWith("list(") === true || type?.startsWith("set(") === true) return "[$0]";
  if (type?.startsWith("map(") === true || type?.startsWith("object(") === true) {
    return "{\n  $0\n}";
  }
  return "$0";
}

function blockItem(label: string, block: BlockShape): CompletionItem {
  const { labels, description, required, deprecated } = block;
  const header = labels.map((name, at) => ` "\${${at + 1}:${name}}"`).join("");
  return {
    label,
    kind: CompletionItemKind.Struct,
    detail: required ? "required block" : "block",
    sortText: `${required ? 0 : 2}${label}`,
    insertText: `${label}${header} {\n  $0\n}`,
    insertTextFormat: InsertTextFormat.Snippet,
    ...documented(description),
    ...tagged(deprecated),
  };
}

function documented(description: string): Pick<CompletionItem, "documentation"> {
  return description === "" ? {} : { documentation: { kind: "markdown", value: description } };
}

function tagged(isDeprecated: boolean): Pick<CompletionItem, "tags"> {
  return isDeprecated ? { tags: [CompletionItemTag.Deprecated] } : {};
}
