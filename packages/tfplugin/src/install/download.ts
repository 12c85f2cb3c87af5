import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { type PackageHash, zipHash } from "@stackwright/provider-source";
import { TfpluginError } from "../errors.ts";
import { type InstallHttpClient, invalidResponse, requireOk, withoutQuery } from "./http-client.ts";

interface DownloadOptions {
  readonly http: InstallHttpClient;
  readonly maxBytes: number;
  /** How often a broken download is taken up again, as long as each time something comes. */
  readonly resumes: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Fetches a file to a path that does not exist yet, and returns the hash of what was written. A download that breaks
 * off continues where it was, if the server allows it and says that the file is the same; else it starts anew.
 *
 * `TFPLUGIN_DOWNLOAD_TOO_LARGE`, and what `InstallHttpClient` rejects with. What was written stays for the caller to remove.
 */
export async function download(
  url: URL,
  path: string,
  options: DownloadOptions,
): Promise<PackageHash> {
  await using file = new FileSink(await open(path, "wx", 0o600));
  return await receive(url, file, options);
}

/** A file that was fetched. */
export interface KeptDownload {
  readonly hash: PackageHash;
  /** Its bytes; the path where they are, if there are more than may stay in memory. */
  readonly content: Buffer | string;
}

/**
 * The same for what is mostly small: up to so many bytes stay in memory, and no file is made. Beyond them everything goes to the
 * path that is asked for then, which does not exist yet.
 */
export async function downloadKept(
  url: URL,
  spill: { readonly keepBytes: number; readonly path: () => Promise<string> },
  options: DownloadOptions,
): Promise<KeptDownload> {
  await using sink = new MemorySink(spill.keepBytes, spill.path);
  const hash = await receive(url, sink, options);
  return { hash, content: sink.content };
}

async function receive(
  url: URL,
  sink: DownloadSink,
  options: DownloadOptions,
): Promise<PackageHash> {
  const { http, resumes, signal } = options;
  const state = new PartialFile(url, sink, options.maxBytes);
  for (let attempt = 0; ; attempt += 1) {
    const response = await http.get(url, { headers: state.rangeHeaders(), signal });
    await state.begin(response);
    try {
      for await (const part of http.parts(response)) {
        signal?.throwIfAborted();
        await state.append(part);
      }
      if (state.isComplete) return state.hash();
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TfpluginError) throw error;
    }
    if (attempt >= resumes) {
      const text = `${withoutQuery(url)} broke off ${attempt + 1} times`;
      throw new TfpluginError("TFPLUGIN_REGISTRY_UNAVAILABLE", text);
    }
  }
}

/** Where the parts of a download go, one after the other. */
interface DownloadSink extends AsyncDisposable {
  /** Forgets what has come. */
  restart(): Promise<void>;
  append(part: Uint8Array): Promise<void>;
}

class FileSink implements DownloadSink {
  readonly #file: FileHandle;
  #bytes = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  async restart(): Promise<void> {
    if (this.#bytes > 0) await this.#file.truncate(0);
    this.#bytes = 0;
  }

  async append(part: Uint8Array): Promise<void> {
    // A file takes what it has room for.
    for (let at = 0; at < part.length; ) {
      const { bytesWritten } = await this.#file.write(part, at, part.length - at, this.#bytes);
      at += bytesWritten;
      this.#bytes += bytesWritten;
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#file.close();
  }
}

/** Becomes a file as soon as there is more than may stay in memory. */
class MemorySink implements DownloadSink {
  readonly #keepBytes: number;
  readonly #pathOf: () => Promise<string>;
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #file: { readonly path: string; readonly sink: FileSink } | undefined;

  constructor(keepBytes: number, pathOf: () => Promise<string>) {
    this.#keepBytes = keepBytes;
    this.#pathOf = pathOf;
  }

  get content(): Buffer | string {
    return this.#file?.path ?? Buffer.concat(this.#parts, this.#bytes);
  }

  async restart(): Promise<void> {
    this.#parts = [];
    this.#bytes = 0;
    await this.#file?.sink.restart();
  }

  async append(part: Uint8Array): Promise<void> {
    if (this.#file === undefined && this.#bytes + part.length <= this.#keepBytes) {
      this.#parts.push(part);
      this.#bytes += part.length;
      return;
    }
    if (this.#file === undefined) {
      const path = await this.#pathOf();
      this.#file = { path, sink: new FileSink(await open(path, "wx", 0o600)) };
      for (const kept of this.#parts) await this.#file.sink.append(kept);
      this.#parts = [];
    }
    await this.#file.sink.append(part);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.sink[Symbol.asyncDispose]();
  }
}

/** What of a file has come so far. */
class PartialFile {
  readonly #url: URL;
  readonly #sink: DownloadSink;
  readonly #maxBytes: number;
  #hash = createHash("sha256");
  #bytes = 0;
  #total: number | undefined;
  /** By which the server recognises the file. */
  #tag: string | undefined;

  constructor(url: URL, sink: DownloadSink, maxBytes: number) {
    this.#url = url;
    this.#sink = sink;
    this.#maxBytes = maxBytes;
  }

  get isComplete(): boolean {
    return this.#total === undefined || this.#bytes === this.#total;
  }

  /** Asks for the rest, where there is a beginning that the server can recognise. */
  rangeHeaders(): Readonly<Record<string, string>> {
    if (this.#bytes === 0 || this.#tag === undefined) return {};
    return { range: `bytes=${this.#bytes}-`, "if-range": this.#tag };
  }

  async begin(response: Response): Promise<void> {
    await requireOk(this.#url, response);
    const { status, headers } = response;
    if (status === 206) {
      const start = /^bytes (\d+)-/.exec(headers.get("content-range") ?? "")?.[1];
      if (Number(start) === this.#bytes) return;
      await response.body?.cancel();
      throw invalidResponse(this.#url, "it is another part than was asked for");
    }
    this.#hash = createHash("sha256");
    this.#bytes = 0;
    await this.#sink.restart();
    const etag = headers.get("etag");
    // A weak tag does not say that the bytes are the same.
    this.#tag = etag === null || etag.startsWith("W/") ? undefined : etag;
    const length = headers.get("content-encoding") === null ? headers.get("content-length") : null;
    this.#total = length === null ? undefined : Number(length);
    if (this.#total !== undefined && this.#total > this.#maxBytes) {
      await response.body?.cancel();
      throw this.#tooLarge();
    }
  }

  async append(part: Uint8Array): Promise<void> {
    if (this.#bytes + part.length > this.#maxBytes) throw this.#tooLarge();
    await this.#sink.append(part);
    this.#hash.update(part);
    this.#bytes += part.length;
  }

  hash(): PackageHash {
    return zipHash(this.#hash.digest("hex"));
  }

  #tooLarge(): TfpluginError {
    const text = `${withoutQuery(this.#url)} is larger than ${this.#maxBytes} bytes`;
    return new TfpluginError("TFPLUGIN_DOWNLOAD_TOO_LARGE", text);
  }
}
