import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { startDebuggerRelay } from "./debugger-relay.ts";

/** What a debugger of Node is to the relay: a port that answers, here with a name. */
async function debuggerOf(name: string): Promise<{ server: Server; line: string }> {
  const server = createServer((socket) => void socket.end(name));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  return { server, line: `Debugger listening on ws://127.0.0.1:${port}/a-b` };
}

async function answerAt(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1").setEncoding("utf8");
  let text = "";
  socket.on("data", (part: string) => {
    text += part;
  });
  await once(socket, "close");
  return text;
}

it("leads to the newest process, and to the one from before where that has ended at its start", async () => {
  await using relay = await startDebuggerRelay(0);
  expect(await answerAt(relay.port)).toBe("");
  const [first, second] = [await debuggerOf("first"), await debuggerOf("second")];
  expect(relay.follow("notes: began")).toBe(false);
  expect(relay.follow(first.line)).toBe(true);
  expect(await answerAt(relay.port)).toBe("first");
  expect(relay.follow(second.line)).toBe(true);
  expect(await answerAt(relay.port)).toBe("second");
  second.server.close();
  await once(second.server, "close");
  expect(await answerAt(relay.port)).toBe("first");
  first.server.close();
  await once(first.server, "close");
  expect(await answerAt(relay.port)).toBe("");
});
