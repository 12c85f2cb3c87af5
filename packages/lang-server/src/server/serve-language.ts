import { dirname, join, sep } from "node:path";
import { pipeline, type Readable, type Writable } from "node:stream";
import { type Clock, systemClock } from "@stackwright/base/clock";
import type { Diagnostic } from "@stackwright/lang";
import {
  createProtocolConnection,
  DidChangeTextDocumentNotification,
  DidChangeWatchedFilesNotification,
  DidChangeWorkspaceFoldersNotification,
  DidCloseTextDocumentNotification,
  DidOpenTextDocumentNotification,
  DidSaveTextDocumentNotification,
  ErrorCodes,
  type InitializeParams,
  type InitializeResult,
  PositionEncodingKind,
  type ProtocolConnection,
  type ProtocolNotificationType,
  ResponseError,
  StreamMessageReader,
  StreamMessageWriter,
  TextDocumentSyncKind,
} from "vscode-languageserver-protocol/node";
import { TextDocument } from "vscode-languageserver-textdocument";
import { pathOf, uriOf } from "../document/locate.ts";
import { FORMAT_ALL } from "../features/code-actions.ts";
import type { FeatureContext } from "../features/feature-context.ts";
import { LEGEND } from "../features/semantic-tokens.ts";
import { fileKind, Workspace, type WorkspaceLimits } from "../index/workspace.ts";
import type { ProviderSchemas } from "../schema/provider-schemas.ts";
import { commandNames } from "./commands.ts";
import { answerFeatures, type ClientWishes, type ServerState } from "./feature-requests.ts";
import { FolderChecks } from "./folder-checks.ts";
import type { FolderPlan } from "./folder-plan.ts";
import { FramedInput } from "./framed-input.ts";
import type { LanguageHost } from "./language-host.ts";
import { PlannedChanges } from "./planned-changes.ts";
import { BytePositions, chosenEncoding } from "./position-encoding.ts";
import { ProviderTrust, type TrustDecision } from "./provider-trust.ts";
import { editAbilities } from "./versioned-edit.ts";

/** How a client is served. */
export interface LanguageServerOptions {
  readonly input: Readable;
  readonly output: Writable;
  /** Named in the answer to `initialize`. */
  readonly version: string;
  /** @default nothing beyond the text */
  readonly host?: LanguageHost;
  /** @default the clock of the process */
  readonly clock?: Clock;
  readonly limits?: WorkspaceLimits;
}

/** A server for one client. */
export interface LanguageServer extends AsyncDisposable {
  /** Resolves when the client has ended it: 0 after `shutdown`, 1 where it left without. */
  readonly ended: Promise<0 | 1>;
}

/** Serves one client over two streams with the Language Server Protocol 3.17. */
export function serveLanguage(options: LanguageServerOptions): LanguageServer {
  return new Server(options);
}

/** Providers start and answer within that time. */
const SCHEMAS_TIMEOUT_MS = 60_000;

const CAPABILITIES: InitializeResult["capabilities"] = {
  textDocumentSync: {
    openClose: true,
    change: TextDocumentSyncKind.Incremental,
    save: { includeText: false },
  },
  completionProvider: { triggerCharacters: [".", '"'], resolveProvider: true },
  hoverProvider: true,
  definitionProvider: true,
  declarationProvider: true,
  referencesProvider: true,
  documentHighlightProvider: true,
  documentSymbolProvider: true,
  workspaceSymbolProvider: true,
  documentLinkProvider: {},
  documentFormattingProvider: true,
  documentRangeFormattingProvider: true,
  documentOnTypeFormattingProvider: { firstTriggerCharacter: "}" },
  renameProvider: { prepareProvider: true },
  foldingRangeProvider: true,
  selectionRangeProvider: true,
  signatureHelpProvider: { triggerCharacters: ["(", ","] },
  codeActionProvider: {
    codeActionKinds: [
      "quickfix",
      "refactor.extract",
      "refactor.inline",
      "refactor.move",
      "refactor.rewrite",
      FORMAT_ALL,
    ],
  },
  semanticTokensProvider: { legend: LEGEND, full: { delta: true }, range: true },
  callHierarchyProvider: true,
  inlayHintProvider: true,
  diagnosticProvider: { interFileDependencies: true, workspaceDiagnostics: false },
  workspace: { workspaceFolders: { supported: true, changeNotifications: true } },
};

/** By the names that clients of other servers of the language give them. */
function wishesOf({ capabilities, initializationOptions }: InitializeParams): ClientWishes {
  const experimental = capabilities.experimental as
    | { readonly showReferencesCommandId?: unknown }
    | undefined;
  const options = initializationOptions as
    | { readonly commandPrefix?: unknown; readonly valueHints?: unknown }
    | undefined;
  const showReferences = experimental?.showReferencesCommandId;
  const prefix = options?.commandPrefix;
  return {
    ...(typeof showReferences === "string" && showReferences !== "" && { showReferences }),
    commandPrefix: typeof prefix === "string" ? prefix : "",
    valueHints: options?.valueHints === true,
    edits: editAbilities(capabilities),
  };
}

/** What is wrong with a test is found where it runs. */
function isTest(path: string): boolean {
  return fileKind(path)?.role === "test";
}

class Server implements LanguageServer {
  readonly ended: Promise<0 | 1>;
  readonly #input = new FramedInput();
  readonly #connection: ProtocolConnection;
  readonly #options: LanguageServerOptions;
  readonly #workspace: Workspace;
  readonly #documents = new Map<string, TextDocument>();
  readonly #schemas = new Map<string, ProviderSchemas>();
  readonly #checks: FolderChecks;
  readonly #trust: ProviderTrust;
  readonly #planned: PlannedChanges;
  /** Whether the client asked for what a plan would do. */
  #plans = false;
  #refreshesHints = false;
  #wishes: ClientWishes = {
    commandPrefix: "",
    valueHints: false,
    edits: { versions: false, creates: false, renames: false },
  };
  /** Of a client that counts characters in bytes. */
  #bytes: BytePositions | undefined;
  readonly #roots = new Set<string>();
  #resolve: (code: 0 | 1) => void = () => undefined;
  #state: ServerState = "new";

  constructor(options: LanguageServerOptions) {
    this.#options = options;
    this.#workspace = new Workspace(options.limits);
    this.ended = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.#connection = createProtocolConnection(
      new StreamMessageReader(this.#input),
      new StreamMessageWriter(options.output),
    );
    const host = options.host ?? {};
    this.#trust = new ProviderTrust({
      trust: host.trust,
      rootOf: (folder) => this.#rootOf(folder) ?? folder,
      isInWorkspace: (folder) => this.#roots.size === 0 || this.#rootOf(folder) !== undefined,
      ask: async (root) => this.#askTrust(root),
      onTrusted: (root) => this.#trusted(root),
      onError: (error) => this.#log(error),
    });
    this.#checks = new FolderChecks({
      clock: options.clock ?? systemClock,
      host: {
        ...host,
        ...((host.validate !== undefined || host.withoutPrograms !== undefined) && {
          validate: async (folder, signal) => this.#validate(folder, signal),
        }),
      },
      context: () => this.#context,
      publish: (path, diagnostics) => {
        const uri = uriOf(path);
        const version = this.#documents.get(uri)?.version;
        void this.#connection.sendNotification("textDocument/publishDiagnostics", {
          uri,
          diagnostics: this.#bytes?.sent(diagnostics, uri) ?? diagnostics,
          ...(version !== undefined && { version }),
        });
      },
      onSchemas: (folder) => this.#readSchemas(folder),
      onError: (error) => this.#log(error),
    });
    this.#planned = new PlannedChanges({
      clock: options.clock ?? systemClock,
      workspace: this.#workspace,
      plan: async (folder, signal) => this.#plan(folder, signal),
      onChanged: () => {
        if (!this.#refreshesHints) return;
        void this.#connection.sendRequest("workspace/inlayHint/refresh").catch(() => undefined);
      },
      onError: (error) => this.#log(error),
    });
    this.#life();
    this.#synchronization();
    answerFeatures(this.#connection, {
      workspace: this.#workspace,
      context: () => this.#context,
      checks: this.#checks,
      validate: (folder) => this.#checks.saved(join(folder, "main.tf"), true),
      asked: () => this.#wishes,
      version: (uri) => this.#documents.get(uri)?.version,
      planned: (folder) => this.#planned.of(folder),
      roots: () => [...this.#roots],
      state: () => this.#state,
      bytes: () => this.#bytes,
    });
    this.#connection.onClose(() => this.#resolve(this.#state === "shut down" ? 0 : 1));
    this.#connection.listen();
    // How it ends is seen by the connection, which is closed with it.
    pipeline(options.input, this.#input, () => undefined);
  }

  get #context(): FeatureContext {
    const { creates: createsFiles, renames: renamesFiles } = this.#wishes.edits;
    return { workspace: this.#workspace, schemas: this.#schemas, createsFiles, renamesFiles };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#planned[Symbol.asyncDispose]();
    await this.#checks[Symbol.asyncDispose]();
    this.#connection.dispose();
    this.#input.destroy();
    this.#resolve(this.#state === "shut down" ? 0 : 1);
  }

  #log(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    void this.#connection.sendNotification("window/logMessage", { type: 1, message });
  }

  /** Whether nothing of the folder has to be started, so that the user need not be asked about it. */
  async #needsNone(folder: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#options.host?.withoutPrograms?.suffices(folder, signal)) === true;
  }

  async #validate(folder: string, signal: AbortSignal): Promise<readonly Diagnostic[]> {
    const { validate, withoutPrograms } = this.#options.host ?? {};
    if (await this.#needsNone(folder, signal)) {
      return withoutPrograms?.validate(folder, signal) ?? [];
    }
    if (validate === undefined || !(await this.#trust.allows(folder))) return [];
    return validate(folder, signal);
  }

  async #plan(folder: string, signal: AbortSignal): Promise<FolderPlan> {
    const { plan } = this.#options.host ?? {};
    // What is built in reads files and calls addresses as well, so that a plan needs trust also where no program is started.
    if (plan === undefined || !(await this.#trust.allows(folder))) return { changes: [] };
    return plan(folder, signal);
  }

  async #readSchemas(folder: string): Promise<void> {
    const { schemas, withoutPrograms } = this.#options.host ?? {};
    const signal = AbortSignal.timeout(SCHEMAS_TIMEOUT_MS);
    try {
      const mayStart =
        schemas !== undefined &&
        !(await this.#needsNone(folder, signal)) &&
        (await this.#trust.allows(folder));
      const found = await (mayStart
        ? schemas(folder, signal)
        : withoutPrograms?.schemas(folder, signal));
      for (const [source, read] of found ?? []) this.#schemas.set(source, read);
    } catch (error) {
      // Without schemas the rest works.
      this.#log(error);
    }
  }

  #life(): void {
    const connection = this.#connection;
    connection.onRequest("initialize", (params: InitializeParams) => {
      if (this.#state !== "new") {
        return new ResponseError(ErrorCodes.InvalidRequest, "initialize comes once, and first");
      }
      this.#state = "running";
      // Clients that know no workspace folders have one root.
      const folders = params.workspaceFolders?.map(({ uri }) => uri) ?? [];
      const { rootUri } = params as { readonly rootUri?: string | null };
      if (folders.length === 0 && typeof rootUri === "string") folders.push(rootUri);
      for (const uri of folders) this.#addRoot(uri);
      const { trusted, plannedChanges } = (params.initializationOptions ?? {}) as {
        readonly trusted?: unknown;
        readonly plannedChanges?: unknown;
      };
      if (typeof trusted === "boolean") this.#trust.ofEditor = trusted;
      this.#plans = plannedChanges === true && this.#options.host?.plan !== undefined;
      this.#wishes = wishesOf(params);
      this.#refreshesHints = params.capabilities.workspace?.inlayHint?.refreshSupport === true;
      const encoding = chosenEncoding(params.capabilities.general?.positionEncodings);
      if (encoding === PositionEncodingKind.UTF8) {
        this.#bytes = new BytePositions((uri) => this.#textOf(uri));
      }
      return {
        capabilities: {
          ...CAPABILITIES,
          positionEncoding: encoding,
          executeCommandProvider: { commands: commandNames(this.#wishes.commandPrefix) },
          ...(this.#wishes.showReferences !== undefined && {
            codeLensProvider: { resolveProvider: true },
          }),
        },
        serverInfo: { name: "stackwright", version: this.#options.version },
      } satisfies InitializeResult;
    });
    connection.onNotification("initialized", () => undefined);
    connection.onRequest("shutdown", () => {
      this.#state = "shut down";
      return null;
    });
    connection.onNotification("exit", () => {
      this.#resolve(this.#state === "shut down" ? 0 : 1);
    });
    this.#whileRunning(DidChangeWorkspaceFoldersNotification.type, ({ event }) => {
      for (const { uri } of event.removed) {
        const path = pathOf(uri);
        if (path !== undefined) this.#roots.delete(path);
      }
      this.#workspace.setRoots([...this.#roots]);
      for (const { uri } of event.added) this.#addRoot(uri);
    });
  }

  /** The innermost folder of the workspace that has it; undefined for one outside. */
  #rootOf(folder: string): string | undefined {
    const around = [...this.#roots].filter((root) =>
      `${folder}${sep}`.startsWith(root.endsWith(sep) ? root : `${root}${sep}`),
    );
    return around.toSorted((a, b) => b.length - a.length)[0];
  }

  async #askTrust(root: string): Promise<TrustDecision | undefined> {
    const [yes, no] = ["Trust", "Never"];
    const answer = await this.#connection.sendRequest<{ readonly title: string } | null>(
      "window/showMessageRequest",
      {
        type: 2,
        message: `May Stackwright start the providers that ${root} has installed? They are programs. Without them it knows what the text says.`,
        actions: [{ title: yes }, { title: no }],
      },
    );
    if (answer?.title === yes) return "trusted";
    return answer?.title === no ? "refused" : undefined;
  }

  #trusted(root: string): void {
    const folders = new Set<string>();
    for (const path of this.#checkedFiles()) {
      const folder = dirname(path);
      if ((this.#rootOf(folder) ?? folder) !== root) continue;
      this.#checks.saved(path, true);
      folders.add(folder);
    }
    if (this.#plans) for (const folder of folders) this.#planned.plan(folder);
  }

  /** The open files whose problems are shown. */
  #checkedFiles(): readonly string[] {
    return [...this.#workspace.openFiles.keys()].filter((path) => !isTest(path));
  }

  #addRoot(uri: string): void {
    const path = pathOf(uri);
    if (path !== undefined) this.#roots.add(path);
    this.#workspace.setRoots([...this.#roots]);
  }

  /** Listens to what a client says while the server runs; before and after that it is passed over, as the protocol says. */
  #whileRunning<P, R>(type: ProtocolNotificationType<P, R>, take: (params: P) => void): void {
    this.#connection.onNotification(type, (params) => {
      if (this.#state === "running") take(params);
    });
  }

  #synchronization(): void {
    this.#whileRunning(DidOpenTextDocumentNotification.type, ({ textDocument }) => {
      const { uri, languageId, version, text } = textDocument;
      this.#documents.set(uri, TextDocument.create(uri, languageId, version, text));
      const path = this.#store(uri);
      if (path === undefined) return;
      this.#planned.opened(path);
      this.#checks.saved(path, false);
    });
    this.#whileRunning(
      DidChangeTextDocumentNotification.type,
      ({ textDocument, contentChanges }) => {
        const { uri, version } = textDocument;
        const document = this.#documents.get(uri);
        if (document === undefined) return;
        const before = document.getText();
        for (const change of contentChanges) {
          // Each is in the text that those before it have left.
          const own = this.#bytes?.received({ uri, change }).change ?? change;
          TextDocument.update(document, [own], version);
        }
        const path = this.#store(uri);
        if (path !== undefined && document.getText() !== before) this.#planned.changed(path);
      },
    );
    this.#whileRunning(DidSaveTextDocumentNotification.type, ({ textDocument }) => {
      const path = pathOf(textDocument.uri);
      const isChecked = path !== undefined && !isTest(path);
      if (isChecked && this.#documents.has(textDocument.uri)) {
        this.#checks.saved(path, true);
        if (this.#plans && this.#workspace.isOpen(path)) this.#planned.saved(path);
      }
    });
    this.#whileRunning(DidCloseTextDocumentNotification.type, ({ textDocument: { uri } }) => {
      const path = pathOf(uri);
      this.#documents.delete(uri);
      if (path === undefined) return;
      this.#workspace.close(path);
      this.#planned.closed(path);
      const folder = dirname(path);
      const others = this.#checkedFiles();
      if (!others.some((other) => dirname(other) === folder)) this.#checks.forget(folder);
    });
    this.#whileRunning(DidChangeWatchedFilesNotification.type, ({ changes }) => {
      const changed = changes.flatMap(({ uri }) => pathOf(uri) ?? []);
      if (changed.length === 0) return;
      for (const path of changed) this.#planned.changedOnDisk(path);
      // What is open may call the modules that changed.
      for (const path of this.#checkedFiles()) this.#checks.changed(path);
    });
  }

  #textOf(uri: string): string | undefined {
    const document = this.#documents.get(uri);
    if (document !== undefined) return document.getText();
    const path = pathOf(uri);
    return path === undefined ? undefined : this.#workspace.text(path);
  }

  /** Takes the text of a document into the workspace; undefined where that is no file that is looked at. */
  #store(uri: string): string | undefined {
    const path = pathOf(uri);
    const document = this.#documents.get(uri);
    if (path === undefined || document === undefined) return undefined;
    if (fileKind(path) === undefined) return undefined;
    this.#workspace.setOpen(path, document.getText());
    if (isTest(path)) return undefined;
    this.#checks.changed(path);
    return path;
  }
}
