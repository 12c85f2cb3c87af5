import { dirname } from "node:path";
import { type FunctionCall, functionSignature, STANDARD_FUNCTIONS } from "@stackwright/lang";
import { expressionsAt, findPlace } from "../document/find-place.ts";
import { type Span, symbolText } from "../index/symbol.ts";
import { fileKind } from "../index/workspace.ts";
import { bodyShape, providerBody } from "../schema/body-shape.ts";
import { type FeatureContext, moduleInputs, shapeContext } from "./feature-context.ts";

/** What is said about a place, in Markdown. */
interface HoverText {
  readonly text: string;
  readonly span: Span;
}

/** Longest text of a declaration that is shown, in characters. */
const MAX_SHOWN = 600;

/** Says what is at an offset: an argument, a block, a function, or what a reference is about. */
export function hover(
  context: FeatureContext,
  path: string,
  offset: number,
): HoverText | undefined {
  const names = context.workspace.names(path);
  if (names === undefined) return undefined;
  const place = findPlace(names, offset);
  const shapes = shapeContext(context, path);
  const { attribute, header, blocks } = place;
  if (header !== undefined && header.label === -1) {
    const shape = bodyShape(blocks, shapes)?.blocks.get(header.block.type);
    if (shape === undefined) return undefined;
    const span = { start: header.block.start, end: header.block.typeEnd };
    return { text: `**${header.block.type}** (block)\n\n${shape.description}`, span };
  }
  if (header !== undefined && header.label === 0) {
    const schema = providerBody(header.block, shapes);
    const [label] = header.block.labels;
    if (schema !== undefined && label !== undefined) {
      const note = schema.deprecated ? "\n\n*Deprecated.*" : "";
      const text = `**${label.value}**\n\n${schema.description ?? ""}${note}`;
      return { text, span: { start: label.start, end: label.end } };
    }
  }
  if (attribute !== undefined && offset <= attribute.nameEnd) {
    const argument = bodyShape(blocks, shapes)?.arguments.get(attribute.name);
    if (argument !== undefined) {
      const { type, required, deprecated, sensitive, readOnly, description } = argument;
      const facts = [
        readOnly ? "decided by the provider" : required ? "required" : "optional",
        ...(sensitive ? ["sensitive"] : []),
        ...(deprecated ? ["deprecated"] : []),
      ];
      const typed = type === undefined ? "" : ` \`${type}\``;
      const text = `**${attribute.name}**${typed} (${facts.join(", ")})\n\n${description}`;
      return { text, span: { start: attribute.start, end: attribute.nameEnd } };
    }
  }
  if (attribute !== undefined) {
    for (const expression of expressionsAt(attribute.expression, offset).toReversed()) {
      if (expression.kind !== "call" || offset > nameEndOf(expression)) continue;
      const found = STANDARD_FUNCTIONS.find(({ name }) => name === expression.name);
      if (found === undefined) continue;
      const { source, start } = expression;
      const text = `\`\`\`hcl\n${functionSignature(found)}\n\`\`\`\n\n${found.description}`;
      return { text, span: { start: source.fileOffset(start), end: nameEndOf(expression) } };
    }
  }
  return symbolHover(context, path, offset);
}

function nameEndOf({ source, nameEnd }: FunctionCall): number {
  return source.fileOffset(nameEnd);
}

function symbolHover(context: FeatureContext, path: string, offset: number): HoverText | undefined {
  const { workspace } = context;
  const found = workspace.occurrenceAt(path, offset);
  if (found === undefined) return undefined;
  const [declaration] = workspace.find(found.folder, found.symbol);
  if (declaration === undefined) return undefined;
  const text = workspace.text(declaration.path) ?? "";
  const { start, end } = declaration.whole;
  const whole = text.slice(start, end);
  const shown = whole.length > MAX_SHOWN ? `${whole.slice(0, MAX_SHOWN)}\n…` : whole;
  const input =
    found.symbol.kind === "variable"
      ? moduleInputs(workspace, found.folder).get(found.symbol.name)
      : undefined;
  const described =
    input === undefined || input.description === "" ? "" : `\n\n${input.description}`;
  const where = dirname(path) === found.folder ? "" : `\n\nof the module in \`${found.folder}\``;
  const title = `**${symbolText(found.symbol)}**`;
  const language = fileKind(declaration.path)?.isJson === true ? "json" : "hcl";
  return {
    text: `${title}${described}\n\n\`\`\`${language}\n${shown}\n\`\`\`${where}`,
    span: found.span,
  };
}
