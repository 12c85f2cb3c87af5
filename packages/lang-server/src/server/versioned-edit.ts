import type {
  ClientCapabilities,
  ResourceOperationKind,
  TextDocumentEdit,
  WorkspaceEdit,
} from "vscode-languageserver-protocol";

/** What a client can do with edits. */
export interface EditAbilities {
  /** It takes edits by document, with the version that they are for. */
  readonly versions: boolean;
  /** It makes files as a part of an edit. */
  readonly creates: boolean;
  /** It gives files other names as a part of an edit. */
  readonly renames: boolean;
}

export function editAbilities({ workspace }: ClientCapabilities): EditAbilities {
  const edit = workspace?.workspaceEdit;
  const versions = edit?.documentChanges === true;
  const does = (operation: ResourceOperationKind): boolean =>
    versions && edit?.resourceOperations?.includes(operation) === true;
  return { versions, creates: does("create"), renames: does("rename") };
}

/**
 * An edit in the form that the client takes: with the versions of the open documents where it can, so that it does not apply one to
 * another text.
 */
export function editForClient(
  edit: WorkspaceEdit,
  { versions }: EditAbilities,
  versionOf: (uri: string) => number | undefined,
): WorkspaceEdit {
  const { changes = {}, documentChanges, ...rest } = edit;
  const all =
    documentChanges ??
    Object.entries(changes).map(
      ([uri, edits]): TextDocumentEdit => ({ textDocument: { uri, version: null }, edits }),
    );
  if (versions) {
    const versioned = all.map((each) =>
      "edits" in each ? { ...each, textDocument: withVersion(each, versionOf) } : each,
    );
    return { ...rest, documentChanges: versioned };
  }
  if (documentChanges === undefined) return edit;
  const texts = all.flatMap((each) =>
    "edits" in each ? [[each.textDocument.uri, each.edits] as const] : [],
  );
  return { ...rest, changes: Object.fromEntries(texts) as NonNullable<WorkspaceEdit["changes"]> };
}

function withVersion(
  { textDocument: { uri } }: TextDocumentEdit,
  versionOf: (uri: string) => number | undefined,
): TextDocumentEdit["textDocument"] {
  return { uri, version: versionOf(uri) ?? null };
}
