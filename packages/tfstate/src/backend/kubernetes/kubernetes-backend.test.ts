import { once } from "node:events";
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { type ArgumentValues, BackendArguments } from "../backend-arguments.ts";
import { openBackend } from "../open-backend.ts";
import { kubernetesBackend } from "./kubernetes-backend.ts";

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

function open(values: Readonly<Record<string, string>>) {
  const configuration = new BackendArguments(
    "kubernetes",
    { secret_suffix: "app", namespace: "states", ...values },
    {},
  );
  return kubernetesBackend(configuration, { directory: "/", env: {} });
}

async function kubeConfig(cluster: object): Promise<string> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "kube-"));
  onTestFinished(() => scratch.remove());
  const path = join(scratch.path, "config");
  const content = {
    "current-context": "here",
    contexts: [{ name: "here", context: { cluster: "api", user: "ann" } }],
    clusters: [{ name: "api", cluster }],
    users: [{ name: "ann", user: { token: "secret-token" } }],
  };
  await writeFile(path, JSON.stringify(content));
  return path;
}

it.each([
  ["no data", {}],
  ["null as its data", { data: null }],
  ["other data", { data: { other: "YQ==" } }],
  ["an empty state", { data: { tfstate: "" } }],
])(
  "a secret with %s is an error that names it, and not the absence of a state",
  async (_name, part) => {
    const secret = { metadata: { name: "tfstate-default-app" }, ...part };
    const server = createHttpServer((_request, response) => {
      response.end(JSON.stringify({ items: [secret] }));
    });
    await using backend = open({ host: `http://127.0.0.1:${await listening(server)}` });
    await expect(backend.read("default")).rejects.toMatchObject({
      code: "TFSTATE_BACKEND_DIGEST",
      message: expect.stringContaining("tfstate-default-app"),
    });
  },
);

it("asks for the certificate of the name that the configuration of kubectl says", async () => {
  const hello = Promise.withResolvers<string>();
  // The first bytes of a connection have the name in the clear.
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", (bytes) => {
      hello.resolve(bytes.toString("latin1"));
      socket.destroy();
    });
  });
  const cluster = {
    server: `https://127.0.0.1:${await listening(server)}`,
    "tls-server-name": "api.internal",
  };
  await using backend = open({ config_path: await kubeConfig(cluster) });
  const reading = backend.read("default").catch((error: unknown) => error);
  expect(await hello.promise).toContain("api.internal");
  expect(await reading).toMatchObject({ code: "TFSTATE_BACKEND_UNAVAILABLE" });
});

it("refuses a proxy, which it would not use", async () => {
  const cluster = { server: "https://127.0.0.1:1", "proxy-url": "http://127.0.0.1:2" };
  const config_path = await kubeConfig(cluster);
  expect(() => open({ config_path })).toThrow("proxy-url");
  expect(() => open({ host: "https://127.0.0.1:1", proxy_url: "http://127.0.0.1:2" })).toThrow(
    "proxy_url",
  );
});

it("neither executes a program nor uses the account of the pod where it is isolated from them", async () => {
  const open = async (values: ArgumentValues) =>
    openBackend(
      { type: "kubernetes", values: { secret_suffix: "app", ...values } },
      {
        directory: "/",
        env: { KUBERNETES_SERVICE_HOST: "attacker.example" },
        isIsolated: true,
      },
    );
  const host = "https://127.0.0.1:1";
  const exec = { api_version: "client.authentication.k8s.io/v1", command: "/bin/true" };
  const kept = await kubeConfig({ server: host });
  const file: unknown = JSON.parse(await readFile(kept, "utf8"));
  const users = [{ name: "ann", user: { exec: { apiVersion: "v1", command: "/bin/true" } } }];
  await writeFile(kept, JSON.stringify({ ...(file as object), users }));
  for (const values of [
    { host, exec },
    { config_path: kept },
    { in_cluster_config: true },
    { host, in_cluster_config: true },
    {},
  ]) {
    await expect(open(values)).rejects.toMatchObject({ code: "TFSTATE_BACKEND_INVALID" });
  }
  await using backend = await open({ host, token: "t" });
  expect(backend.type).toBe("kubernetes");
});
