import { dirname, join } from "node:path";
import {
  type Body,
  exportJson,
  formatFile,
  hasErrors,
  parseFile,
  parseJson,
  type SyntaxFile,
  TokenKind,
} from "@stackwright/lang";
import { type CodeAction, CodeActionKind, uinteger } from "vscode-languageserver-protocol";
import { type JsonBodyModel, modelText, readJsonBody } from "../document/json-model.ts";
import { Lines, uriOf } from "../document/locate.ts";
import { nativeText } from "../document/native-text.ts";
import { bodyShape } from "../schema/body-shape.ts";
import { type FeatureContext, shapeContext } from "./feature-context.ts";

/** The name of a file of the configuration, and the way in which it is written. */
const NAME = /^(?<stem>.*)\.(?<extension>tf|tofu)(?<json>\.json)?$/s;

/** Arguments of provisioners that are words. */
const WORDS: ReadonlySet<string> = new Set(["when", "on_failure"]);

/**
 * Offers to write a file of the configuration in the other syntax: in JSON one without comments, in native syntax one of which it is known what is a
 * block. The result is compared with the file before it is offered, and nothing is lost.
 */
export function syntaxConversions(context: FeatureContext, path: string): CodeAction[] {
  if (context.renamesFiles !== true) return [];
  const name = NAME.exec(path)?.groups;
  const text = context.workspace.text(path);
  if (name === undefined || text === undefined) return [];
  const { stem = "", extension = "", json } = name;
  if (isNamedTwice(context, path, stem)) return [];
  const toNative = json !== undefined;
  const written = toNative ? inNativeSyntax(context, path, text) : inJsonSyntax(text);
  if (written === undefined) return [];
  const target = uriOf(`${stem}.${extension}${toNative ? "" : ".json"}`);
  const { start, end } = new Lines(text).range({ start: 0, end: text.length });
  // Under its new name the text is not known yet: the end of the last line, however the client counts.
  const whole = { start, end: { line: end.line, character: uinteger.MAX_VALUE } };
  return [
    {
      title: toNative ? "Convert the file to native syntax" : "Convert the file to JSON syntax",
      kind: CodeActionKind.RefactorRewrite,
      edit: {
        documentChanges: [
          { kind: "rename", oldUri: uriOf(path), newUri: target },
          {
            textDocument: { uri: target, version: null },
            edits: [{ range: whole, newText: written }],
          },
        ],
      },
    },
  ];
}

/** Whether a file that differs in its way of writing alone is there: only one of some counts. */
function isNamedTwice({ workspace }: FeatureContext, path: string, stem: string): boolean {
  const others = ["tf", "tofu"].flatMap((each) => [`${stem}.${each}`, `${stem}.${each}.json`]);
  const folder = dirname(path);
  const there = new Set([...workspace.filesOf(folder), ...workspace.otherFilesOf(folder)]);
  return others.some((each) => each !== path && there.has(join(each)));
}

function inJsonSyntax(text: string): string | undefined {
  const file = parseFile({ name: "", text });
  if (file.diagnostics.length > 0 || hasComments(file) || file.body.items.length === 0) {
    return undefined;
  }
  if (!keepsProvisioners(file.body)) return undefined;
  const { text: json, diagnostics } = exportJson(file);
  return diagnostics.length > 0 ? undefined : json;
}

/** Whether no word of theirs becomes a template, and those of a kind stand together, as they do in JSON. */
function keepsProvisioners({ items }: Body): boolean {
  const kinds: string[] = [];
  return items.every((item) => {
    if (item.kind !== "block") return true;
    const { type, labels, body } = item;
    if (type === "provisioner") {
      if (body.items.some((each) => each.kind === "attribute" && WORDS.has(each.name)))
        return false;
      const kind = labels[0]?.value ?? "";
      if (kinds.at(-1) !== kind && kinds.includes(kind)) return false;
      kinds.push(kind);
    }
    return keepsProvisioners(body);
  });
}

function hasComments({ tokens }: SyntaxFile): boolean {
  for (let at = 0; at < tokens.length; at += 1) {
    if (tokens.kind(at) === TokenKind.Comment) return true;
  }
  return false;
}

function inNativeSyntax(context: FeatureContext, path: string, text: string): string | undefined {
  const known = shapeContext(context, path);
  const read = (json: string): JsonBodyModel | undefined => {
    const { root, diagnostics } = parseJson({ name: "", text: json });
    if (root.kind !== "object" || hasErrors(diagnostics)) return undefined;
    return readJsonBody(root, (blocks) => bodyShape(blocks, known));
  };
  const model = read(text);
  if (model === undefined) return undefined;
  const { text: native } = formatFile({ name: "", text: nativeText(model) });
  if (native === undefined) return undefined;
  const file = parseFile({ name: "", text: native });
  if (file.diagnostics.length > 0) return undefined;
  const { text: again, diagnostics } = exportJson(file);
  const result = diagnostics.length > 0 ? undefined : read(again);
  return result !== undefined && modelText(result) === modelText(model) ? native : undefined;
}
