import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { ManagedServer } from "./managed-server.ts";

const VERBS = ["kill9", "restart", "pause", "resume", "isolate", "rejoin"] as const;
type Verb = (typeof VERBS)[number];

/** What is controlled: only members of a cluster can be cut off others. */
type ControlledServer = ManagedServer & { isolate?(): void; rejoin?(): void };

/**
 * Lets another process control servers line by line, for tests that live in packages which may
 * not import this one: `kill9 0`, `restart 0`, `pause 0`, `resume 0`, of members of etcd `isolate 0` and
 * `rejoin 0`, with the server's place in the first answer. Each line is answered by one JSON line, `{"ok":true,"pid":7}` (the pid is null
 * when the server does not run) or `{"ok":false,"error":"..."}`, in order. Resolves at `stop` or
 * at the end of the input.
 */
export async function serveControl(
  servers: readonly ControlledServer[],
  input: Readable,
  print: (line: string) => void,
): Promise<void> {
  for await (const line of createInterface({ input })) {
    const text = line.trim();
    if (text === "") continue;
    if (text === "stop") return;
    print(JSON.stringify(await obey(servers, text)));
  }
}

async function obey(servers: readonly ControlledServer[], line: string): Promise<object> {
  const [verb, place] = line.split(/\s+/);
  const server = servers[Number(place)];
  if (!isVerb(verb) || !server) {
    const places = servers.map((_, index) => index).join(", ");
    return { ok: false, error: `"${line}": expected ${VERBS.join(", ")} or stop, and ${places}` };
  }
  try {
    if (server[verb] === undefined) throw new Error(`${server.name} has no peers`);
    await server[verb]();
    return { ok: true, pid: server.pid ?? null };
  } catch (error) {
    return { ok: false, error: error instanceof Error ? error.message : String(error) };
  }
}

function isVerb(word: string | undefined): word is Verb {
  return VERBS.some((verb) => verb === word);
}
