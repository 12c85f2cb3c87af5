import { dirname } from "node:path";
import { type Attribute, hasErrors, type SyntaxFile } from "@stackwright/lang";
import { type Version, VersionConstraints } from "@stackwright/provider-source";
import { type CodeAction, CodeActionKind } from "vscode-languageserver-protocol";
import { findPlace } from "../document/find-place.ts";
import { uriOf } from "../document/locate.ts";
import { fileRole, type Workspace } from "../index/workspace.ts";
import { sourceOfProvider } from "../schema/body-shape.ts";
import { formattedEdits, type SpanEdit } from "./formatted-edits.ts";
import { locksOf } from "./provider-locks.ts";

/**
 * Offers, at an entry of `required_providers`, to require the version that is in the lock file of the module or of those that use it, and
 * later ones that are compatible. None where the lock files disagree.
 */
export function versionUpdates(workspace: Workspace, path: string, offset: number): CodeAction[] {
  const index = workspace.index(path);
  if (index === undefined || fileRole(path) !== "configuration") return [];
  if (hasErrors(index.file.diagnostics)) return [];
  const { blocks, attribute } = findPlace(index.file, offset);
  if (blocks.at(-1)?.type !== "required_providers" || blocks[0]?.type !== "terraform") return [];
  if (attribute === undefined) return [];
  const source = sourceOfProvider(attribute.name, workspace.requiredProviders(dirname(path)));
  const version =
    source === undefined ? undefined : lockedVersion(workspace, dirname(path), source);
  const constraint = version === undefined ? undefined : compatibleWith(version);
  if (constraint === undefined) return [];
  const edit = constraintEdit(index.file, attribute, constraint);
  const edits = edit === undefined ? undefined : formattedEdits(index.file, [edit]);
  if (edits === undefined || edits.length === 0) return [];
  return [
    {
      title: `Require ${attribute.name} ${constraint}, as the lock file has ${String(version)}`,
      kind: CodeActionKind.RefactorRewrite,
      edit: { changes: { [uriOf(path)]: edits } },
    },
  ];
}

function lockedVersion(workspace: Workspace, folder: string, source: string): Version | undefined {
  const ofFolder = (each: string): Version[] =>
    locksOf(workspace, each).flatMap(({ address, version }) =>
      address.toString() === source ? [version] : [],
    );
  const [own] = ofFolder(folder);
  if (own !== undefined) return own;
  const [first, ...others] = workspace.rootsOf(folder).flatMap(ofFolder);
  return others.every((each) => first?.equals(each) === true) ? first : undefined;
}

/** The constraint by which modules usually allow a version and what is compatible with it. */
function compatibleWith(version: Version): string | undefined {
  const { major, minor, patch } = version;
  const constraint = version.isPrerelease
    ? version.toString()
    : `~> ${major}.${minor}${major === 0n ? `.${patch}` : ""}`;
  return VersionConstraints.parse(constraint).allows(version) ? constraint : undefined;
}

function constraintEdit(
  { source: { text } }: SyntaxFile,
  { expression }: Attribute,
  constraint: string,
): SpanEdit | undefined {
  const newText = `"${constraint}"`;
  if (expression.kind === "string") {
    return { start: expression.start, end: expression.end, newText };
  }
  if (expression.kind !== "object") return undefined;
  const written = expression.items.find(
    ({ key: { literal, expression: key } }) =>
      literal === "version" || (key.kind === "string" && key.value === "version"),
  )?.value;
  if (written !== undefined) {
    const { start, end } = written;
    return written.kind === "string" ? { start, end, newText } : undefined;
  }
  const last = expression.items.at(-1)?.value;
  const close = expression.end - 1;
  if (last === undefined) return undefined;
  const rest = text.slice(last.end, close);
  const lineStart = text.lastIndexOf("\n", close) + 1;
  if (lineStart > last.end && !/\S/.test(text.slice(lineStart, close))) {
    return { start: lineStart, end: lineStart, newText: `version = ${newText}\n` };
  }
  // On one line with nothing between that a comma could end up in.
  if (!/^\s*,?\s*$/.test(rest)) return undefined;
  return { start: last.end, end: close, newText: `, version = ${newText} ` };
}
