import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** How a function answers one method instead of as it should. */
export type Mischief = (response: ServerResponse, real: () => Promise<Buffer>) => Promise<void>;

/** A function in front of a real one. */
export interface HostileFunction extends AsyncDisposable {
  readonly url: string;
  /** What is done to requests, by the name of the method. Everything else is handed on. */
  readonly mischief: Map<string, Mischief>;
  /** Names of the methods that were asked for. */
  readonly calls: string[];
}

/** Starts a function that hands requests on to a real one, except where it was told to misbehave. */
export async function startHostileFunction(realUrl: string): Promise<HostileFunction> {
  const mischief = new Map<string, Mischief>();
  const calls: string[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bytesOf(request);
    const { method_name } = JSON.parse(body.toString()) as { readonly method_name: string };
    const method = method_name.split("/").at(-1) ?? "";
    calls.push(method);
    const real = async (): Promise<Buffer> => {
      const answer = await fetch(`${realUrl}/provider`, { method: "POST", body });
      return Buffer.from(await answer.arrayBuffer());
    };
    const misbehave = mischief.get(method);
    if (misbehave === undefined) response.end(await real());
    else await misbehave(response, real);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    mischief,
    calls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function bytesOf(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
