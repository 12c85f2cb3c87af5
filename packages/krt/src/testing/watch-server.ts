import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { KubernetesConnection } from "../kubernetes/client.ts";
import type { KubernetesObject } from "../kubernetes/types.ts";

export interface Pod extends KubernetesObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly labels?: Record<string, string>;
    readonly resourceVersion?: string;
  };
  readonly status?: { readonly podIP?: string };
}

interface Change {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Pod;
}

/** What a test wants to know of a request. */
interface SeenRequest {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly authorization: string | undefined;
}

/**
 * A server of pods that speaks the list and watch protocol of the Kubernetes API over HTTP on loopback:
 * versions, pages, a history that can be forgotten, bookmarks, refusals and broken connections.
 */
export class WatchServer implements AsyncDisposable {
  readonly seen: SeenRequest[] = [];
  /** Statuses to refuse the next requests with, oldest first. */
  readonly refusals: number[] = [];
  readonly #server = createServer((request, response) => this.#serve(request, response));
  readonly #pods = new Map<string, Pod>();
  readonly #watches = new Map<ServerResponse, URL>();
  #history: Change[] = [];
  #version = 100;
  /** Changes up to this version are forgotten. */
  #compacted = 0;

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get connection(): KubernetesConnection {
    return {
      getCurrentCluster: () => ({ server: this.url }),
      applyToHTTPSOptions: async () => {},
    };
  }

  /** Number of open watches. */
  get watches(): number {
    return this.#watches.size;
  }

  put(name: string, podIP: string, labels?: Record<string, string>, namespace = "ns"): void {
    const key = `${namespace}/${name}`;
    const resourceVersion = `${++this.#version}`;
    const metadata = { name, namespace, resourceVersion, ...(labels && { labels }) };
    const type = this.#pods.has(key) ? "MODIFIED" : "ADDED";
    const object: Pod = { metadata, status: { podIP } };
    this.#pods.set(key, object);
    this.#tell({ version: this.#version, type, object });
  }

  delete(name: string, namespace = "ns"): void {
    const key = `${namespace}/${name}`;
    const pod = this.#pods.get(key);
    if (pod === undefined) return;
    this.#pods.delete(key);
    const metadata = { ...pod.metadata, resourceVersion: `${++this.#version}` };
    this.#tell({ version: this.#version, type: "DELETED", object: { ...pod, metadata } });
  }

  /** Forgets all changes so far. */
  compact(): void {
    this.#compacted = this.#version;
    this.#history = [];
  }

  bookmark(): void {
    const object = { kind: "Pod", metadata: { resourceVersion: `${this.#version}` } };
    for (const watch of this.#watches.keys()) send(watch, { type: "BOOKMARK", object });
  }

  /** Makes the version count up without a change of a pod, as changes of other types do. */
  advance(): void {
    this.#version++;
  }

  /** Says in the watches that their place is gone. */
  expire(): void {
    const object = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
    for (const watch of this.#watches.keys()) send(watch, { type: "ERROR", object });
  }

  /** Breaks all connections of watches off, in the middle of a line where told so. They get nothing more. */
  breakOff(half = false): void {
    for (const watch of this.#watches.keys()) {
      if (half) watch.write('{"type":"ADDED","obj', () => watch.destroy());
      else watch.destroy();
    }
    this.#watches.clear();
  }

  /** Ends all watches in good order, as after their time. */
  endWatches(): void {
    for (const watch of this.#watches.keys()) watch.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const watch of this.#watches.keys()) watch.destroy();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  #tell(change: Change): void {
    this.#history.push(change);
    for (const [watch, url] of this.#watches) if (matches(url, change.object)) send(watch, change);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", this.url);
    const { searchParams: query, pathname: path } = url;
    this.seen.push({
      path,
      query: Object.fromEntries(query),
      authorization: request.headers.authorization,
    });
    const refusal = this.refusals.shift();
    if (refusal !== undefined) return refuse(response, refusal);
    if (query.get("watch") === "true") this.#serveWatch(url, response);
    else this.#serveList(url, response);
  }

  #serveList(url: URL, response: ServerResponse): void {
    const all = [...this.#pods.values()].filter((pod) => matches(url, pod));
    const start = Number(url.searchParams.get("continue") ?? 0);
    const end = start + Number(url.searchParams.get("limit") ?? all.length);
    const more = end < all.length ? { continue: `${end}` } : {};
    const metadata = { resourceVersion: `${this.#version}`, ...more };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ kind: "PodList", metadata, items: all.slice(start, end) }));
  }

  #serveWatch(url: URL, response: ServerResponse): void {
    const from = Number(url.searchParams.get("resourceVersion"));
    if (from < this.#compacted) return refuse(response, 410);
    response.writeHead(200, { "content-type": "application/json" });
    response.flushHeaders();
    this.#watches.set(response, url);
    response.on("close", () => this.#watches.delete(response));
    for (const change of this.#history) {
      if (change.version > from && matches(url, change.object)) send(response, change);
    }
  }
}

function send(watch: ServerResponse, { type, object }: { type: string; object: unknown }): void {
  watch.write(`${JSON.stringify({ type, object })}\n`);
}

function refuse(response: ServerResponse, code: number): void {
  response.writeHead(code, { "content-type": "application/json" });
  response.end(JSON.stringify({ kind: "Status", code, message: `refused with ${code}` }));
}

/** Selectors of one equality are enough here. */
function matches(url: URL, { metadata }: Pod): boolean {
  const namespace = /\/namespaces\/([^/]+)\//.exec(url.pathname)?.[1];
  if (namespace !== undefined && namespace !== metadata.namespace) return false;
  const [label = "", value] = url.searchParams.get("labelSelector")?.split("=") ?? [];
  return label === "" || metadata.labels?.[label] === value;
}
