import { stripVTControlCharacters } from "node:util";
import { deferred } from "@stackwright/base/deferred";
import { MuxError } from "../errors.ts";

/** What a first line may be long, in bytes. A port has five digits; terminals add control sequences. */
const MAX_BYTES = 1024;

/**
 * Takes the first line of a provider's output, which is the port that it listens on, and hands what follows on.
 * `port` rejects with `MUX_PROCESS_PORT_INVALID`.
 *
 * Source: Pulumi's launch protocol of providers.
 */
export class PortLine {
  readonly port: Promise<number>;
  readonly #settled = deferred<number>();
  readonly #onRest: (chunk: Buffer) => void;
  #head: Buffer | undefined = Buffer.alloc(0);

  constructor(onRest: (chunk: Buffer) => void) {
    this.#onRest = onRest;
    this.port = this.#settled.promise;
    // The launch may fail for another reason and never read the port.
    this.port.catch(() => undefined);
  }

  readonly push = (chunk: Buffer): void => {
    if (this.#head === undefined) {
      this.#onRest(chunk);
      return;
    }
    const head = Buffer.concat([this.#head, chunk]);
    const end = head.indexOf("\n");
    if (end === -1 && head.length <= MAX_BYTES) {
      this.#head = head;
      return;
    }
    this.#head = undefined;
    const line = head.subarray(0, end === -1 ? MAX_BYTES : end).toString("utf8");
    const port = parsePort(line);
    if (port === undefined) {
      const shown = JSON.stringify(line.slice(0, 100));
      const text = `the first line of output is to be a port from 1 to 65535 and is ${shown}`;
      this.#settled.reject(new MuxError("MUX_PROCESS_PORT_INVALID", text));
    } else this.#settled.resolve(port);
    if (end !== -1 && end + 1 < head.length) this.#onRest(head.subarray(end + 1));
  };
}

/** A port in decimal digits, or `undefined`. Control sequences of terminals and white space around it are passed over. */
export function parsePort(line: string): number | undefined {
  const text = stripVTControlCharacters(line).trim();
  if (!/^\d{1,5}$/.test(text)) return undefined;
  const port = Number(text);
  return port >= 1 && port <= 65_535 ? port : undefined;
}
