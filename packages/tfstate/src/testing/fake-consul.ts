import { randomUUID } from "node:crypto";
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";

interface Entry {
  value: Buffer;
  /** A number of 64 bits. */
  flags: string;
  session: string | undefined;
  index: number;
}

/** As an agent that has not been told otherwise. */
const MAX_VALUE = 524_288;
const MAX_WAIT_MS = 5_000;

/**
 * What stands for a Consul agent where none is built: keys with versions and sessions that own them, one transaction, waiting
 * reads; as much as the clients of the state backend use.
 */
export async function startFakeConsul({
  lockDelayMs = 5_000,
}: {
  readonly lockDelayMs?: number;
} = {}): Promise<string> {
  const entries = new Map<string, Entry>();
  const sessions = new Set<string>();
  /** When keys may be acquired again that a session had until it ended. */
  const delayed = new Map<string, number>();
  const changes = new EventEmitter().setMaxListeners(0);
  let index = 1;
  const changed = (): number => {
    index += 1;
    changes.emit("change");
    return index;
  };
  const set = (key: string, part: Partial<Entry>): number => {
    const known = entries.get(key) ?? {
      value: Buffer.alloc(0),
      flags: "0",
      session: undefined,
      index: 0,
    };
    const entry = { ...known, ...part, index: changed() };
    entries.set(key, entry);
    return entry.index;
  };

  const kv = async (key: string, query: URLSearchParams, request: IncomingMessage) => {
    switch (request.method ?? "") {
      case "GET": {
        if (query.has("keys")) {
          const separator = query.get("separator") ?? "";
          const names = [...entries.keys()]
            .filter((name) => name.startsWith(key))
            .map((name) => {
              const end = separator === "" ? -1 : name.indexOf(separator, key.length);
              return end === -1 ? name : name.slice(0, end + 1);
            });
          return names.length === 0 ? [404, ""] : [200, [...new Set(names)].toSorted()];
        }
        const seen = Number(query.get("index") ?? 0);
        if (seen > 0 && (entries.get(key)?.index ?? 0) <= seen) {
          const waits = Math.min(Number.parseInt(query.get("wait") ?? "5000", 10), MAX_WAIT_MS);
          await once(changes, "change", { signal: AbortSignal.timeout(waits) }).catch(
            () => undefined,
          );
        }
        const entry = entries.get(key);
        if (entry === undefined) return [404, ""];
        return [
          200,
          [
            {
              Key: key,
              Value: entry.value.toString("base64"),
              Flags: entry.flags,
              LockIndex: 0,
              CreateIndex: 1,
              ModifyIndex: entry.index,
              ...(entry.session !== undefined && { Session: entry.session }),
            },
          ],
        ];
      }
      case "PUT": {
        const value = await buffer(request);
        if (value.length > MAX_VALUE) return [413, "Request body too large"];
        const flags = query.get("flags") ?? "0";
        const acquire = query.get("acquire");
        const released = query.get("release");
        const owner = entries.get(key)?.session;
        if (acquire !== null) {
          if (!sessions.has(acquire)) return [500, "invalid session"];
          if (owner !== undefined && owner !== acquire) return [200, false];
          if ((delayed.get(key) ?? 0) > performance.now()) return [200, false];
          set(key, { value, flags, session: acquire });
          return [200, true];
        }
        if (released !== null) {
          if (owner !== released) return [200, false];
          set(key, { value, flags, session: undefined });
          return [200, true];
        }
        set(key, { value, flags });
        return [200, true];
      }
      case "DELETE":
        for (const name of entries.keys()) {
          if (name === key || (query.has("recurse") && name.startsWith(key))) entries.delete(name);
        }
        changed();
        return [200, true];
      default:
        return [405, ""];
    }
  };
  const transaction = async (request: IncomingMessage) => {
    const body = await buffer(request);
    if (body.length > MAX_VALUE) return [413, "Request body too large, max size: 524288 bytes"];
    const operations = JSON.parse(body.toString("utf8")) as {
      KV: { Verb: string; Key: string; Value: string; Index?: number; Session?: string };
    }[];
    const [first] = operations;
    if (
      first?.KV.Verb === "check-session" &&
      entries.get(first.KV.Key)?.session !== first.KV.Session
    ) {
      return [409, { Results: null, Errors: [{ OpIndex: 0, What: "current session differs" }] }];
    }
    const {
      Verb,
      Key,
      Value,
      Index = 0,
    } = operations.at(-1)?.KV ?? {
      Verb: "",
      Key: "",
      Value: "",
    };
    if (Verb === "cas" && (entries.get(Key)?.index ?? 0) !== Index) {
      const OpIndex = operations.length - 1;
      return [409, { Results: null, Errors: [{ OpIndex, What: `key "${Key}" is stale` }] }];
    }
    const now = set(Key, { value: Buffer.from(Value, "base64") });
    return [200, { Results: [{ KV: { Key, ModifyIndex: now } }], Errors: null }];
  };
  const handle = async (request: IncomingMessage): Promise<unknown[]> => {
    const url = new URL(request.url ?? "/", "http://consul");
    const path = decodeURIComponent(url.pathname);
    if (path.startsWith("/v1/kv/"))
      return kv(path.slice("/v1/kv/".length), url.searchParams, request);
    if (path === "/v1/txn") return transaction(request);
    if (path === "/v1/session/create") {
      const id = randomUUID();
      sessions.add(id);
      return [200, { ID: id }];
    }
    const [, what, id = ""] = /^\/v1\/session\/(renew|destroy|info)\/(.+)$/.exec(path) ?? [];
    if (what === "destroy") {
      sessions.delete(id);
      for (const [key, { session }] of entries) {
        if (session !== id) continue;
        set(key, { session: undefined });
        delayed.set(key, performance.now() + lockDelayMs);
      }
      return [200, true];
    }
    if (what !== undefined) return sessions.has(id) ? [200, [{ ID: id, TTL: "15s" }]] : [404, ""];
    return [404, ""];
  };
  const answer = (response: ServerResponse, [status, body]: readonly unknown[]): void => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const content = text.replace(/"Flags":"(\d+)"/g, '"Flags":$1');
    response.writeHead(Number(status), {
      "X-Consul-Index": String(index),
      "X-Consul-Knownleader": "true",
      "X-Consul-Lastcontact": "0",
    });
    response.end(content);
  };
  const server = createServer((request, response) => {
    void handle(request).then(
      (result) => answer(response, result),
      () => answer(response, [500, "failed"]),
    );
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}
