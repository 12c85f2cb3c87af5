import type { CodeAction, WorkspaceEdit } from "vscode-languageserver-protocol";
import { TestClient } from "./test-client.ts";

/**
 * The texts that each action of a kind gives the files that it changes, by its title. What stands between `«` and `»` is selected in
 * the file that has them, which is open.
 */
export async function offeredActions(
  texts: Readonly<Record<string, string>>,
  kind: string,
  capabilities: object = {},
): Promise<Readonly<Record<string, Readonly<Record<string, string>>>>> {
  const found = await offeredEdits(texts, kind, capabilities);
  return Object.fromEntries(Object.entries(found).map(([title, { after }]) => [title, after]));
}

/** As {@link offeredActions}, with the edits as they were sent. */
export async function offeredEdits(
  texts: Readonly<Record<string, string>>,
  kind: string,
  capabilities: object = {},
): Promise<
  Readonly<Record<string, { readonly after: Record<string, string>; readonly edit: WorkspaceEdit }>>
> {
  const [path = "", marked = ""] = Object.entries(texts).find(([, one]) => one.includes("«")) ?? [];
  const position = (offset: number) => {
    const lines = marked.slice(0, offset).replace(/[«»]/g, "").split("\n");
    return { line: lines.length - 1, character: lines.at(-1)?.length ?? 0 };
  };
  const range = { start: position(marked.indexOf("«")), end: position(marked.indexOf("»")) };
  const plain = { ...texts, [path]: marked.replace(/[«»]/g, "") };
  const first = { [path]: plain[path] ?? "", ...plain };
  await using client = await TestClient.start(first, {}, {}, {}, undefined, capabilities);
  const actions = await client.connection.sendRequest<CodeAction[]>("textDocument/codeAction", {
    textDocument: { uri: client.uri(path) },
    range,
    context: { diagnostics: [], only: [kind] },
  });
  return Object.fromEntries(
    actions.map(({ title, edit = {} }) => [
      title,
      { after: client.edited(changesOf(edit) as never), edit },
    ]),
  );
}

function changesOf({ changes, documentChanges }: WorkspaceEdit) {
  if (documentChanges === undefined) return changes ?? {};
  return Object.fromEntries(
    documentChanges.flatMap((each) =>
      "edits" in each ? [[each.textDocument.uri, each.edits] as const] : [],
    ),
  );
}
