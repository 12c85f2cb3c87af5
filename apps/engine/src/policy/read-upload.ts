import { gunzipSync } from "node:zlib";
import { ServerError } from "../domain/server-error.ts";
import { MAX_UNPACKED_BYTES } from "./policy-limits.ts";

/** What was uploaded as the content of a policy set. */
export type PolicyUpload =
  | {
      readonly format: "wasm" | "bundle";
      readonly program: Uint8Array<ArrayBuffer>;
      readonly data?: Uint8Array<ArrayBuffer>;
    }
  /** Sources, by their paths, which have to be compiled. */
  | { readonly format: "rego"; readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>> };

/** Members of an archive. */
const MAX_FILES = 1_000;
const BLOCK = 512;

/**
 * Reads an upload by its first bytes: a WebAssembly module, a gzip-compressed bundle as `opa build` writes it, or one source in Rego.
 * A bundle without a module is a bundle of sources. `unprocessable` for anything else.
 */
export function readPolicyUpload(content: Uint8Array<ArrayBuffer>): PolicyUpload {
  if (startsWith(content, [0x00, 0x61, 0x73, 0x6d])) return { format: "wasm", program: content };
  if (startsWith(content, [0x1f, 0x8b])) return readBundle(unpack(content));
  const text = new TextDecoder("utf-8", { fatal: true });
  try {
    if (/^[ \t]*package\s/mu.test(text.decode(content))) {
      return { format: "rego", files: new Map([["policy.rego", content]]) };
    }
  } catch {
    // No text, so no source.
  }
  throw refused(
    "the content has no policies: upload a WebAssembly module, a bundle (tar.gz) of opa build, or a source in Rego",
  );
}

function readBundle(files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>): PolicyUpload {
  const modules = [...files].filter(([path]) => path.endsWith(".wasm"));
  const data = files.get("data.json");
  const [only, second] = modules;
  if (second !== undefined) {
    throw refused(
      "the bundle has several WebAssembly modules; build one with all entry points (opa build -t wasm -e FIRST -e SECOND)",
    );
  }
  if (only !== undefined) {
    return { format: "bundle", program: only[1], ...(data !== undefined && { data }) };
  }
  const sources = [...files].filter(([path]) => path.endsWith(".rego") || path === "data.json");
  if (!sources.some(([path]) => path.endsWith(".rego"))) {
    throw refused("the bundle has neither a WebAssembly module nor sources in Rego");
  }
  return { format: "rego", files: new Map(sources) };
}

function unpack(content: Uint8Array): ReadonlyMap<string, Uint8Array<ArrayBuffer>> {
  let tar: Buffer;
  try {
    tar = gunzipSync(content, { maxOutputLength: MAX_UNPACKED_BYTES });
  } catch (cause) {
    throw refused(
      `the bundle is damaged, or unpacks to more than ${MAX_UNPACKED_BYTES} bytes`,
      cause,
    );
  }
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  for (let at = 0; at + BLOCK <= tar.length; ) {
    const header = tar.subarray(at, at + BLOCK);
    const name = fieldOf(header, 0, 100);
    if (name === "") break;
    const size = Number.parseInt(fieldOf(header, 124, 12).trim() || "0", 8);
    const end = at + BLOCK + size;
    if (!Number.isSafeInteger(size) || size < 0 || end > tar.length) {
      throw refused("the bundle is damaged");
    }
    const prefix = fieldOf(header, 345, 155);
    const path = `${prefix === "" ? "" : `${prefix}/`}${name}`.replace(/^(?:\.?\/)+/, "");
    const type = fieldOf(header, 156, 1);
    if (type === "" || type === "0")
      files.set(path, Uint8Array.from(tar.subarray(at + BLOCK, end)));
    if (files.size > MAX_FILES) throw refused(`the bundle has more than ${MAX_FILES} files`);
    at = at + BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return files;
}

function fieldOf(header: Buffer, at: number, length: number): string {
  const bytes = header.subarray(at, at + length);
  const end = bytes.indexOf(0);
  return bytes.subarray(0, end === -1 ? length : end).toString("utf8");
}

function startsWith(content: Uint8Array, magic: readonly number[]): boolean {
  return magic.every((byte, at) => content[at] === byte);
}

function refused(text: string, cause?: unknown): ServerError {
  return new ServerError("unprocessable", text, { cause });
}
