import { dirname } from "node:path";
import {
  CallHierarchyIncomingCallsRequest,
  type CallHierarchyItem,
  CallHierarchyOutgoingCallsRequest,
  CallHierarchyPrepareRequest,
  CodeActionRequest,
  CodeLensRequest,
  CodeLensResolveRequest,
  CompletionRequest,
  CompletionResolveRequest,
  DeclarationRequest,
  DefinitionRequest,
  DocumentDiagnosticReportKind,
  DocumentDiagnosticRequest,
  DocumentFormattingRequest,
  DocumentHighlightRequest,
  DocumentLinkRequest,
  DocumentOnTypeFormattingRequest,
  DocumentRangeFormattingRequest,
  DocumentSymbolRequest,
  ErrorCodes,
  ExecuteCommandRequest,
  FoldingRangeRequest,
  HoverRequest,
  InlayHintRequest,
  MarkupKind,
  type Position,
  PrepareRenameRequest,
  type ProtocolConnection,
  ReferencesRequest,
  RenameRequest,
  type RequestType,
  ResponseError,
  SelectionRangeRequest,
  SemanticTokensDeltaRequest,
  SemanticTokensRangeRequest,
  SemanticTokensRequest,
  SignatureHelpRequest,
  type WorkspaceEdit,
  WorkspaceSymbolRequest,
} from "vscode-languageserver-protocol/node";
import { Lines, pathOf } from "../document/locate.ts";
import { incomingCalls, outgoingCalls, prepareCalls } from "../features/call-hierarchy.ts";
import { codeActions, formatEdits, formatRangeEdits } from "../features/code-actions.ts";
import { codeLenses, countReferences } from "../features/code-lens.ts";
import { complete } from "../features/completion.ts";
import type { FeatureContext } from "../features/feature-context.ts";
import { hover } from "../features/hover.ts";
import { definition, documentLinks, highlights, references } from "../features/navigation.ts";
import { type PlannedChange, plannedHints } from "../features/planned-hints.ts";
import { prepareRename, RenameRefused, rename } from "../features/rename.ts";
import { semanticTokens } from "../features/semantic-tokens.ts";
import { signatureHelp } from "../features/signature-help.ts";
import {
  documentSymbols,
  foldingRanges,
  selectionRange,
  workspaceSymbols,
} from "../features/symbols.ts";
import { KeptTokens } from "../features/token-edits.ts";
import { valueHints } from "../features/value-hints.ts";
import type { FileIndex, FileNames } from "../index/file-index.ts";
import type { Span } from "../index/symbol.ts";
import { fileKind, type Workspace } from "../index/workspace.ts";
import { CommandRefused, runCommand } from "./commands.ts";
import type { FolderChecks } from "./folder-checks.ts";
import { type BytePositions, documentOf, tokensInBytes } from "./position-encoding.ts";
import { type EditAbilities, editForClient } from "./versioned-edit.ts";

/** Where a server is in its life. */
export type ServerState = "new" | "running" | "shut down";

/** What a client asks for when it begins. */
export interface ClientWishes {
  /** The command of the client that shows references: lenses name it. Without it there are none. */
  readonly showReferences?: string;
  /** Before the names of the commands of the server; empty for none. */
  readonly commandPrefix: string;
  /** Whether hints say what names stand for. */
  readonly valueHints: boolean;
  readonly edits: EditAbilities;
}

/** What requests are answered from. */
interface FeatureWorld {
  readonly workspace: Workspace;
  readonly context: () => FeatureContext;
  readonly checks: Pick<FolderChecks, "problems">;
  /** Checks a folder as after a save. */
  readonly validate: (folder: string) => void;
  /** What the client asked for when it began. */
  readonly asked: () => ClientWishes;
  /** The version of an open document. */
  readonly version: (uri: string) => number | undefined;
  /** What a plan of a folder would do, as far as it is known. */
  readonly planned: (folder: string) => readonly PlannedChange[];
  /** The folders that are open, absolute. */
  readonly roots: () => readonly string[];
  readonly state: () => ServerState;
  /** Of a client that counts in bytes. */
  readonly bytes: () => BytePositions | undefined;
}

/** Answers the requests about documents while the server runs, and refuses them before and after. */
export function answerFeatures(connection: ProtocolConnection, world: FeatureWorld): void {
  new FeatureRequests(connection, world).register();
}

/** `RequestFailed` of the protocol: the request was understood, and cannot be done. */
const REQUEST_FAILED = -32803;
const FULL: typeof DocumentDiagnosticReportKind.Full = DocumentDiagnosticReportKind.Full;

/** A place in a document that is a file of the configuration. */
interface Asked {
  readonly path: string;
  readonly text: string;
  readonly lines: Lines;
}

/** What requests about a document have. */
interface OfDocument {
  readonly textDocument: { readonly uri: string };
}

/** What requests about a place in one have. */
interface AtPlace extends OfDocument {
  readonly position: Position;
}

class FeatureRequests {
  readonly #connection: ProtocolConnection;
  readonly #world: FeatureWorld;

  constructor(connection: ProtocolConnection, world: FeatureWorld) {
    this.#connection = connection;
    this.#world = world;
  }

  register(): void {
    this.#writing();
    this.#reading();
    this.#names();
    this.#structure();
  }

  /** What helps to write. */
  #writing(): void {
    const { context } = this.#world;
    this.#at(CompletionRequest.type, ({ path, lines }, offset) => {
      const { items, start } = complete(context(), path, offset);
      const range = lines.range({ start, end: offset });
      return items.map(({ insertText, ...item }) => ({
        ...item,
        textEdit: { range, newText: insertText ?? item.label },
      }));
    });
    // Nothing is left out of an item at first.
    this.#answer(CompletionResolveRequest.type, (item) => item);
    this.#at(SignatureHelpRequest.type, ({ path }, offset) =>
      this.#indexed(path, (index) => signatureHelp(index, offset) ?? null),
    );
    this.#of(DocumentFormattingRequest.type, ({ path, text }) =>
      this.#native(path, () => formatEdits(text)),
    );
    this.#of(DocumentRangeFormattingRequest.type, ({ path, lines }, { range }) => {
      const part = { start: lines.offset(range.start), end: lines.offset(range.end) };
      return this.#indexed(path, (index) => formatRangeEdits(index, part));
    });
    // The end of a block was typed: the block is complete.
    this.#at(DocumentOnTypeFormattingRequest.type, ({ path }, offset) =>
      this.#indexed(path, (index) => formatRangeEdits(index, { start: offset, end: offset })),
    );
    this.#of(CodeActionRequest.type, ({ path, lines }, { range, context: asked }) => {
      const selected = { start: lines.offset(range.start), end: lines.offset(range.end) };
      return codeActions(context(), path, selected, asked.diagnostics, asked.only).map(
        ({ edit, ...action }) =>
          edit === undefined ? action : { ...action, edit: this.#edit(edit) },
      );
    });
  }

  /** What is said about the text. */
  #reading(): void {
    const { workspace, context, checks, planned } = this.#world;
    this.#of(InlayHintRequest.type, ({ path, lines }, { range }) => {
      const within = { start: lines.offset(range.start), end: lines.offset(range.end) };
      return this.#indexed(path, (index) => [
        ...plannedHints(index, planned(dirname(path)), within),
        ...(this.#world.asked().valueHints ? valueHints(workspace, path, index, within) : []),
      ]);
    });
    this.#at(HoverRequest.type, ({ path, lines }, offset) => {
      const found = hover(context(), path, offset);
      if (found === undefined) return null;
      const { text, span } = found;
      return { contents: { kind: MarkupKind.Markdown, value: text }, range: lines.range(span) };
    });
    this.#answer(DocumentDiagnosticRequest.type, async ({ textDocument }) => {
      const asked = this.#asked(textDocument.uri);
      const isChecked = asked !== undefined && fileKind(asked.path)?.role !== "test";
      const found = isChecked ? await checks.problems(dirname(asked.path)) : undefined;
      const items = (asked && found?.get(asked.path)) ?? [];
      return { kind: FULL, items };
    });
  }

  /** Where names are, and how they are changed. */
  #names(): void {
    const { workspace, roots } = this.#world;
    for (const type of [DefinitionRequest.type, DeclarationRequest.type]) {
      this.#at(type, ({ path }, offset) => definition(workspace, path, offset));
    }
    this.#at(ReferencesRequest.type, ({ path }, offset, params) =>
      references(workspace, path, offset, params.context.includeDeclaration),
    );
    this.#at(DocumentHighlightRequest.type, ({ path }, offset) =>
      highlights(workspace, path, offset),
    );
    this.#at(PrepareRenameRequest.type, ({ path }, offset) =>
      prepareRename(workspace, path, offset),
    );
    this.#at(RenameRequest.type, ({ path }, offset, { newName }) =>
      this.#edit(rename(workspace, roots(), path, offset, newName)),
    );
    this.#calls();
    this.#of(CodeLensRequest.type, ({ path }, { textDocument }) =>
      this.#world.asked().showReferences === undefined
        ? []
        : codeLenses(workspace, path, textDocument.uri),
    );
    this.#answer(CodeLensResolveRequest.type, (lens) => {
      const { uri } = (lens.data ?? {}) as { readonly uri?: unknown };
      const path = typeof uri === "string" ? pathOf(uri) : undefined;
      const { showReferences } = this.#world.asked();
      if (path === undefined || showReferences === undefined) return lens;
      return countReferences(workspace, path, lens, showReferences);
    });
    this.#answer(ExecuteCommandRequest.type, ({ command, arguments: args = [] }) => {
      const { validate, asked } = this.#world;
      return runCommand({ workspace, validate }, asked().commandPrefix, command, args);
    });
    this.#answer(WorkspaceSymbolRequest.type, ({ query }) => workspaceSymbols(workspace, query));
  }

  /** Which modules call which. */
  #calls(): void {
    const { workspace, roots } = this.#world;
    const world = () => ({ workspace, roots: roots() });
    const of = <R>({ uri }: CallHierarchyItem, run: (path: string) => R): R | null => {
      const path = pathOf(uri);
      return path === undefined ? null : run(path);
    };
    this.#at(CallHierarchyPrepareRequest.type, ({ path }, offset) => [
      ...prepareCalls(world(), path, offset),
    ]);
    this.#answer(CallHierarchyIncomingCallsRequest.type, ({ item }) =>
      of(item, (path) => incomingCalls(world(), path)),
    );
    this.#answer(CallHierarchyOutgoingCallsRequest.type, ({ item }) =>
      of(item, (path) => outgoingCalls(world(), path)),
    );
  }

  /** What a document is made of. */
  #structure(): void {
    const { workspace } = this.#world;
    this.#of(DocumentSymbolRequest.type, ({ path }) => this.#named(path, documentSymbols));
    this.#of(FoldingRangeRequest.type, ({ path }) => this.#named(path, foldingRanges));
    this.#of(DocumentLinkRequest.type, ({ path }) => documentLinks(workspace, path, dirname(path)));
    this.#of(SelectionRangeRequest.type, ({ path, lines }, { positions }) =>
      this.#named(path, (names) =>
        positions.map((position) => selectionRange(names, lines.offset(position))),
      ),
    );
    const tokens = new KeptTokens();
    this.#of(SemanticTokensRequest.type, ({ path }, { textDocument }) =>
      this.#native(path, (index) => tokens.whole(textDocument.uri, this.#tokens(index))),
    );
    this.#of(SemanticTokensDeltaRequest.type, ({ path }, { textDocument, previousResultId }) =>
      this.#native(path, (index) =>
        tokens.changed(textDocument.uri, previousResultId, this.#tokens(index)),
      ),
    );
    this.#of(SemanticTokensRangeRequest.type, ({ path, lines }, { range }) => {
      const within = { start: lines.offset(range.start), end: lines.offset(range.end) };
      return this.#native(path, (index) => ({ data: this.#tokens(index, within) }));
    });
  }

  #edit(edit: WorkspaceEdit): WorkspaceEdit {
    const { asked, version } = this.#world;
    return editForClient(edit, asked().edits, version);
  }

  #tokens(index: FileIndex, within?: Span): number[] {
    const data = semanticTokens(index, within);
    return this.#world.bytes() === undefined ? data : tokensInBytes(data, index.source.text);
  }

  #asked(uri: string): Asked | undefined {
    const path = pathOf(uri);
    const text = path === undefined ? undefined : this.#world.workspace.text(path);
    if (path === undefined || text === undefined) return undefined;
    return { path, text, lines: new Lines(text) };
  }

  /** Reads a file of a configuration in native syntax. */
  #indexed<R>(path: string, read: (index: FileIndex) => R): R | null {
    const index = this.#world.workspace.index(path);
    return index === undefined ? null : read(index);
  }

  /** As {@link #indexed}, tests among them. */
  #native<R>(path: string, read: (index: FileIndex) => R): R | null {
    return this.#named(path, (names) =>
      names.file === undefined ? null : read({ ...names, file: names.file }),
    );
  }

  /** Reads a file in either syntax. */
  #named<R>(path: string, read: (names: FileNames) => R): R | null {
    const names = this.#world.workspace.names(path);
    return names === undefined ? null : read(names);
  }

  /** Answers requests about a place in a document; with null for documents that are no files. */
  #at<P extends AtPlace, R>(
    type: RequestType<P, R | null, void>,
    run: (asked: Asked, offset: number, params: P) => R | null,
  ): void {
    this.#of(type, (asked, params) => run(asked, asked.lines.offset(params.position), params));
  }

  #of<P extends OfDocument, R>(
    type: RequestType<P, R | null, void>,
    run: (asked: Asked, params: P) => R | null,
  ): void {
    this.#answer(type, (params) => {
      const asked = this.#asked(params.textDocument.uri);
      return asked === undefined ? null : run(asked, params);
    });
  }

  #answer<P, R, E>(type: RequestType<P, R, E>, run: (params: P) => R | Promise<R>): void {
    this.#connection.onRequest(type.method, async (params: P): Promise<unknown> => {
      const state = this.#world.state();
      if (state === "new") {
        return new ResponseError(ErrorCodes.ServerNotInitialized, "initialize comes first");
      }
      if (state === "shut down") {
        return new ResponseError(ErrorCodes.InvalidRequest, "the server is shut down");
      }
      try {
        const bytes = this.#world.bytes();
        if (bytes === undefined) return await run(params);
        return bytes.sent(await run(bytes.received(params)), documentOf(params));
      } catch (error) {
        if (error instanceof RenameRefused || error instanceof CommandRefused) {
          return new ResponseError(REQUEST_FAILED, error.message);
        }
        throw error;
      }
    });
  }
}
