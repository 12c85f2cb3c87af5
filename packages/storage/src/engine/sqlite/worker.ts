import { parentPort, workerData } from "node:worker_threads";
import type { CallMessage, WorkerMessage, WorkerOptions } from "./protocol.ts";
import { openStoreCalls, toErrorMessage } from "./store-calls.ts";

// Entry of the worker thread: everything that touches the file happens here, one call after the
// other, so that the calling thread never waits for the disk. Answers leave in the order of the
// calls (but for `backup`, which runs beside them): an answer to a read that was asked for after a
// write never overtakes the answer to the write.

const port = parentPort;
if (port === null) throw new Error("the sqlite storage worker is not a program");
const send = (message: WorkerMessage): void => port.postMessage(message);
const options = workerData as WorkerOptions;

try {
  const { handlers, epoch, notices } = openStoreCalls(options);
  port.on("message", (message: CallMessage) => void answer(handlers, message));
  send({ kind: "open", epoch, notices });
} catch (error) {
  send({ kind: "failed", error: toErrorMessage(error, options) });
}

async function answer(
  handlers: ReturnType<typeof openStoreCalls>["handlers"],
  message: CallMessage,
): Promise<void> {
  const [id, call, argument] = message;
  try {
    // The table gives every call its own argument type; the sender keeps to it.
    const handler = handlers[call] as (argument: unknown) => unknown;
    const result = handler(argument);
    send([id, result instanceof Promise ? await result : result]);
  } catch (error) {
    send([id, undefined, toErrorMessage(error, options)]);
  }
  if (call === "close") port?.close();
}
