import { basename, dirname, join } from "node:path";
import { formatFile, impliedProviderName } from "@stackwright/lang";
import {
  type CodeAction,
  CodeActionKind,
  type Diagnostic,
  type TextEdit,
} from "vscode-languageserver-protocol";
import { findPlace } from "../document/find-place.ts";
import { Lines, uriOf } from "../document/locate.ts";
import type { FileIndex } from "../index/file-index.ts";
import type { Span } from "../index/symbol.ts";
import { bodyShape } from "../schema/body-shape.ts";
import { appended } from "./appended.ts";
import { countConversions } from "./count-to-for-each.ts";
import { type FeatureContext, shapeContext } from "./feature-context.ts";
import { extractions, inlining } from "./refactorings.ts";
import { keySorting } from "./sort-keys.ts";
import { fileSplits } from "./split-file.ts";
import { stateBlocks } from "./state-blocks.ts";
import { syntaxConversions } from "./syntax-conversion.ts";
import { versionUpdates } from "./version-update.ts";

/** The action by which editors format on save; the same name as that of other servers. */
export const FORMAT_ALL = "source.formatAll.terraform";

/** Offers fixes of the problems at a place, what can be added there, and other ways to write what is selected. */
export function codeActions(
  context: FeatureContext,
  path: string,
  selected: Span,
  diagnostics: readonly Diagnostic[],
  only: readonly string[] | undefined,
): CodeAction[] {
  const wanted = (kind: string): boolean =>
    only === undefined || only.some((each) => kind === each || kind.startsWith(`${each}.`));
  const found: CodeAction[] = [];
  if (wanted(CodeActionKind.QuickFix)) {
    for (const diagnostic of diagnostics) {
      found.push(...quickFixes(context, path, diagnostic));
    }
    found.push(...missingRequirement(context, path, selected.start));
  }
  if (wanted(CodeActionKind.RefactorExtract)) {
    found.push(...extractions(context.workspace, path, selected));
  }
  if (wanted(CodeActionKind.RefactorInline)) {
    found.push(...inlining(context.workspace, path, selected.start));
  }
  if (wanted(CodeActionKind.RefactorRewrite)) {
    found.push(...countConversions(context.workspace, path, selected.start));
    found.push(...stateBlocks(context.workspace, path, selected.start));
    found.push(...versionUpdates(context.workspace, path, selected.start));
    const index = context.workspace.index(path);
    if (index !== undefined) found.push(...keySorting(index, path, selected.start));
  }
  if (wanted(CodeActionKind.RefactorMove)) found.push(...fileSplits(context, path, selected));
  // Formatting is for those who ask for it; as a suggestion it is noise.
  if (only !== undefined && wanted(FORMAT_ALL)) found.push(...formatAll(context, path));
  // So is what works on the whole file to know whether it can be done.
  if (only !== undefined && wanted(CodeActionKind.RefactorRewrite)) {
    found.push(...syntaxConversions(context, path));
  }
  return found;
}

/** The whole text in canonical style; none where it is so already or has syntax errors. */
export function formatEdits(text: string): TextEdit[] {
  const { text: formatted } = formatFile({ name: "", text });
  if (formatted === undefined || formatted === text) return [];
  const range = new Lines(text).range({ start: 0, end: text.length });
  return [{ range, newText: formatted }];
}

/** The edits that give the blocks and arguments of the file which a part of it touches their canonical form. */
export function formatRangeEdits({ file }: FileIndex, part: Span): TextEdit[] {
  const { text } = file.source;
  const { items } = file.body;
  const touches = ({ start, end }: Span): boolean => start <= part.end && end >= part.start;
  let first = items.findIndex(touches);
  let last = items.findLastIndex(touches);
  if (first === -1) return [];
  // What stands together is aligned together.
  const isJoined = (at: number): boolean => {
    const [one, other] = [items[at], items[at + 1]];
    if (one === undefined || other === undefined) return false;
    return !/\n[ \t]*\r?\n/.test(text.slice(one.end, other.start));
  };
  while (isJoined(first - 1)) first -= 1;
  while (isJoined(last)) last += 1;
  const start = text.lastIndexOf("\n", items[first]?.start ?? 0) + 1;
  const lineEnd = text.indexOf("\n", items[last]?.end ?? 0);
  const end = lineEnd === -1 ? text.length : lineEnd + 1;
  const before = text.slice(start, end);
  const { text: formatted } = formatFile({ name: "", text: before });
  if (formatted === undefined || formatted === before) return [];
  return [{ range: new Lines(text).range({ start, end }), newText: formatted }];
}

function formatAll({ workspace }: FeatureContext, path: string): CodeAction[] {
  const edits = formatEdits(workspace.text(path) ?? "");
  if (edits.length === 0) return [];
  return [
    { title: "Format the file", kind: FORMAT_ALL, edit: { changes: { [uriOf(path)]: edits } } },
  ];
}

function quickFixes(context: FeatureContext, path: string, diagnostic: Diagnostic): CodeAction[] {
  const text = context.workspace.text(path);
  if (text === undefined) return [];
  const lines = new Lines(text);
  const { range } = diagnostic;
  const message = typeof diagnostic.message === "string" ? diagnostic.message : "";
  const span = { start: lines.offset(range.start), end: lines.offset(range.end) };
  const written = text.slice(span.start, span.end);
  const fix = (title: string, file: string, edits: TextEdit[]): CodeAction => ({
    title,
    kind: CodeActionKind.QuickFix,
    diagnostics: [diagnostic],
    isPreferred: true,
    edit: { changes: { [uriOf(file)]: edits } },
  });

  const meant = /"([^"\s]+)"[^"]*Did you mean "([^"]+)"\?/.exec(message);
  if (meant !== null) {
    const [, wrong = "", right = ""] = meant;
    const at = written.lastIndexOf(wrong);
    if (at === -1) return [];
    const start = span.start + at;
    const place = lines.range({ start, end: start + wrong.length });
    return [fix(`Change to "${right}"`, path, [{ range: place, newText: right }])];
  }
  const undeclared = /^var\.([\p{ID_Start}_][\p{ID_Continue}-]*)/u.exec(written);
  if (undeclared !== null && /undeclared input variable/i.test(message)) {
    return [declareVariable(context, path, undeclared[1] ?? "", fix)];
  }
  if (message.startsWith("Missing required argument")) {
    const edits = missingArguments(context, path, span.start);
    if (edits.length > 0) return [fix("Add the required arguments", path, edits)];
  }
  return [];
}

function declareVariable(
  { workspace }: FeatureContext,
  path: string,
  name: string,
  fix: (title: string, file: string, edits: TextEdit[]) => CodeAction,
): CodeAction {
  const beside = join(dirname(path), "variables.tf");
  const file = workspace.text(beside) === undefined ? path : beside;
  const where = file === path ? "" : ` in ${basename(file)}`;
  const block = `variable "${name}" {\n  type = string\n}\n`;
  return fix(`Declare the variable "${name}"${where}`, file, [
    appended(workspace.text(file), block),
  ]);
}

/** The arguments that the block at an offset needs and does not have, as lines at its end. */
function missingArguments(context: FeatureContext, path: string, offset: number): TextEdit[] {
  const index = context.workspace.index(path);
  if (index === undefined) return [];
  const { blocks, header } = findPlace(index.file, offset + 1);
  const chain = header === undefined ? blocks : [...blocks, header.block];
  const block = chain.at(-1);
  const shape = bodyShape(chain, shapeContext(context, path));
  if (block === undefined || shape === undefined) return [];
  const present = new Set(
    block.body.items.flatMap((item) => (item.kind === "attribute" ? [item.name] : [])),
  );
  const missing = [...shape.arguments].filter(
    ([name, { required }]) => required && !present.has(name),
  );
  const close = block.end - 1;
  const { text } = index.file.source;
  if (missing.length === 0 || text[close] !== "}") return [];
  const indent = "  ".repeat(chain.length);
  const added = missing.map(([name, { type }]) => `${indent}${name} = ${emptyValue(type)}\n`);
  const lineStart = text.lastIndexOf("\n", close) + 1;
  const ownLine = /^\s*$/.test(text.slice(lineStart, close));
  const at = ownLine ? lineStart : close;
  const newText = ownLine ? added.join("") : `\n${added.join("")}${"  ".repeat(chain.length - 1)}`;
  return [{ range: new Lines(text).range({ start: at, end: at }), newText }];
}

function emptyValue(type: string | undefined): string {
  if (type === "string") return '""';
  if (type === "bool") return "false";
  if (type === "number") return "0";
  if (type?.startsWith("list(") === true || type?.startsWith("set(") === true) return "[]";
  return type?.startsWith("map(") === true || type?.startsWith("object(") === true ? "{}" : "null";
}

/** An entry in `required_providers` for the provider of the block at an offset. */
function missingRequirement(context: FeatureContext, path: string, offset: number): CodeAction[] {
  const { workspace } = context;
  const index = workspace.index(path);
  if (index === undefined) return [];
  const { blocks, header } = findPlace(index.file, offset);
  const block = blocks[0] ?? header?.block;
  const type = block?.labels[0]?.value;
  if (block === undefined || type === undefined) return [];
  if (!["resource", "data", "ephemeral"].includes(block.type) || type.includes(":")) return [];
  const name = impliedProviderName(type);
  if (name === "terraform" || workspace.requiredProviders(dirname(path)).has(name)) return [];
  const edit = requirementEdit(context, path, name);
  return [
    {
      title: `Require the provider hashicorp/${name}`,
      kind: CodeActionKind.QuickFix,
      edit: { changes: { [uriOf(edit.file)]: [edit.edit] } },
    },
  ];
}

function requirementEdit(
  { workspace }: FeatureContext,
  path: string,
  name: string,
): { readonly file: string; readonly edit: TextEdit } {
  const entry = `${name} = {\n      source = "hashicorp/${name}"\n    }\n`;
  for (const [file, { file: syntax }] of workspace.module(dirname(path))) {
    for (const block of syntax.body.items) {
      if (block.kind !== "block" || block.type !== "terraform") continue;
      for (const inner of block.body.items) {
        if (inner.kind !== "block" || inner.type !== "required_providers") continue;
        const close = inner.end - 1;
        const { text } = syntax.source;
        if (text[close] !== "}") continue;
        const lineStart = text.lastIndexOf("\n", close) + 1;
        const ownLine = /^\s*$/.test(text.slice(lineStart, close));
        const at = ownLine ? lineStart : close;
        const newText = ownLine ? `    ${entry}` : `\n    ${entry}  `;
        return { file, edit: { range: new Lines(text).range({ start: at, end: at }), newText } };
      }
    }
  }
  const block = `terraform {\n  required_providers {\n    ${entry}  }\n}\n`;
  return { file: path, edit: appended(workspace.text(path), block) };
}
