import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { ClusterSend } from "./played-kubelet.ts";

interface Stored {
  readonly metadata: {
    readonly name: string;
    readonly uid?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly [name: string]: unknown;
  };
  readonly [name: string]: unknown;
}

/** An answer in place of the one that a request would get. */
type Fault = { readonly status: number; readonly message: string } | "away" | "lost" | undefined;

interface FakeCluster {
  /** A configuration of kubectl that names it. */
  readonly config: string;
  readonly send: ClusterSend;
  readonly objects: ReadonlyMap<string, Stored>;
  /** Decides about a request: `lost` does it without an answer. */
  fault: (method: string, path: string) => Fault;
  /** What pods wrote. */
  logs: (pod: string) => string;
}

/**
 * An API server of Kubernetes, as far as an executor uses it, for faults that a real one does not have on request. The live test
 * has a real one.
 */
export async function startFakeCluster(): Promise<FakeCluster> {
  const objects = new Map<string, Stored>();
  const cluster: FakeCluster & { fault: FakeCluster["fault"]; logs: FakeCluster["logs"] } = {
    config: "",
    objects,
    fault: () => undefined,
    logs: () => "",
    send: async (method, path, body) => handle(method, path, body),
  };
  const status = (code: number, message: string) => ({
    status: code,
    text: JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, message }),
  });
  const answer = (object: unknown, code = 200) => ({ status: code, text: JSON.stringify(object) });

  function handle(method: string, address: string, body: object = {}) {
    const url = new URL(address, "http://cluster");
    const [, home = "", kind = "", name, part] =
      /^(\/api\/v1|\/apis\/batch\/v1)\/namespaces\/runs\/(\w+)(?:\/([^/]+))?(?:\/(\w+))?$/.exec(
        url.pathname,
      ) ?? [];
    if (home === "") {
      const [, namespace] = /\/namespaces\/([^/]+)/.exec(url.pathname) ?? [];
      return status(404, `namespaces "${namespace}" not found`);
    }
    const key = `${kind}/${name ?? ""}`;
    if (method === "POST") {
      const given = body as Stored;
      if (url.searchParams.has("dryRun")) return answer(given, 201);
      const place = `${kind}/${given.metadata.name}`;
      if (objects.has(place)) return status(409, `${place} already exists`);
      const { stringData, ...rest } = given as Stored & { stringData?: Record<string, string> };
      const data =
        stringData &&
        Object.fromEntries(
          Object.entries(stringData).map(([of, value]) => [
            of,
            Buffer.from(value).toString("base64"),
          ]),
        );
      const metadata = { ...given.metadata, uid: randomUUID() };
      const made = { ...rest, metadata, ...(data !== undefined && { data }) };
      objects.set(place, made);
      return answer(made, 201);
    }
    if (method === "GET" && name === undefined) {
      const [label = "", wanted] = (url.searchParams.get("labelSelector") ?? "").split("=");
      const of = /involvedObject\.name=([^,]+)/.exec(url.searchParams.get("fieldSelector") ?? "");
      const items = [...objects]
        .filter(([place]) => place.startsWith(`${kind}/`))
        .map(([, object]) => object)
        .filter(({ metadata }) => label === "" || metadata.labels?.[label] === wanted)
        .filter(
          (one) =>
            of === null || (one["involvedObject"] as { name?: string } | undefined)?.name === of[1],
        );
      return answer({ kind: "List", items });
    }
    const known = objects.get(key);
    if (known === undefined || name === undefined) return status(404, `${key} not found`);
    if (method === "GET" && part === "log") return { status: 200, text: cluster.logs(name) };
    if (method === "GET") return answer(known);
    if (method === "PATCH") {
      const { spec = {}, status: said } = body as { spec?: object; status?: object };
      const next = {
        ...known,
        spec: { ...(known["spec"] as object), ...spec },
        ...(said !== undefined && { status: { ...(known["status"] as object), ...said } }),
      };
      objects.set(key, next);
      return answer(next);
    }
    const { gracePeriodSeconds: seconds = 30 } = body as { gracePeriodSeconds?: number };
    const { phase } = (known["status"] ?? {}) as { phase?: string };
    if (kind === "pods" && seconds > 0 && phase === "Running") {
      const deletionTimestamp = new Date().toISOString();
      const ending = { deletionTimestamp, deletionGracePeriodSeconds: seconds };
      objects.set(key, { ...known, metadata: { ...known.metadata, ...ending } });
    } else objects.delete(key);
    return answer({ kind: "Status", status: "Success" });
  }

  async function serve(request: IncomingMessage) {
    const { method = "", url = "" } = request;
    const given = await text(request);
    const fault = cluster.fault(method, url);
    if (typeof fault === "object") return status(fault.status, fault.message);
    if (fault === "away") return undefined;
    const done = handle(method, url, given === "" ? {} : (JSON.parse(given) as object));
    return fault === "lost" ? undefined : done;
  }
  const answerTo = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const done = await serve(request);
    if (done === undefined) request.socket.destroy();
    else response.writeHead(done.status, { "Content-Type": "application/json" }).end(done.text);
  };
  const server = createServer((request, response) => void answerTo(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const folder = await mkdtempDisposable(join(tmpdir(), "cluster-"));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await folder.remove();
  });
  const config = join(folder.path, "config");
  await writeFile(
    config,
    JSON.stringify({
      "current-context": "a",
      contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
      clusters: [
        {
          name: "a",
          cluster: { server: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
        },
      ],
      users: [{ name: "a", user: { token: "canary-token" } }],
    }),
  );
  return Object.assign(cluster, { config });
}
