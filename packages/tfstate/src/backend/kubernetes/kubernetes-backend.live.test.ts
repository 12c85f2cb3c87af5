import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { COMMAND, NO_COMMAND, provesItself, rootModule } from "../../testing/real-root-module.ts";

/*
 * There is no API server of Kubernetes here. What stands for it has what the backend needs of secrets and leases: to get, create,
 * replace and remove one, to list by labels, and to refuse what was made from an older version.
 */

const TOKEN = "Bearer secret-token";

interface Stored {
  metadata: { name: string; labels?: Record<string, string>; resourceVersion?: string };
}

async function startApi(): Promise<{
  readonly host: string;
  readonly objects: Map<string, Stored>;
  readonly callers: ReadonlySet<string>;
}> {
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
  return { host: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, objects, callers };
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

describe("states in secrets of Kubernetes", { timeout: 120_000 }, () => {
  it("are those of the real command, with its locks", async (ctx) => {
    ctx.skip(spawnSync(COMMAND, ["version"]).status !== 0, NO_COMMAND);
    const { host, objects, callers } = await startApi();
    const folder = await mkdtemp(join(tmpdir(), "kube-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const config = join(folder, "config");
    await writeFile(config, kubeConfig(host));
    const values = { secret_suffix: "app", namespace: "states", config_path: config };
    const block = Object.entries(values).map(([name, value]) => `    ${name} = "${value}"\n`);
    const root = await rootModule("kubernetes", block.join(""));
    await provesItself(root, values);

    // A large state is in several secrets, for either side.
    await using backend = await root.open(values);
    const bytes = Buffer.from((await backend.read("default")) ?? []).toString("utf8");
    const state = JSON.parse(bytes) as { serial: number; outputs: Record<string, unknown> };
    state.serial += 1;
    state.outputs["big"] = { value: randomBytes(1_700_000).toString("base64"), type: "string" };
    await backend.write("default", Buffer.from(JSON.stringify(state)));
    const secrets = [...objects.keys()].filter((path) => path.includes("/secrets/tfstate-default"));
    expect(secrets.length).toBeGreaterThan(1);
    expect((await root.run("state", "pull")).text).toContain(`"serial": ${state.serial}`);
    expect(Buffer.from((await backend.read("default")) ?? []).toString()).toBe(
      JSON.stringify(state),
    );
    await backend.write("default", Buffer.from(bytes));
    const left = [...objects.keys()].filter((path) => path.includes("/secrets/tfstate-default"));
    expect(left).toHaveLength(1);
    expect([...callers]).toEqual([TOKEN]);
  });
});
