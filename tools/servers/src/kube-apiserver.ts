import { generateKeyPairSync, randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { freePorts } from "@stackwright/base/free-ports";
import { type EtcdCluster, startEtcd } from "./etcd.ts";
import { Guard } from "./guard.ts";
import { ManagedServer, type ServerKind } from "./managed-server.ts";
import { createScratchFolder } from "./scratch-folder.ts";
import { type StartOptions, startWithFreshPorts } from "./start-options.ts";

export interface KubeApiServerOptions extends StartOptions {
  /** The kube-apiserver executable, for example from `@stackwright-tools/go`. */
  readonly bin: string;
  /** That of etcd. */
  readonly etcdBin: string;
}

/** The API server of a cluster that has nothing else: no node, no controller. */
export class KubeApiServer extends ManagedServer {
  readonly url: string;
  /** Of a user who may do everything. */
  readonly token: string;
  /** A configuration of kubectl for that user. */
  readonly config: string;
  readonly #etcd: EtcdCluster;

  /** Use `startKubeApiServer`. */
  constructor(
    kind: ServerKind,
    { url, token, config, etcd }: { url: string; token: string; config: string; etcd: EtcdCluster },
  ) {
    super(kind);
    this.url = url;
    this.token = token;
    this.config = config;
    this.#etcd = etcd;
  }

  /** Ends the API server and its etcd. */
  override async stop(): Promise<void> {
    await super.stop();
    await this.#etcd.stop();
  }
}

/**
 * Starts an API server of Kubernetes over an etcd of its own, with role-based access and the usual admission.
 *
 * @throws ServerError `SERVER_START_FAILED`, `SERVER_START_TIMEOUT`
 */
export async function startKubeApiServer(options: KubeApiServerOptions): Promise<KubeApiServer> {
  const { bin, etcdBin, parentFolder, startTimeoutMs = 120_000, signal } = options;
  return startWithFreshPorts(async () => {
    const etcd = await startEtcd({ bin: etcdBin, parentFolder, signal });
    const folder = createScratchFolder("kube-apiserver", { parent: parentFolder });
    const [port = 0] = await freePorts(1);
    const url = `https://127.0.0.1:${port}`;
    const token = randomBytes(16).toString("hex");
    const at = (name: string) => join(folder, name);
    const { privateKey, publicKey } = generateKeyPairSync("rsa", {
      modulusLength: 2_048,
      privateKeyEncoding: { type: "pkcs1", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    });
    writeFileSync(at("accounts.key"), privateKey, { mode: 0o600 });
    writeFileSync(at("accounts.pub"), publicKey);
    writeFileSync(at("tokens.csv"), `${token},admin,1,system:masters\n`, { mode: 0o600 });
    const flags = {
      "etcd-servers": etcd.endpoints.join(","),
      "bind-address": "127.0.0.1",
      "advertise-address": "127.0.0.1",
      "secure-port": port,
      "cert-dir": at("certificates"),
      "endpoint-reconciler-type": "none",
      "service-cluster-ip-range": "10.0.0.0/24",
      "authorization-mode": "RBAC",
      "token-auth-file": at("tokens.csv"),
      "service-account-issuer": "https://kubernetes.default.svc",
      "service-account-key-file": at("accounts.pub"),
      "service-account-signing-key-file": at("accounts.key"),
    };
    const server = new KubeApiServer(
      {
        name: "kube-apiserver",
        folder,
        dataDir: folder,
        logFile: at("server.log"),
        command: bin,
        args: Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`),
        stopSignal: "SIGTERM",
        isReady: async () => isReady(url, token),
        startTimeoutMs,
        guard: new Guard(folder),
      },
      { url, token, config: at("config"), etcd },
    );
    try {
      await server.restart(signal);
      writeFileSync(
        server.config,
        JSON.stringify({
          "current-context": "admin",
          contexts: [{ name: "admin", context: { cluster: "played", user: "admin" } }],
          clusters: [
            {
              name: "played",
              cluster: {
                server: url,
                "certificate-authority-data": readFileSync(
                  at("certificates/apiserver.crt"),
                ).toString("base64"),
              },
            },
          ],
          users: [{ name: "admin", user: { token } }],
        }),
      );
      return server;
    } catch (error) {
      await server.stop();
      throw error;
    }
  });
}

/** The certificate is made by the server while it starts. */
async function isReady(url: string, token: string): Promise<boolean> {
  return new Promise((resolve) => {
    const options = {
      rejectUnauthorized: false,
      headers: { Authorization: `Bearer ${token}` },
      timeout: 2_000,
      agent: false,
    };
    const asked = request(`${url}/readyz`, options, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode === 200));
    });
    asked.once("timeout", () => asked.destroy());
    asked.once("error", () => resolve(false));
    asked.end();
  });
}
