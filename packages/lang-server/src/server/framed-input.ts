import { Transform, type TransformCallback } from "node:stream";

/** Largest message that is taken, in bytes: an editor sends whole texts of files. */
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;
const MAX_HEAD_BYTES = 8192;
/** Of a head. The first line of a request of a browser, for which a port of this machine may be one of a page, is none. */
const FIELD = /^[a-z-]+:/i;
const LENGTH = /^content-length:[ \t]*(\d+)[ \t]*$/i;

/**
 * Passes the bytes of a client on as they are, and fails where it is not known how long a message is, or where it is longer than any:
 * what follows could not be understood, and would be collected without end.
 */
export class FramedInput extends Transform {
  /** What is read of a head so far. */
  #head = "";
  /** Bytes of the message that are still to come. */
  #body = 0;

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let at = 0;
    while (at < chunk.length) {
      if (this.#body > 0) {
        const taken = Math.min(this.#body, chunk.length - at);
        this.#body -= taken;
        at += taken;
        continue;
      }
      const before = this.#head.length;
      const rest = chunk.toString("latin1", at, at + MAX_HEAD_BYTES);
      this.#head += rest;
      const end = this.#head.indexOf("\r\n\r\n");
      if (end === -1) {
        if (this.#head.length > MAX_HEAD_BYTES) {
          done(new Error("the head of a message does not end"));
          return;
        }
        at += rest.length;
        continue;
      }
      const fields = this.#head.slice(0, end).split("\r\n");
      if (!fields.every((field) => FIELD.test(field))) {
        done(new Error("the head of a message has a line without a field"));
        return;
      }
      const lengths = fields.filter((field) => /^content-length:/i.test(field));
      // Of several it is not known which one is meant.
      const [, length] = (lengths.length === 1 && LENGTH.exec(lengths[0] ?? "")) || [];
      if (length === undefined || Number(length) > MAX_MESSAGE_BYTES) {
        done(new Error(`a message has ${length ?? "no known number of"} bytes`));
        return;
      }
      at += end + 4 - before;
      this.#head = "";
      this.#body = Number(length);
    }
    done(null, chunk);
  }
}
