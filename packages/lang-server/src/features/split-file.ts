import { basename, dirname, extname, join } from "node:path";
import { type Block, formatFile, hasErrors, type SyntaxFile } from "@stackwright/lang";
import {
  type CodeAction,
  CodeActionKind,
  type TextEdit,
  type WorkspaceEdit,
} from "vscode-languageserver-protocol";
import { itemLines } from "../document/item-span.ts";
import { Lines, uriOf } from "../document/locate.ts";
import type { Span } from "../index/symbol.ts";
import { fileRole, isOverride, type Workspace } from "../index/workspace.ts";
import { appended } from "./appended.ts";
import type { FeatureContext } from "./feature-context.ts";

/** The files in which modules usually have their blocks, without the extension. What is not here has its place by what it is for. */
const USUAL_FILES: Readonly<Record<string, string>> = {
  variable: "variables",
  output: "outputs",
  locals: "locals",
  provider: "providers",
  terraform: "terraform",
};

const NAMED_FILES: ReadonlySet<string> = new Set(["resource", "data", "ephemeral", "module"]);

/** A block with its lines, and the comments on and above them. */
interface Piece {
  readonly block: Block;
  readonly lines: Span;
}

/**
 * Offers to move the selected blocks to another file of the module, with the comments above them: to the usual one for their kind, or
 * to one with their name; and to do so with all blocks of the file that have a usual one.
 */
export function fileSplits(context: FeatureContext, path: string, selected: Span): CodeAction[] {
  const { workspace } = context;
  const index = workspace.index(path);
  if (index === undefined || fileRole(path) !== "configuration" || isOverride(path)) return [];
  if (hasErrors(index.file.diagnostics)) return [];
  const pieces = piecesOf(index.file);
  const chosen = pieces.filter(({ block }) => isSelected(block, selected));
  const [first] = chosen;
  if (first === undefined) return [];
  const actions: CodeAction[] = [];
  const offer = (what: string, moves: ReadonlyMap<string, readonly Piece[]>): void => {
    const edit = moves.size === 0 ? undefined : movingEdit(context, path, index.file, moves);
    if (edit !== undefined) actions.push({ title: what, kind: CodeActionKind.RefactorMove, edit });
  };
  const counted = chosen.length === 1 ? "the block" : `${chosen.length} blocks`;
  const usual = usualMoves(workspace, path, chosen);
  const [target, others] = [...usual.keys()];
  if (target !== undefined && others === undefined && usual.get(target)?.length === chosen.length) {
    offer(`Move ${counted} to ${basename(target)}`, usual);
  }
  const name = first.block.labels.at(-1)?.value ?? "";
  const named = join(dirname(path), `${name}${extname(path)}`);
  const isNamed = NAMED_FILES.has(first.block.type) && /^[A-Za-z0-9_][\w-]*$/.test(name);
  if (isNamed && named !== path && !isOverride(named)) {
    offer(`Move ${counted} to ${basename(named)}`, new Map([[named, chosen]]));
  }
  const all = usualMoves(workspace, path, pieces);
  const moved = [...all.values()].flat().length;
  if (all.size > 1 || (moved > chosen.length && moved < pieces.length)) {
    offer(
      `Split the file by kinds of blocks (${[...all.keys()].map((each) => basename(each)).join(", ")})`,
      all,
    );
  }
  return actions;
}

/** The blocks that have their lines for themselves. */
function piecesOf(file: SyntaxFile): Piece[] {
  return file.body.items.flatMap((block) => {
    const lines = block.kind === "block" ? itemLines(file, block) : undefined;
    return block.kind === "block" && lines !== undefined ? [{ block, lines }] : [];
  });
}

/** A cursor selects the block whose header it is in; a selection, all that it touches. */
function isSelected({ start, end, body }: Block, selected: Span): boolean {
  const isCursor = selected.start === selected.end;
  return isCursor
    ? start <= selected.start && selected.start <= body.start
    : start < selected.end && end > selected.start;
}

/** By target, in the order of the file. */
function usualMoves(
  workspace: Workspace,
  path: string,
  pieces: readonly Piece[],
): Map<string, Piece[]> {
  const found = new Map<string, Piece[]>();
  for (const piece of pieces) {
    const target = usualFile(workspace, path, piece.block.type);
    if (target === undefined || target === path) continue;
    const others = found.get(target);
    if (others === undefined) found.set(target, [piece]);
    else others.push(piece);
  }
  return found;
}

function usualFile(workspace: Workspace, path: string, type: string): string | undefined {
  const name = USUAL_FILES[type];
  if (name === undefined) return undefined;
  const file = (each: string): string => join(dirname(path), `${each}${extname(path)}`);
  // Both names are usual.
  const isVersions = type === "terraform" && workspace.text(file("versions")) !== undefined;
  return file(isVersions ? "versions" : name);
}

function movingEdit(
  { workspace, createsFiles = false }: FeatureContext,
  path: string,
  file: SyntaxFile,
  moves: ReadonlyMap<string, readonly Piece[]>,
): WorkspaceEdit | undefined {
  const { text } = file.source;
  const documentChanges: NonNullable<WorkspaceEdit["documentChanges"]> = [];
  const edit = (target: string, edits: TextEdit[]): void =>
    void documentChanges.push({ textDocument: { uri: uriOf(target), version: null }, edits });
  for (const [target, pieces] of moves) {
    const isThere = workspace.filesOf(dirname(target)).includes(target);
    if (isThere ? !isReadable(workspace, target) : !createsFiles) return undefined;
    if (isShadowed(workspace, target, isThere)) return undefined;
    const joined = pieces
      .map(({ lines }) => text.slice(lines.start, lines.end))
      .map((each) => (each.endsWith("\n") ? each : `${each}\n`));
    const formatted = formatFile({ name: "", text: joined.join("\n") }).text;
    if (formatted === undefined) return undefined;
    if (!isThere) documentChanges.push({ kind: "create", uri: uriOf(target) });
    edit(target, [appended(workspace.text(target), formatted)]);
  }
  const lines = new Lines(text);
  const removed = [...moves.values()].flat().map((piece) => piece.lines);
  edit(
    path,
    emptied(text, removed).map((span) => ({ range: lines.range(span), newText: "" })),
  );
  return { documentChanges };
}

function isReadable(workspace: Workspace, path: string): boolean {
  const index = workspace.index(path);
  return index !== undefined && !hasErrors(index.file.diagnostics);
}

/** Of `a.tf` and `a.tofu` only the latter counts for some commands. */
function isShadowed(workspace: Workspace, path: string, isThere: boolean): boolean {
  const extension = extname(path);
  const stem = path.slice(0, -extension.length);
  const other = `${stem}${extension === ".tf" ? ".tofu" : ".tf"}`;
  const isOtherThere = workspace.filesOf(dirname(path)).includes(other);
  return isOtherThere && (extension === ".tf" || !isThere);
}

/** What is removed with the lines of moved blocks: the empty lines that would be too many without them. */
function emptied(text: string, spans: readonly Span[]): Span[] {
  const merged: { start: number; end: number }[] = [];
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last !== undefined && !/\S/.test(text.slice(last.end, start))) last.end = end;
    else merged.push({ start, end });
  }
  return merged.map(({ start, end }) => {
    const behind = /^(?:[ \t]*\r?\n)*/.exec(text.slice(end))?.[0].length ?? 0;
    if (/\S/.test(text.slice(end))) {
      return { start, end: isBehindEmptyLine(text, start) ? end + behind : end };
    }
    return {
      start: text.slice(0, start).trimEnd().length + lineEnd(text, start),
      end: text.length,
    };
  });
}

/** Whether nothing, or an empty line, is before a line that begins at an offset. */
function isBehindEmptyLine(text: string, start: number): boolean {
  if (start === 0) return true;
  const lineStart = start === 1 ? 0 : text.lastIndexOf("\n", start - 2) + 1;
  return text[start - 1] === "\n" && !/\S/.test(text.slice(lineStart, start));
}

/** The length of the end of the last line with text before an offset. */
function lineEnd(text: string, offset: number): number {
  const at = text.slice(0, offset).trimEnd().length;
  return at === 0 ? 0 : (/^\r?\n/.exec(text.slice(at, offset))?.[0].length ?? 0);
}
