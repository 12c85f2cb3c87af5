import type { Readable } from "node:stream";
import { MessageQueue } from "./message-queue.ts";

/**
 * The messages that arrive on a grpc-js stream. A further one is asked for only while the queue is not full.
 *
 * grpc-js asks for a message when its stream's `_read` is called, and leaves unread ones to HTTP/2 flow control. That
 * stream would call it sixteen messages ahead, of any size, hence the gate.
 */
export function receiveFrom(stream: Readable, bufferBytes: number): MessageQueue {
  const startRead = stream._read.bind(stream, 1);
  let isReadOwed = false;
  const queue = new MessageQueue(bufferBytes, () => {
    if (!isReadOwed) return;
    isReadOwed = false;
    startRead();
  });
  stream._read = () => {
    if (queue.isFull) isReadOwed = true;
    else startRead();
  };
  stream.on("data", (message: Buffer) => queue.push(message));
  return queue;
}
