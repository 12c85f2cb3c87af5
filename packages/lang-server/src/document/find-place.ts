import type { Attribute, Block, Body, Expression, SyntaxFile } from "@stackwright/lang";
import { childExpressions } from "@stackwright/lang";

/** Where an offset of a file is. */
export interface Place {
  /** The blocks around it, the outermost first. */
  readonly blocks: readonly Block[];
  /** The block whose header it is in, with the label that it is at; the type is -1. */
  readonly header?: { readonly block: Block; readonly label: number };
  /** The argument that it is in. */
  readonly attribute?: Attribute;
}

/** Finds where an offset is, as far as the file was understood. */
export function findPlace(file: Pick<SyntaxFile, "body" | "source">, offset: number): Place {
  const blocks: Block[] = [];
  let body: Body = file.body;
  for (;;) {
    const item = body.items.find(({ start, end }) => start <= offset && offset <= end);
    if (item === undefined) return { blocks };
    if (item.kind === "attribute") return { blocks, attribute: item };
    if (offset <= item.headerEnd) {
      const label = item.labels.findIndex(({ start, end }) => start <= offset && offset <= end);
      return { blocks, header: { block: item, label } };
    }
    if (offset <= item.body.start) return { blocks };
    // Behind the closing brace is outside.
    if (offset >= item.end && file.source.text[item.end - 1] === "}") return { blocks };
    blocks.push(item);
    body = item.body;
  }
}

/** The expressions at an offset of the file, the outermost first; what text in JSON holds among them. */
export function expressionsAt(expression: Expression, offset: number): Expression[] {
  const found: Expression[] = [];
  let candidates: readonly Expression[] = [expression];
  for (;;) {
    const at = candidates.find(
      ({ source, start, end }) =>
        source.fileOffset(start) <= offset && offset <= source.fileOffset(end),
    );
    if (at === undefined) return found;
    found.push(at);
    candidates = [...childExpressions(at)];
  }
}
