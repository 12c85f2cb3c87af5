import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { uriOf } from "../document/locate.ts";
import { type LanguageServerOptions, serveLanguage } from "./serve-language.ts";

/* Clients that keep less of the protocol than the library of others does: bytes as they come over the pipe. */

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly uri?: string; readonly diagnostics?: readonly object[] };
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** A client that writes what it is told to. */
class RawClient implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), "lang-server raw ü-"));
  readonly server: ReturnType<typeof serveLanguage>;
  readonly received: Message[] = [];
  readonly #input = new PassThrough();
  readonly #waiting = new Set<() => void>();
  #bytes = Buffer.alloc(0);
  #next = 1;

  constructor(options: Partial<LanguageServerOptions> = {}) {
    const output = new PassThrough();
    output.on("data", (chunk: Buffer) => this.#take(chunk));
    this.server = serveLanguage({ input: this.#input, output, version: "0.0.0", ...options });
  }

  static async initialized(options: Partial<LanguageServerOptions> = {}): Promise<RawClient> {
    const client = new RawClient(options);
    await client.request("initialize", {
      capabilities: {},
      workspaceFolders: [{ uri: uriOf(client.folder), name: "raw" }],
    });
    client.notify("initialized", {});
    return client;
  }

  uri(path: string): string {
    return uriOf(join(this.folder, path));
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  raw(text: string | Buffer): void {
    this.#input.write(text);
  }

  frame(json: unknown): Buffer {
    const body = Buffer.from(typeof json === "string" ? json : JSON.stringify(json));
    return Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]);
  }

  notify(method: string, params: unknown): void {
    this.raw(this.frame({ jsonrpc: "2.0", method, params }));
  }

  /** The request as it is sent, and its answer. */
  async request(method: string, params: unknown): Promise<Message> {
    const id = this.#next++;
    this.raw(this.frame({ jsonrpc: "2.0", id, method, params }));
    return this.answer(id);
  }

  async answer(id: number): Promise<Message> {
    return this.when(({ id: of, method }) => of === id && method === undefined);
  }

  open(path: string, text: string, version = 1): void {
    const textDocument = { uri: this.uri(path), languageId: "terraform", version, text };
    this.notify("textDocument/didOpen", { textDocument });
  }

  /** The first message that is meant, of those that are here or come. */
  async when(isMeant: (message: Message) => boolean): Promise<Message> {
    return new Promise((found) => {
      const look = (): void => {
        const message = this.received.find(isMeant);
        if (message === undefined) return;
        this.#waiting.delete(look);
        found(message);
      };
      this.#waiting.add(look);
      look();
    });
  }

  end(): void {
    this.#input.end();
  }

  #take(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]);
    for (;;) {
      const head = this.#bytes.indexOf("\r\n\r\n");
      const length = Number(/Content-Length: (\d+)/.exec(this.#bytes.toString("latin1"))?.[1]);
      if (head === -1 || this.#bytes.length < head + 4 + length) break;
      const body = this.#bytes.subarray(head + 4, head + 4 + length);
      this.received.push(JSON.parse(body.toString("utf8")) as Message);
      this.#bytes = this.#bytes.subarray(head + 4 + length);
    }
    for (const look of Array.from(this.#waiting)) look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const hoverAt = (client: RawClient, line: number, character: number) => ({
  textDocument: { uri: client.uri("main.tf") },
  position: { line, character },
});

const SOURCE =
  'variable "region" {\n  description = "Where."\n}\n\noutput "x" {\n  value = var.region\n}\n';

describe("bytes", () => {
  it("of a message may come one by one, and several messages at once", async () => {
    await using client = await RawClient.initialized();
    client.open("main.tf", SOURCE);
    const hover = { jsonrpc: "2.0", method: "textDocument/hover", params: hoverAt(client, 5, 14) };
    for (const byte of client.frame({ ...hover, id: 100 })) client.raw(Buffer.from([byte]));
    expect((await client.answer(100)).result).toMatchObject({ contents: { kind: "markdown" } });
    client.raw(Buffer.concat([101, 102, 103].map((id) => client.frame({ ...hover, id }))));
    const answers = await Promise.all([101, 102, 103].map(async (id) => client.answer(id)));
    expect(answers.filter(({ result }) => result !== null)).toHaveLength(3);
  });

  it("that are no JSON, no object or no request are passed over", async () => {
    await using client = await RawClient.initialized();
    for (const body of ["{", "null", "[]", "7", '"text"', '{"jsonrpc":"2.0"}', "\u0000"]) {
      client.raw(client.frame(body));
    }
    client.open("main.tf", SOURCE);
    expect(
      (await client.request("textDocument/hover", hoverAt(client, 5, 14))).result,
    ).not.toBeNull();
  });

  it("without a length end the server: what follows them cannot be read", async () => {
    await using client = await RawClient.initialized();
    client.raw("Content-Type: text/plain\r\n\r\nhello");
    expect(await client.server.ended).toBe(1);
  });

  it.each(["-1", "many", "99999999999", "", "2\r\nContent-Length: 99999999999"])(
    "that announce %s bytes end the server",
    async (length) => {
      await using client = await RawClient.initialized();
      client.raw(`Content-Length: ${length}\r\n\r\n{}`);
      expect(await client.server.ended).toBe(1);
    },
  );

  it("of a browser end the server, whatever they announce", async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params: {} });
    for (const first of ["POST /a:b HTTP/1.1", "POST / HTTP/1.1"]) {
      await using client = new RawClient();
      client.raw(`${first}\r\nHost: 127.0.0.1\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
      expect(await client.server.ended).toBe(1);
      expect(client.received).toEqual([]);
    }
  });

  it("whose head does not end end the server", async () => {
    await using client = await RawClient.initialized();
    for (let part = 0; part < 10; part++) client.raw(`X-Part: ${"x".repeat(1000)}\r\n`);
    expect(await client.server.ended).toBe(1);
  });

  it("that end in the middle of a message end the server", async () => {
    await using client = await RawClient.initialized();
    client.raw('Content-Length: 100\r\n\r\n{"jsonrpc"');
    client.end();
    expect(await client.server.ended).toBe(1);
  });
});

describe("the life of a connection", () => {
  it("begins with initialize, once, and does not begin again after shutdown", async () => {
    await using client = new RawClient();
    const early = await client.request("textDocument/hover", hoverAt(client, 0, 0));
    expect(early.error?.code).toBe(-32002);
    // What is said before is not listened to.
    client.open("main.tf", 'output "x" {\n');
    const initialize = { capabilities: {}, rootUri: uriOf(client.folder) };
    expect((await client.request("initialize", initialize)).result).toMatchObject({
      serverInfo: { name: "stackwright" },
    });
    expect((await client.request("initialize", initialize)).error?.code).toBe(-32600);
    const closed = await client.request("textDocument/documentSymbol", {
      textDocument: { uri: client.uri("main.tf") },
    });
    expect(closed.result).toBeNull();
    expect((await client.request("shutdown", undefined)).result).toBeNull();
    expect((await client.request("initialize", initialize)).error?.code).toBe(-32600);
    expect((await client.request("textDocument/hover", hoverAt(client, 0, 0))).error?.code).toBe(
      -32600,
    );
    client.notify("exit", undefined);
    expect(await client.server.ended).toBe(0);
  });

  it("has answers for requests that are malformed, or that it does not know", async () => {
    await using client = await RawClient.initialized();
    client.open("main.tf", SOURCE);
    const wrong = [
      undefined,
      {},
      { textDocument: null },
      { textDocument: { uri: 7 } },
      { textDocument: { uri: client.uri("main.tf") } },
      { ...hoverAt(client, 0, 0), position: { line: "one" } },
    ];
    for (const params of wrong) {
      const answer = await client.request("textDocument/hover", params);
      expect([params, answer.error !== undefined || answer.result === null]).toEqual([
        params,
        true,
      ]);
    }
    expect((await client.request("textDocument/nothing", {})).error?.code).toBe(-32601);
    // Places outside of the text are the nearest ones inside.
    for (const [line, character] of [
      [-1, -1],
      [5, 10_000],
      [10_000, 0],
    ] as const) {
      const answer = await client.request(
        "textDocument/completion",
        hoverAt(client, line, character),
      );
      expect(answer.error).toBeUndefined();
    }
    for (const uri of ["untitled:one", "file://host/x.tf", "http://x/main.tf", "", "file:///%ZZ"]) {
      const answer = await client.request("textDocument/hover", {
        textDocument: { uri },
        position: { line: 0, character: 0 },
      });
      expect([uri, answer.error, answer.result]).toEqual([uri, undefined, null]);
    }
  });

  it("goes on after requests that are cancelled, also before they are answered and twice", async () => {
    await using client = await RawClient.initialized();
    client.open("main.tf", SOURCE);
    const params = hoverAt(client, 5, 14);
    const frames = [500, 501, 502].flatMap((id) => [
      client.frame({ jsonrpc: "2.0", id, method: "textDocument/hover", params }),
      client.frame({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } }),
      client.frame({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } }),
    ]);
    client.raw(
      Buffer.concat([...frames, client.frame({ jsonrpc: "2.0", method: "$/cancelRequest" })]),
    );
    // Each has one answer, whichever.
    for (const id of [500, 501, 502]) {
      await client.answer(id);
    }
    expect((await client.request("textDocument/hover", params)).result).not.toBeNull();
    const answered = client.received.filter(({ id }) => id !== undefined && id >= 500);
    expect(answered).toHaveLength(3);
  });
});

describe("documents", () => {
  it("with CRLF and signs of several units have places in UTF-16, in both directions", async () => {
    await using client = await RawClient.initialized();
    const text = 'locals {\r\n  "😀" = "x"\r\n}\r\n';
    const uses =
      'output "o" {\r\n  value = "😀é ${local.naïve}"\r\n}\r\nlocals {\r\n  naïve = 1\r\n}\r\n';
    client.open("main.tf", uses);
    client.write("other.tf", text);
    const line = uses.split("\r\n")[1] ?? "";
    const character = line.indexOf("naïve") + 1;
    const { result } = await client.request(
      "textDocument/definition",
      hoverAt(client, 1, character),
    );
    const [found] = [result].flat() as { uri: string; range: { start: object; end: object } }[];
    expect(found?.range).toEqual({
      start: { line: 4, character: 2 },
      end: { line: 4, character: 7 },
    });
    const renamed = await client.request("textDocument/rename", {
      ...hoverAt(client, 1, character),
      newName: "plain",
    });
    const changes = JSON.stringify(renamed.result);
    expect(changes).toContain(`"start":{"line":1,"character":${line.indexOf("naïve")}}`);
    expect(changes).toContain(`"end":{"line":1,"character":${line.indexOf("naïve") + 5}}`);
    const formatted = await client.request("textDocument/formatting", {
      textDocument: { uri: client.uri("main.tf") },
      options: {},
    });
    expect(formatted.error).toBeUndefined();
  });

  it("that change while they are asked about are answered by what was sent before", async () => {
    await using client = await RawClient.initialized();
    client.open("main.tf", SOURCE);
    const uri = client.uri("main.tf");
    const frames: Buffer[] = [];
    for (let version = 2; version < 42; version++) {
      // A line is written before all others and taken away again.
      const isWritten = version % 2 === 0;
      const start = { line: 0, character: 0 };
      const range = { start, end: isWritten ? start : { line: 1, character: 0 } };
      const contentChanges = [{ range, text: isWritten ? "# 😀\n" : "" }];
      frames.push(
        client.frame({
          jsonrpc: "2.0",
          method: "textDocument/didChange",
          params: { textDocument: { uri, version }, contentChanges },
        }),
        client.frame({
          jsonrpc: "2.0",
          id: 600 + version,
          method: "textDocument/hover",
          params: hoverAt(client, isWritten ? 6 : 5, 14),
        }),
      );
    }
    client.raw(Buffer.concat(frames));
    for (let version = 2; version < 42; version++) {
      expect((await client.answer(600 + version)).result).not.toBeNull();
    }
    // A change of what is not open, a close of it, and an open of what is open are no errors.
    client.notify("textDocument/didChange", {
      textDocument: { uri: client.uri("absent.tf"), version: 1 },
      contentChanges: [{ text: "x" }],
    });
    client.notify("textDocument/didClose", { textDocument: { uri: client.uri("absent.tf") } });
    client.open("main.tf", SOURCE, 50);
    expect(
      (await client.request("textDocument/hover", hoverAt(client, 5, 14))).result,
    ).not.toBeNull();
  });

  it("that are too large are neither read nor searched, and do not keep others waiting", async () => {
    await using client = await RawClient.initialized({ limits: { maxFileBytes: 100_000 } });
    client.open("main.tf", SOURCE);
    const large = `${SOURCE.replace("x", "y")}# ${"long ".repeat(40_000)}\n`;
    client.write("disk.tf", large);
    client.open("large.tf", large.replace("y", "z"));
    const about = { textDocument: { uri: client.uri("large.tf") } };
    expect((await client.request("textDocument/documentSymbol", about)).result).toBeNull();
    expect(
      (await client.request("textDocument/hover", hoverAt(client, 5, 14))).result,
    ).not.toBeNull();
    // A name may be in them, so that it is not changed.
    const renamed = await client.request("textDocument/rename", {
      ...hoverAt(client, 5, 14),
      newName: "place",
    });
    expect(renamed.error?.message).toContain("is too large to be searched");
  });

  it("of folders that are taken away have no problems that stay, and the server goes on", async () => {
    await using client = await RawClient.initialized();
    client.write("gone/main.tf", 'output "a" {\n  value = var.absent\n}\n');
    client.write("gone/module/main.tf", "");
    client.open("gone/main.tf", 'output "a" {\n  value = var.absent\n}\n');
    const uri = client.uri("gone/main.tf");
    const published = (has: boolean) => (message: Message) =>
      message.method === "textDocument/publishDiagnostics" &&
      message.params?.uri === uri &&
      (message.params.diagnostics?.length ?? 0) > 0 === has;
    await client.when(published(true));
    rmSync(join(client.folder, "gone"), { recursive: true });
    client.notify("workspace/didChangeWatchedFiles", { changes: [{ uri, type: 3 }] });
    const report = await client.request("textDocument/diagnostic", { textDocument: { uri } });
    expect(JSON.stringify(report.result)).toContain("absent");
    client.notify("textDocument/didClose", { textDocument: { uri } });
    await client.when(published(false));
    client.notify("workspace/didChangeWorkspaceFolders", {
      event: { removed: [{ uri: uriOf(client.folder), name: "raw" }], added: [] },
    });
    client.open("main.tf", SOURCE);
    expect(
      (await client.request("textDocument/hover", hoverAt(client, 5, 14))).result,
    ).not.toBeNull();
  });
});
