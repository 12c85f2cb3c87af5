import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { freePorts } from "@stackwright/base/free-ports";
import { Guard } from "./guard.ts";
import { ManagedServer, type ServerKind } from "./managed-server.ts";
import { PeerNetwork } from "./peer-network.ts";
import { createScratchFolder } from "./scratch-folder.ts";
import { type StartOptions, startWithFreshPorts } from "./start-options.ts";

export interface EtcdOptions extends StartOptions {
  /** The etcd executable, for example from `@stackwright-tools/go`. */
  readonly bin: string;
  /** 1 or 3, or any other number. @default 1 */
  readonly members?: number | undefined;
  /**
   * Further flags for every member, such as quotas, authentication or certificates. Writes are
   * synced to disk as by default.
   */
  readonly args?: readonly string[] | undefined;
  /**
   * Certificates for clients: endpoints are then `https://` and members demand a client
   * certificate signed by `ca`. PEM files.
   */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string } | undefined;
  /** Has the members reach each other through a network that can cut them off: see `EtcdMember.isolate`. */
  readonly partitions?: boolean | undefined;
}

/** One etcd server. */
export class EtcdMember extends ManagedServer {
  /** Client URL, for example `http://127.0.0.1:40123`. */
  readonly endpoint: string;
  readonly #way: MemberWay | undefined;

  /** Use `startEtcd`. */
  constructor(kind: ServerKind, endpoint: string, way?: MemberWay) {
    super(kind);
    this.endpoint = endpoint;
    this.#way = way;
  }

  /** Cuts it off the other members; clients still reach it. Needs `partitions`. */
  isolate(): void {
    this.#required().isolate();
  }

  /** Connects it with the other members again. */
  rejoin(): void {
    this.#required().rejoin();
  }

  #required(): MemberWay {
    if (this.#way !== undefined) return this.#way;
    throw new Error(`${this.name} cannot be cut off: start the cluster with partitions`);
  }
}

/** How one member is cut off the others. */
interface MemberWay {
  isolate(): void;
  rejoin(): void;
}

/** Members that form one cluster; a single server is a cluster of one. */
export class EtcdCluster implements AsyncDisposable {
  readonly members: readonly EtcdMember[];
  readonly #network: PeerNetwork | undefined;

  /** Use `startEtcd`. */
  constructor(members: readonly EtcdMember[], network?: PeerNetwork) {
    this.members = members;
    this.#network = network;
  }

  /** Client URLs of all members. */
  get endpoints(): string[] {
    return this.members.map((member) => member.endpoint);
  }

  /** Kills all members at once, as a power cut would; `restart` brings them back. */
  async kill9(): Promise<void> {
    await Promise.all(this.members.map((member) => member.kill9()));
  }

  /** Starts the members that do not run and waits until all are ready. */
  async restart(signal?: AbortSignal): Promise<void> {
    await Promise.all(this.members.map((member) => member.launch()));
    await Promise.all(this.members.map((member) => member.ready(signal)));
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map((member) => member.stop()));
    await this.#network?.[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/**
 * Starts one etcd or a cluster; resolves when every member takes part in it and answers clients.
 *
 * @throws ServerError `SERVER_START_FAILED`, `SERVER_START_TIMEOUT`
 */
export async function startEtcd(options: EtcdOptions): Promise<EtcdCluster> {
  return startWithFreshPorts(async () => {
    const network = options.partitions ? await PeerNetwork.start(options.members ?? 1) : undefined;
    const cluster = new EtcdCluster(await createMembers(options, network), network);
    try {
      await cluster.restart(options.signal);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  });
}

async function createMembers(
  options: EtcdOptions,
  network: PeerNetwork | undefined,
): Promise<EtcdMember[]> {
  const count = options.members ?? 1;
  const ports = await freePorts(3 * count);
  const token = randomBytes(8).toString("hex");
  const scheme = options.tls ? "https" : "http";
  const plans = Array.from({ length: count }, (_, index) => ({
    name: `member-${index}`,
    client: `${scheme}://127.0.0.1:${ports[3 * index]}`,
    peer: `http://127.0.0.1:${ports[3 * index + 1]}`,
    advertised: `http://127.0.0.1:${network?.ports[index] ?? ports[3 * index + 1]}`,
    // Health is asked here without certificates.
    metrics: `http://127.0.0.1:${ports[3 * index + 2]}`,
  }));
  network?.leadTo(plans.map((_, index) => ports[3 * index + 1] ?? 0));
  const initialCluster = plans.map(({ name, advertised }) => `${name}=${advertised}`).join(",");
  return plans.map(({ name, client, peer, advertised, metrics }, index) => {
    const folder = createScratchFolder("etcd", { parent: options.parentFolder });
    const dataDir = join(folder, "data");
    const flags = {
      name,
      "data-dir": dataDir,
      "listen-client-urls": client,
      "advertise-client-urls": client,
      "listen-peer-urls": peer,
      "initial-advertise-peer-urls": advertised,
      "listen-metrics-urls": metrics,
      "initial-cluster": initialCluster,
      "initial-cluster-state": "new",
      "initial-cluster-token": token,
      "log-level": "warn",
      ...tlsFlags(options.tls),
    };
    return new EtcdMember(
      {
        name: `etcd ${name}`,
        folder,
        dataDir,
        logFile: join(folder, "server.log"),
        command: options.bin,
        args: [
          ...Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`),
          ...(options.args ?? []),
        ],
        stopSignal: "SIGTERM",
        isReady: () => isHealthy(metrics),
        startTimeoutMs: options.startTimeoutMs ?? 60_000,
        guard: new Guard(folder),
      },
      client,
      network && {
        isolate: () => network.isolate(index),
        rejoin: () => network.rejoin(index),
      },
    );
  });
}

function tlsFlags(tls: EtcdOptions["tls"]): Record<string, string> {
  if (!tls) return {};
  return {
    "cert-file": tls.cert,
    "key-file": tls.key,
    "trusted-ca-file": tls.ca,
    "client-cert-auth": "true",
  };
}

/** Healthy means that a linearizable read went through, so the member has found its leader. */
async function isHealthy(metricsUrl: string): Promise<boolean> {
  try {
    const response = await fetch(`${metricsUrl}/health`, { signal: AbortSignal.timeout(2000) });
    const body = (await response.json()) as { health?: string };
    return response.ok && body.health === "true";
  } catch {
    return false;
  }
}
