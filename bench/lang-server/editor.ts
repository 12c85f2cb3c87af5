import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  createProtocolConnection,
  type ProtocolConnection,
  StreamMessageReader,
  StreamMessageWriter,
} from "vscode-languageserver-protocol/node";

/** An editor with a language server of its own. */
export class Editor implements AsyncDisposable {
  readonly #folder: string;
  readonly #server: ChildProcess;
  readonly #connection: ProtocolConnection;

  private constructor(folder: string) {
    this.#folder = folder;
    const server = spawn(process.execPath, [join(import.meta.dirname, "server.ts")], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#server = server;
    this.#connection = createProtocolConnection(
      new StreamMessageReader(server.stdout),
      new StreamMessageWriter(server.stdin),
    );
    this.#connection.listen();
  }

  static async start(folder: string): Promise<Editor> {
    const editor = new Editor(folder);
    await editor.#connection.sendRequest("initialize", {
      processId: process.pid,
      capabilities: {},
      rootUri: pathToFileURL(folder).href,
      workspaceFolders: [{ uri: pathToFileURL(folder).href, name: "repository" }],
    });
    await editor.#connection.sendNotification("initialized", {});
    return editor;
  }

  /** Opens a file, and asks what the server finds in it. */
  async open(path: string, text: string): Promise<void> {
    const uri = this.#uri(path);
    const textDocument = { uri, languageId: "terraform", version: 1, text };
    await this.#connection.sendNotification("textDocument/didOpen", { textDocument });
    await this.#connection.sendRequest("textDocument/diagnostic", { textDocument: { uri } });
  }

  async ask<T>(
    method: string,
    { path, line, character }: { path: string; line: number; character: number },
    more: object = {},
  ): Promise<T> {
    return this.#connection.sendRequest<T>(method, {
      textDocument: { uri: this.#uri(path) },
      position: { line, character },
      ...more,
    });
  }

  /** What the server has of the memory now, in MiB. */
  memory(): number {
    const status = readFileSync(`/proc/${this.#server.pid ?? ""}/status`, "utf8");
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
  }

  #uri(path: string): string {
    return pathToFileURL(join(this.#folder, path)).href;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#server, "exit");
    await this.#connection.sendRequest("shutdown");
    await this.#connection.sendNotification("exit");
    await ended;
    this.#connection.dispose();
  }
}
