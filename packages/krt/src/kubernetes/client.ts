import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { type RequestOptions as HttpsOptions, request as httpsRequest } from "node:https";
import { createInterface } from "node:readline";
import { deferred } from "../deferred.ts";
import { KubernetesStatusError } from "./status.ts";
import type {
  KubernetesList,
  KubernetesObject,
  KubernetesResource,
  ListQuery,
  ResourceWatchEvent,
  WatchClient,
  WatchQuery,
} from "./types.ts";

/** Where the API server is and how to speak to it: a `KubeConfig` of `@kubernetes/client-node` is one. */
export interface KubernetesConnection {
  getCurrentCluster(): { readonly server: string } | null;
  /** Adds certificates, headers and the agent. Called for every request, so that tokens stay fresh. */
  applyToHTTPSOptions(options: HttpsOptions): Promise<void>;
}

/** Options of {@link createWatchClient}. */
export interface WatchClientOptions {
  /**
   * Milliseconds without a byte after which a request fails. Must be longer than the time between
   * bookmarks, which is about a minute, and for watches of quiet resources as long as a watch may take.
   * @default 90000 for lists; the time after which the server ends a watch and a half minute for watches
   */
  readonly idleMs?: number;
}

const LIST_IDLE_MS = 90_000;
const WATCH_GRACE_MS = 30_000;
/** What is read of the body of a refusal. */
const MAX_STATUS_BYTES = 64 * 1024;

/**
 * Lists and watches a resource over HTTP. Objects are what the JSON says, in lists and watches alike:
 * times stay text. Refusals are thrown as {@link KubernetesStatusError}.
 */
export function createWatchClient<T extends KubernetesObject>(
  connection: KubernetesConnection,
  resource: KubernetesResource,
  { idleMs }: WatchClientOptions = {},
): WatchClient<T> {
  return {
    list: async ({ namespace, ...query }, signal) => {
      const url = urlOf(connection, resource, namespace, query);
      const response = await send(connection, url, signal, idleMs ?? LIST_IDLE_MS);
      response.setEncoding("utf8");
      let text = "";
      for await (const part of response) text += part as string;
      return JSON.parse(text) as KubernetesList<T>;
    },
    watch: ({ namespace, ...query }, signal) => {
      const url = urlOf(connection, resource, namespace, {
        ...query,
        watch: true,
        allowWatchBookmarks: true,
      });
      return watchLines<T>(
        connection,
        url,
        signal,
        idleMs ?? query.timeoutSeconds * 1000 + WATCH_GRACE_MS,
      );
    },
  };
}

async function* watchLines<T>(
  connection: KubernetesConnection,
  url: URL,
  signal: AbortSignal,
  idleMs: number,
): AsyncIterable<ResourceWatchEvent<T>> {
  const response = await send(connection, url, signal, idleMs);
  // The interface ends silently with a stream that fails; what went wrong is kept to be thrown after it.
  let failure: unknown;
  response.on("error", (error) => {
    failure ??= error;
  });
  try {
    for await (const line of createInterface({
      input: response,
      crlfDelay: Number.POSITIVE_INFINITY,
    })) {
      if (line !== "") yield JSON.parse(line) as ResourceWatchEvent<T>;
    }
    if (failure !== undefined) throw failure;
  } finally {
    response.destroy();
  }
}

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

function urlOf(
  connection: KubernetesConnection,
  { apiVersion, resource }: KubernetesResource,
  namespace: string | undefined,
  query: ListQuery | WatchQuery | Query,
): URL {
  const cluster = connection.getCurrentCluster();
  if (cluster === null) throw new TypeError("the configuration has no current cluster");
  const root = apiVersion.includes("/") ? `apis/${apiVersion}` : `api/${apiVersion}`;
  const scope = namespace === undefined ? "" : `/namespaces/${encodeURIComponent(namespace)}`;
  const url = new URL(`${cluster.server.replace(/\/+$/, "")}/${root}${scope}/${resource}`);
  for (const [name, value] of Object.entries(query as Query)) {
    if (value !== undefined) url.searchParams.set(name, String(value));
  }
  return url;
}

/** Sends a GET and waits for the head of a good answer. Aborting or idleness destroys the answer. */
async function send(
  connection: KubernetesConnection,
  url: URL,
  signal: AbortSignal,
  idleMs: number,
): Promise<IncomingMessage> {
  const options: HttpsOptions = { method: "GET", headers: { accept: "application/json" } };
  await connection.applyToHTTPSOptions(options);
  signal.throwIfAborted();
  const { promise, resolve, reject } = deferred<IncomingMessage>();
  const open = url.protocol === "https:" ? httpsRequest : httpRequest;
  const request = open(url, { ...(options as RequestOptions), signal });
  let answer: IncomingMessage | undefined;
  request.on("response", (response) => {
    answer = response;
    resolve(response);
  });
  request.on("error", reject);
  request.setTimeout(idleMs, () => {
    const error = new Error(`nothing came from the API server for ${idleMs} ms`);
    if (answer === undefined) request.destroy(error);
    else answer.destroy(error);
  });
  request.end();
  const response = await promise;
  if (response.statusCode === 200) return response;
  throw KubernetesStatusError.fromStatus(await statusBody(response), response.statusCode ?? 0);
}

async function statusBody(response: IncomingMessage): Promise<unknown> {
  response.setEncoding("utf8");
  let text = "";
  for await (const part of response) {
    text += part as string;
    if (text.length > MAX_STATUS_BYTES) break;
  }
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
