import { BroadcastChannel, parentPort, workerData } from "node:worker_threads";
import { createMemoryStorage } from "../../engine/memory.ts";
import { StorageError } from "../../errors.ts";
import type { StorageBackend } from "../../types.ts";
import type { ThreadedAnswer, ThreadedCall } from "./protocol.ts";

// Entry of a thread that hosts a store in memory for all other threads of the process.

const { name } = workerData as { name: string };
const storage: StorageBackend = createMemoryStorage();
const channel = new BroadcastChannel(name);

// oxlint-disable-next-line unicorn/prefer-add-event-listener -- typed that way by Node.js only
channel.onmessage = (event: unknown) => {
  const { data } = event as { data: ThreadedCall | ThreadedAnswer };
  if (data.kind === "call") void answer(data);
};
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
parentPort?.postMessage("ready");

async function answer({ client, id, method, args }: ThreadedCall): Promise<void> {
  let response: ThreadedAnswer;
  try {
    const call = storage[method] as (...args: readonly unknown[]) => Promise<unknown>;
    const result = await call.apply(storage, [...args]);
    response = { kind: "result", client, id, result };
  } catch (error) {
    const { code, message, details } = StorageError.from(error);
    response = { kind: "error", client, id, code, message, details };
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  channel.postMessage(response);
}
