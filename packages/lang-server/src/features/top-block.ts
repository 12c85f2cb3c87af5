import { type Attribute, type Block, hasErrors } from "@stackwright/lang";
import { findPlace } from "../document/find-place.ts";
import type { FileIndex } from "../index/file-index.ts";
import type { ModuleSymbol } from "../index/symbol.ts";
import { fileRole, type Workspace } from "../index/workspace.ts";

/** A block at the top of a configuration that is understood as a whole. */
interface TopBlock {
  readonly index: FileIndex;
  readonly block: Block;
  /** The own argument of the block that the offset is in. */
  readonly attribute?: Attribute;
}

/** The block whose header, or one of whose own arguments, an offset is in. */
export function topBlockAt(
  workspace: Workspace,
  path: string,
  offset: number,
): TopBlock | undefined {
  const index = workspace.index(path);
  if (fileRole(path) !== "configuration" || index === undefined) return undefined;
  if (hasErrors(index.file.diagnostics)) return undefined;
  const block = index.file.body.items.find(({ start, end }) => start <= offset && offset <= end);
  if (block?.kind !== "block") return undefined;
  if (offset <= block.body.start) return { index, block };
  const { blocks, attribute } = findPlace(index.file, offset);
  return blocks.length > 1 || attribute === undefined ? undefined : { index, block, attribute };
}

/** What a resource, a data source or a module call declares. */
export function declaredObject({ type, labels }: Block): ModuleSymbol | undefined {
  const [first, second] = labels;
  if (type === "module") {
    return first && second === undefined ? { kind: "module", name: first.value } : undefined;
  }
  if ((type !== "resource" && type !== "data") || first === undefined || second === undefined) {
    return undefined;
  }
  const prefix = type === "data" ? "data." : "";
  return { kind: "resource", name: `${prefix}${first.value}.${second.value}` };
}

/** The own argument of a block with a name. */
export function argumentOf({ body }: Block, name: string): Attribute | undefined {
  for (const item of body.items) {
    if (item.kind === "attribute" && item.name === name) return item;
  }
  return undefined;
}
