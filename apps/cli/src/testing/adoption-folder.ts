import { once } from "node:events";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { type CommandResult, tryCommand } from "./try-command.ts";

/** The configuration of the state. */
export const RESOURCE = `resource "terraform_data" "a" {\n  input = 1\n}\n`;
const instance = { schema_version: 0, attributes: { id: "1" }, sensitive_attributes: [] };
/** A state of one object, whose plan with the configuration is empty. */
export const STATE = JSON.stringify({
  version: 4,
  terraform_version: "1.11.4",
  serial: 7,
  lineage: "11111111-2222-3333-4444-555555555555",
  outputs: {},
  resources: [
    {
      mode: "managed",
      type: "terraform_data",
      name: "a",
      provider: `provider["terraform.io/builtin/terraform"]`,
      instances: [
        {
          ...instance,
          attributes: {
            id: "one",
            input: { value: 1, type: "number" },
            output: { value: 1, type: "number" },
            triggers_replace: null,
          },
        },
      ],
    },
  ],
  check_results: null,
});
type Run = (
  words: readonly string[],
  env?: Readonly<Record<string, string>>,
  input?: string,
) => Promise<CommandResult>;

/** A directory with files, and the command in it. */
export async function folderWith(
  files: Readonly<Record<string, string>>,
): Promise<{ readonly run: Run; readonly path: (name: string) => string }> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-adopt-"));
  onTestFinished(() => scratch.remove());
  const path = (name: string): string => join(scratch.path, name);
  // The search for files above ends here.
  for (const [name, text] of Object.entries({ "main.tf": RESOURCE, ".git/HEAD": "", ...files })) {
    await mkdir(dirname(path(name)), { recursive: true });
    await writeFile(path(name), text);
  }
  return {
    run: async (words, env, input = "") =>
      tryCommand(words, { cwd: scratch.path, input, ...(env && { env }) }),
    path,
  };
}

interface StateServer {
  readonly url: string;
  /** Record of the lock. */
  lock: string | undefined;
  /** A method that is answered with 403. */
  refuses: string;
  /** Called before a state is written. */
  onWrite: (() => Promise<void>) | undefined;
  /** Called before a state is read; what it returns takes the place of the state. */
  onRead: (() => string | undefined) | undefined;
}

type Mutable = { -readonly [name in keyof StateServer]: StateServer[name] };

/** A server for one state, with a lock. */
export async function stateServer(state: string): Promise<StateServer> {
  const found = { url: "", lock: undefined, refuses: "" } as Mutable;
  let stored: Buffer = Buffer.from(state);
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts);
    const { method = "" } = request;
    if (method === found.refuses) response.writeHead(403).end();
    else if (method === "GET") {
      const written = found.onRead?.();
      if (written !== undefined) stored = Buffer.from(written);
      response.end(stored);
    } else if (method === "LOCK" && found.lock !== undefined)
      response.writeHead(423).end(found.lock);
    else {
      if (method === "POST") {
        await found.onWrite?.();
        stored = body;
      } else found.lock = method === "LOCK" ? body.toString() : undefined;
      response.end();
    }
  };
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  found.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/state`;
  return found;
}
