import { randomBytes } from "node:crypto";
import { EngineError } from "../errors.ts";
import type { StackCipher } from "./stack-cipher.ts";

// Format 1 of a sealed stream: the byte 1, sixteen random bytes that name the stream, then parts. A part has four bytes of
// length, whose top bit says that it is the last one, and that many sealed bytes. The context of a part names the stream,
// the place of the part in it, and whether it is the last: so parts cannot be left out, repeated, exchanged, moved to
// another stream, or cut off at the end.

const FORMAT = 1;
const NAME_BYTES = 16;
const LENGTH_BYTES = 4;
const LAST = 2 ** 31;
/** Bytes of a part before it is sealed. */
const PART_BYTES = 256 * 1024;
/** Bytes of a sealed part: far above what sealing adds. */
const MAX_SEALED_BYTES = PART_BYTES + 1_024;

/** Encrypts a stream in parts, in memory for one of them. `context` as for {@link StackCipher.seal}. */
export async function* sealStream(
  cipher: StackCipher,
  content: AsyncIterable<Uint8Array>,
  context: string,
  random: (bytes: number) => Uint8Array = randomBytes,
): AsyncGenerator<Uint8Array, void, undefined> {
  const name = Buffer.from(random(NAME_BYTES));
  yield Buffer.concat([Buffer.of(FORMAT), name]);
  let index = 0;
  const seal = (plain: Uint8Array, isLast: boolean): readonly Uint8Array[] => {
    const sealed = cipher.seal(plain, partContext(context, name, index, isLast));
    index += 1;
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeUInt32BE(isLast ? sealed.length + LAST : sealed.length);
    return [length, sealed];
  };
  const part = Buffer.alloc(PART_BYTES);
  let filled = 0;
  for await (const chunk of content) {
    for (let at = 0; at < chunk.length; ) {
      // Whether a full part is the last one shows only when more comes.
      if (filled === PART_BYTES) {
        yield* seal(part, false);
        filled = 0;
      }
      const size = Math.min(PART_BYTES - filled, chunk.length - at);
      part.set(chunk.subarray(at, at + size), filled);
      filled += size;
      at += size;
    }
  }
  yield* seal(part.subarray(0, filled), true);
}

/**
 * Decrypts what {@link sealStream} made. Each part is given out once it is authenticated. `ENGINE_STATE_CORRUPT` for bytes that were
 * changed, moved, added or cut off; `ENGINE_KEY_UNAVAILABLE` without their key.
 */
export async function* openStream(
  cipher: StackCipher,
  sealed: AsyncIterable<Uint8Array>,
  context: string,
): AsyncGenerator<Uint8Array, void, undefined> {
  await using reader = new ByteReader(sealed);
  const head = await reader.take(1 + NAME_BYTES);
  if (head[0] !== FORMAT) throw damaged("is stored in an unknown form");
  const name = head.subarray(1);
  for (let index = 0; ; index += 1) {
    const length = (await reader.take(LENGTH_BYTES)).readUInt32BE();
    const isLast = length >= LAST;
    const size = isLast ? length - LAST : length;
    if (size > MAX_SEALED_BYTES) throw damaged("has a part of a wrong size");
    const part = await reader.take(size);
    const plain = cipher.open(part, partContext(context, name, index, isLast));
    if (plain.length > 0) yield plain;
    if (!isLast) continue;
    if (await reader.hasMore()) throw damaged("has more bytes than were written");
    return;
  }
}

function partContext(context: string, name: Buffer, index: number, isLast: boolean): string {
  return [context, name.toString("hex"), index, isLast ? "last" : "more"].join("\0");
}

function damaged(what: string): EngineError {
  return new EngineError("ENGINE_STATE_CORRUPT", `an encrypted content ${what}`);
}

/** Takes a stream of chunks apart. */
class ByteReader implements AsyncDisposable {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #parts: Buffer[] = [];
  #size = 0;

  constructor(content: AsyncIterable<Uint8Array>) {
    this.#chunks = content[Symbol.asyncIterator]();
  }

  /** The next bytes, exactly so many. */
  async take(size: number): Promise<Buffer> {
    while (this.#size < size) if (!(await this.#more())) throw damaged("is cut off");
    const taken: Buffer[] = [];
    for (let missing = size; missing > 0; ) {
      const [first = Buffer.alloc(0)] = this.#parts;
      const part = first.subarray(0, missing);
      taken.push(part);
      missing -= part.length;
      if (part.length === first.length) this.#parts.shift();
      else this.#parts[0] = first.subarray(part.length);
    }
    this.#size -= size;
    // What is not taken is not copied.
    return taken.length === 1 && taken[0] !== undefined ? taken[0] : Buffer.concat(taken);
  }

  async hasMore(): Promise<boolean> {
    while (this.#size === 0) if (!(await this.#more())) return false;
    return true;
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done === true) return false;
    this.#parts.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
    this.#size += value.byteLength;
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chunks.return?.();
  }
}
