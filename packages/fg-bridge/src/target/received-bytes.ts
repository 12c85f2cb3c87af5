/**
 * Bytes that arrive in chunks, as one text of bytes. They are copied: who sends a long answer in chunks of a byte would otherwise
 * make each of them an object that is kept until the end, a hundred times what it says.
 */
export class ReceivedBytes {
  #bytes: Buffer = Buffer.alloc(0);
  #size = 0;

  add(chunk: Uint8Array): void {
    const size = this.#size + chunk.byteLength;
    if (size > this.#bytes.byteLength) {
      const larger = Buffer.alloc(Math.max(size, this.#bytes.byteLength * 2));
      larger.set(this.#bytes.subarray(0, this.#size));
      this.#bytes = larger;
    }
    this.#bytes.set(chunk, this.#size);
    this.#size = size;
  }

  /** All that has arrived. */
  all(): Buffer {
    return this.#bytes.subarray(0, this.#size);
  }
}
