import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import type { Clock } from "@stackwright/base/clock";
import {
  createProtocolConnection,
  type Diagnostic,
  type ProtocolConnection,
  type Range,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";
import { Lines, uriOf } from "../document/locate.ts";
import type { WorkspaceLimits } from "../index/workspace.ts";
import type { LanguageHost } from "../server/language-host.ts";
import { type LanguageServer, serveLanguage } from "../server/serve-language.ts";

/** Texts by path in the workspace; a `|` in one marks the cursor. */
type WorkspaceTexts = Readonly<Record<string, string>>;

/** A client of a server in this process, with a workspace in a temporary folder. */
export class TestClient implements AsyncDisposable {
  readonly connection: ProtocolConnection;
  readonly server: LanguageServer;
  readonly folder: string;
  /** The last problems of each file, by path in the workspace. */
  readonly problems = new Map<string, Diagnostic[]>();
  /** What the server logged. */
  readonly logged: string[] = [];
  #cursor: { readonly path: string; readonly offset: number } | undefined;
  readonly #texts = new Map<string, string>();

  private constructor(host: LanguageHost, limits: WorkspaceLimits, clock?: Clock) {
    this.folder = mkdtempSync(join(tmpdir(), "lang-server-"));
    const toServer = new PassThrough();
    const toClient = new PassThrough();
    this.server = serveLanguage({
      input: toServer,
      output: toClient,
      version: "0.0.0",
      host,
      limits,
      ...(clock !== undefined && { clock }),
    });
    this.connection = createProtocolConnection(
      new StreamMessageReader(toClient),
      new StreamMessageWriter(toServer),
    );
    this.connection.onNotification(
      "textDocument/publishDiagnostics",
      ({ uri, diagnostics }: { uri: string; diagnostics: Diagnostic[] }) => {
        this.problems.set(uri.slice(uriOf(this.folder).length + 1), diagnostics);
      },
    );
    this.connection.onNotification("window/logMessage", ({ message }: { message: string }) => {
      this.logged.push(message);
    });
    this.connection.listen();
  }

  /** Writes the texts to disk, starts a server, and opens the file with the cursor, or else the first. */
  static async start(
    texts: WorkspaceTexts,
    host: LanguageHost = {},
    limits: WorkspaceLimits = {},
    initializationOptions: object = {},
    clock?: Clock,
    capabilities: object = {},
  ): Promise<TestClient> {
    const client = new TestClient(host, limits, clock);
    for (const [path, marked] of Object.entries(texts)) {
      const offset = marked.indexOf("|");
      const text = offset === -1 ? marked : marked.slice(0, offset) + marked.slice(offset + 1);
      if (offset !== -1) client.#cursor = { path, offset };
      client.#texts.set(path, text);
      mkdirSync(dirname(join(client.folder, path)), { recursive: true });
      writeFileSync(join(client.folder, path), text);
    }
    await client.connection.sendRequest("initialize", {
      processId: null,
      capabilities,
      initializationOptions,
      rootUri: uriOf(client.folder),
      workspaceFolders: [{ uri: uriOf(client.folder), name: "test" }],
    });
    await client.connection.sendNotification("initialized", {});
    const opened = client.#cursor?.path ?? Object.keys(texts)[0];
    if (opened !== undefined) await client.open(opened);
    return client;
  }

  uri(path: string): string {
    return uriOf(join(this.folder, path));
  }

  async open(path: string): Promise<void> {
    await this.connection.sendNotification("textDocument/didOpen", {
      textDocument: {
        uri: this.uri(path),
        languageId: "terraform",
        version: 1,
        text: this.#texts.get(path) ?? "",
      },
    });
  }

  async change(path: string, text: string, version: number): Promise<void> {
    this.#texts.set(path, text);
    await this.connection.sendNotification("textDocument/didChange", {
      textDocument: { uri: this.uri(path), version },
      contentChanges: [{ text }],
    });
  }

  /** Replaces a part of the text in the editor, which is `text` then. */
  async replace(
    path: string,
    range: Range,
    piece: string,
    text: string,
    version: number,
  ): Promise<void> {
    this.#texts.set(path, text);
    await this.connection.sendNotification("textDocument/didChange", {
      textDocument: { uri: this.uri(path), version },
      contentChanges: [{ range, text: piece }],
    });
  }

  /** Writes the text in the editor to the disk, and says so. */
  async save(path: string): Promise<void> {
    writeFileSync(join(this.folder, path), this.#texts.get(path) ?? "");
    await this.connection.sendNotification("textDocument/didSave", {
      textDocument: { uri: this.uri(path) },
    });
  }

  /** Sends a request about the cursor. */
  async at<T>(method: string, params: object = {}): Promise<T> {
    const { path = "", offset = 0 } = this.#cursor ?? {};
    const position = new Lines(this.#texts.get(path) ?? "").range({
      start: offset,
      end: offset,
    }).start;
    return this.connection.sendRequest(method, {
      textDocument: { uri: this.uri(path) },
      position,
      ...params,
    });
  }

  /** Labels that are proposed at the cursor. */
  async labels(): Promise<string[]> {
    const items = await this.at<{ label: string }[]>("textDocument/completion");
    return items.map(({ label }) => label);
  }

  /** The texts after the edits of an answer, by path. */
  edited(changes: Readonly<Record<string, readonly { range: never; newText: string }[]>>) {
    const result: Record<string, string> = {};
    for (const [uri, edits] of Object.entries(changes)) {
      const path = uri.slice(uriOf(this.folder).length + 1);
      let text = this.#texts.get(path) ?? "";
      const lines = new Lines(text);
      const placed = edits.map(({ range, newText }) => {
        const { start, end } = range as { start: never; end: never };
        return { start: lines.offset(start), end: lines.offset(end), newText };
      });
      for (const { start, end, newText } of placed.toSorted((a, b) => b.start - a.start)) {
        text = text.slice(0, start) + newText + text.slice(end);
      }
      result[path] = text;
    }
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    this.connection.dispose();
    rmSync(this.folder, { recursive: true });
  }
}
