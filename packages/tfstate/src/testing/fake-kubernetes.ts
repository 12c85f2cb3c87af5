import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";

const TOKEN = "Bearer secret-token";

interface Stored {
  metadata: { name: string; labels?: Record<string, string>; resourceVersion?: string };
}

interface FakeKubernetes {
  /** A file of kubectl that names the server. */
  readonly config: string;
  readonly objects: ReadonlyMap<string, Stored>;
  /** Credentials that calls had. */
  readonly callers: ReadonlySet<string>;
}

/**
 * What stands for an API server of Kubernetes, which cannot run here: as much of secrets and leases as a state backend uses. One is
 * got, created, replaced and removed; they are listed by labels; and what was made from an older version is refused.
 */
export async function startFakeKubernetes(): Promise<FakeKubernetes> {
  const objects = new Map<string, Stored>();
  const callers = new Set<string>();
  let version = 0;
  const handle = async (request: IncomingMessage): Promise<readonly [number, unknown]> => {
    const url = new URL(request.url ?? "/", "http://api");
    const [, home = "", name] =
      /^(.*\/namespaces\/[^/]+\/(?:secrets|leases))(?:\/([^/]+))?$/.exec(url.pathname) ?? [];
    const status = (code: number, reason: string) =>
      [
        code,
        { kind: "Status", apiVersion: "v1", status: "Failure", reason, code, message: reason },
      ] as const;
    if (home === "") return status(404, "NotFound");
    // The real command sends no token without TLS.
    const { authorization = TOKEN } = request.headers;
    if (authorization !== TOKEN) return status(401, "Unauthorized");
    if (request.headers.authorization !== undefined) callers.add(authorization);
    const key = `${home}/${name ?? ""}`;
    const kind = home.endsWith("leases") ? "Lease" : "Secret";
    const apiVersion = kind === "Lease" ? "coordination.k8s.io/v1" : "v1";
    if (request.method === "GET" && name === undefined) {
      const wanted = (url.searchParams.get("labelSelector") ?? "")
        .split(",")
        .map((one) => one.split("="));
      const items = [...objects]
        .filter(([path]) => path.startsWith(`${home}/`))
        .map(([, object]) => object)
        .filter(({ metadata: { labels = {} } }) =>
          wanted.every(([label = "", value]) => labels[label] === value),
        );
      return [200, { kind: `${kind}List`, apiVersion: "v1", metadata: {}, items }];
    }
    const known = objects.get(key);
    if (request.method === "POST") {
      const given = { kind, apiVersion, ...(JSON.parse(await text(request)) as Stored) };
      const path = `${home}/${given.metadata.name}`;
      if (objects.has(path)) return status(409, "AlreadyExists");
      given.metadata.resourceVersion = String(++version);
      objects.set(path, given);
      return [201, given];
    }
    if (known === undefined) return status(404, "NotFound");
    if (request.method === "GET") return [200, known];
    if (request.method === "DELETE") {
      objects.delete(key);
      return [200, { kind: "Status", apiVersion: "v1", status: "Success" }];
    }
    const given = { kind, apiVersion, ...(JSON.parse(await text(request)) as Stored) };
    const { resourceVersion } = given.metadata;
    if (resourceVersion !== undefined && resourceVersion !== known.metadata.resourceVersion)
      return status(409, "Conflict");
    given.metadata.resourceVersion = String(++version);
    objects.set(key, given);
    return [200, given];
  };
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const [code, body] = await handle(request);
      response.writeHead(code, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    void answer();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
  });
  const folder = await mkdtemp(join(tmpdir(), "kube-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const config = join(folder, "config");
  await writeFile(config, kubeConfig(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  return { config, objects, callers };
}

const kubeConfig = (server: string): string => `apiVersion: v1
kind: Config
current-context: here
contexts:
  - name: here
    context: { cluster: api, user: ann }
clusters:
  - name: api
    cluster: { server: "${server}" }
users:
  - name: ann
    user: { token: secret-token }
`;
