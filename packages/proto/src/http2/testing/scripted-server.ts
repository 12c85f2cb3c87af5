import { duplexPair } from "node:stream";
import { ClientConnection, type ClientConnectionOptions } from "../client-connection.ts";
import {
  CLIENT_PREFACE,
  FLAG,
  FRAME,
  LARGEST_FRAME_BYTES,
  settingsFrame,
  writeFrameHeader,
} from "../frame.ts";
import { FrameReader } from "../frame-reader.ts";
import type { HeaderList } from "../header-block.ts";
import type { StreamFailure, StreamListener } from "../http2-stream.ts";

interface SeenFrame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

/** The other side of a {@link ClientConnection}: sees every frame, and sends exactly what the test says. */
export class ScriptedServer {
  readonly connection: ClientConnection;
  readonly frames: SeenFrame[] = [];
  readonly events: string[] = [];
  readonly #socket;

  constructor(options: Partial<ClientConnectionOptions> = {}) {
    const [client, server] = duplexPair();
    this.#socket = server;
    const reader = new FrameReader(LARGEST_FRAME_BYTES, (type, flags, streamId, payload) => {
      this.frames.push({ type, flags, streamId, payload: Buffer.from(payload) });
    });
    let preface = Buffer.alloc(0);
    server.on("data", (chunk: Buffer) => {
      if (preface.length === CLIENT_PREFACE.length) {
        reader.push(chunk);
        return;
      }
      const bytes = Buffer.concat([preface, chunk]);
      preface = bytes.subarray(0, CLIENT_PREFACE.length);
      reader.push(bytes.subarray(CLIENT_PREFACE.length));
    });
    server.on("error", () => undefined);
    server.on("close", () => this.events.push("closed"));
    server.on("end", () => server.end());
    this.connection = new ClientConnection({
      socket: client,
      connectedBy: "connect",
      headerBytes: 64 * 1024,
      maxWaiting: 2,
      onReady: () => this.events.push("ready"),
      onDraining: ({ message }) => this.events.push(`draining: ${message}`),
      onClosed: () => this.events.push("ended"),
      ...options,
    });
    client.emit("connect");
  }

  /** Frames of streams and the connection, without those with which every connection begins. */
  sent(type: number): SeenFrame[] {
    return this.frames.filter((frame) => frame.type === type && frame.streamId !== 0);
  }

  send(...frames: readonly Uint8Array[]): void {
    this.#socket.write(Buffer.concat(frames));
  }

  greet(...settings: (readonly [number, number])[]): void {
    this.send(settingsFrame(settings));
  }

  /** Ends the connection without a word. */
  cut(): void {
    this.#socket.end();
  }
}

export function frame(
  type: number,
  flags: number,
  streamId: number,
  payload: Uint8Array | readonly number[] = [],
): Buffer {
  const bytes = Buffer.alloc(9 + payload.length);
  writeFrameHeader(bytes, 0, payload.length, type, flags, streamId);
  bytes.set(payload, 9);
  return bytes;
}

export const END_HEADERS = FLAG.END_HEADERS;
export const END_STREAM = FLAG.END_STREAM;
export { FRAME };

/** A listener that writes down what it is given. */
export class Recorder implements StreamListener {
  readonly log: string[] = [];
  readonly failures: StreamFailure[] = [];

  onHeaders(headers: HeaderList, isEnd: boolean): void {
    const text = headers.map(([name, value]) => `${name}=${value}`).join(" ");
    this.log.push(`headers ${text}${isEnd ? " end" : ""}`);
  }

  onData(data: Buffer, isEnd: boolean): void {
    this.log.push(`data ${data.toString()}${isEnd ? " end" : ""}`);
  }

  onFailure(failure: StreamFailure): void {
    this.failures.push(failure);
    this.log.push(`${failure.kind}: ${failure.reason.message}`);
  }
}

/** Resolves when what was sent has arrived and was acted on. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
