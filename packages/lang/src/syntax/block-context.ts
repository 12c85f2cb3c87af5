import { parseJson } from "./json-parser.ts";
import type { JsonSyntaxNode } from "./json-tree.ts";
import { parseFile } from "./parse.ts";
import type { SourceFile, SourceRange } from "./source-file.ts";

/** Names the block that holds an offset of its file, if any. */
type ContextAt = (offset: number) => string | undefined;

/** Files that were parsed once more for the contexts of their problems. */
const outlines = new WeakMap<SourceFile, ContextAt>();

/** Endings of files whose structure is that of a configuration. */
const CONFIGURATION = /\.(?:tf|tofu|tfvars|hcl)(?:\.json)?$/;

/**
 * Returns the block around a range, as it is named with the place of a problem: the header of the top-level block
 * (`resource "aws_vpc" "main"`), in a JSON file the path to the innermost object or array (`resource.aws_vpc.main`).
 * Undefined for the header of a top-level block itself, for what is in no block, and for files of other kinds.
 */
export function blockContext({ source, start }: SourceRange): string | undefined {
  const { file } = source;
  if (!CONFIGURATION.test(file.name)) return undefined;
  let contextAt = outlines.get(file);
  if (contextAt === undefined) {
    contextAt = file.name.endsWith(".json") ? jsonOutline(file) : nativeOutline(file);
    outlines.set(file, contextAt);
  }
  // The character before decides: the first one of a block is in what surrounds it.
  return contextAt(source.fileOffset(start) - 1);
}

function nativeOutline(file: SourceFile): ContextAt {
  const blocks = parseFile(file).body.items.filter((item) => item.kind === "block");
  return (offset) => {
    const found = blocks.find(({ start, end }) => start <= offset && offset < end);
    if (found === undefined) return undefined;
    return [found.type, ...found.labels.map(({ value }) => JSON.stringify(value))].join(" ");
  };
}

function jsonOutline(file: SourceFile): ContextAt {
  const { root } = parseJson(file);
  return (offset) => {
    let path = "";
    let node: JsonSyntaxNode | undefined = root;
    while (node !== undefined) {
      const inner = childAt(node, offset);
      if (inner === undefined) break;
      path += inner.step;
      node = inner.node;
    }
    return path === "" ? undefined : path.replace(/^\./, "");
  };
}

/** The object or array directly in a node that holds the offset, with the step that leads to it. */
function childAt(
  node: JsonSyntaxNode,
  offset: number,
): { readonly step: string; readonly node: JsonSyntaxNode } | undefined {
  const holds = (child: JsonSyntaxNode): boolean =>
    (child.kind === "object" || child.kind === "array") &&
    child.start <= offset &&
    offset < child.end;
  if (node.kind === "object") {
    const member = node.members.find(({ value }) => holds(value));
    return member && { step: `.${member.name.value}`, node: member.value };
  }
  if (node.kind !== "array") return undefined;
  const index = node.elements.findIndex(holds);
  const element = node.elements[index];
  return element && { step: `[${index}]`, node: element };
}
