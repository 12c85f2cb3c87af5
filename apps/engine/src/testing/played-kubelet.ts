import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** Sends a request to an API server, as one who may do everything. */
export type ClusterSend = (
  method: string,
  path: string,
  body?: object,
) => Promise<{ readonly status: number; readonly text: string }>;

interface KubeletOptions {
  readonly send: ClusterSend;
  readonly namespace: string;
  /** What an image executes; undefined for one that cannot be pulled. @default the command of this repository */
  readonly programOf?: (image: string, args: readonly string[]) => readonly string[] | undefined;
}

interface Metadata {
  readonly name: string;
  readonly uid: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly ownerReferences?: readonly { readonly uid: string }[];
}

interface PlayedJob {
  readonly metadata: Metadata;
  readonly spec: {
    readonly suspend?: boolean;
    readonly template: { readonly metadata?: { readonly labels?: object }; readonly spec: object };
  };
}

interface PlayedPod {
  readonly metadata: Metadata;
  readonly spec: {
    readonly volumes: readonly {
      readonly name: string;
      readonly secret?: { readonly secretName: string };
    }[];
    readonly containers: readonly {
      readonly name: string;
      readonly image: string;
      readonly args: readonly string[];
      readonly env?: readonly {
        readonly name: string;
        readonly value?: string;
        readonly valueFrom?: {
          readonly secretKeyRef?: { readonly name: string; readonly key: string };
        };
      }[];
      readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
    }[];
  };
}

interface PlayedSecret {
  readonly metadata: Metadata;
  readonly data?: Readonly<Record<string, string>>;
}

const COMMAND = fileURLToPath(new URL("../../../cli/bin/stackwright.mjs", import.meta.url));
const TURN_MS = 100;
const JOB_LABEL = "batch.kubernetes.io/job-name";

/** A machine of a cluster that a test plays, with the controllers that Jobs need. */
interface PlayedKubelet extends AsyncDisposable {
  /** What the container of a pod wrote to its standard streams. */
  readonly logOf: (pod: string) => string;
  /** The processes of pods. */
  pids(): readonly number[];
}

/**
 * Plays the controller of Jobs, the garbage collection and a kubelet on one API server: it makes pods of Jobs, executes their
 * container as a process of this machine, and says in their status how that goes.
 */
export async function playKubelet(options: KubeletOptions): Promise<PlayedKubelet> {
  const scratch = await mkdtemp(join(tmpdir(), "kubelet-"));
  const kubelet = new Kubelet(options, scratch);
  const over = new AbortController();
  const turning = (async () => {
    while (!over.signal.aborted) {
      // An API server that is away is asked again.
      await kubelet.turn().catch(() => undefined);
      await delay(TURN_MS, undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();
  return {
    logOf: (pod) => kubelet.logs.get(pod) ?? "",
    pids: () => kubelet.pids(),
    [Symbol.asyncDispose]: async () => {
      over.abort();
      await turning;
      await kubelet.killAll();
      // Executors whose pods were killed write to their folders for a moment.
      await rm(scratch, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

class Kubelet {
  readonly logs = new Map<string, string>();
  readonly #options: KubeletOptions;
  readonly #folder: string;
  readonly #processes = new Map<string, ChildProcess>();
  /** Jobs whose pod was made or refused. */
  readonly #made = new Set<string>();
  readonly #started = new Set<string>();
  readonly #ending = new Set<string>();

  constructor(options: KubeletOptions, folder: string) {
    this.#options = options;
    this.#folder = folder;
  }

  pids(): readonly number[] {
    return [...this.#processes.values()].flatMap(({ pid }) => pid ?? []);
  }

  async killAll(): Promise<void> {
    const all = [...this.#processes.values()];
    await Promise.all(
      all.map(async (child) => {
        const exited = new Promise((resolve) => child.once("close", resolve));
        kill(child, "SIGKILL");
        await exited;
      }),
    );
  }

  async turn(): Promise<void> {
    // Before the Jobs: the owner of what is there is there, too, unless it was removed.
    const secrets = await this.#list<PlayedSecret>(this.#path("secrets"));
    const jobs = await this.#list<PlayedJob>(this.#path("jobs"));
    const pods = await this.#list<PlayedPod>(this.#path("pods"));
    for (const job of jobs) await this.#makePod(job);
    for (const pod of pods) {
      const owner = pod.metadata.ownerReferences?.[0]?.uid;
      const isOwned = jobs.some(({ metadata }) => metadata.uid === owner);
      if (!isOwned && pod.metadata.deletionTimestamp === undefined) {
        await this.#options.send("DELETE", this.#path("pods", pod.metadata.name));
      } else if (pod.metadata.deletionTimestamp !== undefined) {
        await this.#end(pod);
      } else await this.#start(pod);
    }
    for (const secret of secrets) {
      const owner = secret.metadata.ownerReferences?.[0]?.uid;
      if (owner === undefined || jobs.some(({ metadata }) => metadata.uid === owner)) continue;
      await this.#options.send("DELETE", this.#path("secrets", secret.metadata.name));
    }
  }

  async #makePod({ metadata, spec }: PlayedJob): Promise<void> {
    if (spec.suspend === true || this.#made.has(metadata.uid)) return;
    this.#made.add(metadata.uid);
    const owner = { apiVersion: "batch/v1", kind: "Job", name: metadata.name, uid: metadata.uid };
    const template = spec.template.metadata;
    const { status, text } = await this.#options.send("POST", this.#path("pods"), {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        ...template,
        name: `${metadata.name}-x`,
        labels: { ...template?.labels, [JOB_LABEL]: metadata.name },
        ownerReferences: [{ ...owner, controller: true }],
      },
      spec: { ...spec.template.spec, nodeName: "played" },
    });
    if (status < 400) return;
    const { message } = JSON.parse(text) as { readonly message: string };
    await this.#options.send("POST", this.#path("events"), {
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: `${metadata.name}.refused` },
      type: "Warning",
      reason: "FailedCreate",
      message: `Error creating: ${message}`,
      involvedObject: { ...owner, namespace: this.#options.namespace },
    });
  }

  async #start(pod: PlayedPod): Promise<void> {
    const { name } = pod.metadata;
    const [container] = pod.spec.containers;
    if (container === undefined || this.#started.has(name)) return;
    const { programOf = (_image, args) => [process.execPath, COMMAND, ...args] } = this.#options;
    const secrets = await this.#list<PlayedSecret>(this.#path("secrets"));
    let { args } = container;
    for (const { name: volume, secret } of pod.spec.volumes) {
      const mount = container.volumeMounts.find((one) => one.name === volume)?.mountPath;
      if (secret === undefined || mount === undefined) continue;
      const found = secrets.find(({ metadata }) => metadata.name === secret.secretName);
      // As a kubelet waits for it.
      if (found === undefined) return;
      const folder = join(this.#folder, name, volume);
      await mkdir(folder, { recursive: true });
      for (const [file, value] of Object.entries(found.data ?? {})) {
        await writeFile(join(folder, file), Buffer.from(value, "base64"));
      }
      await chmod(folder, 0o500);
      args = args.map((word) => word.replace(mount, folder));
    }
    const words = programOf(container.image, args);
    if (words === undefined) {
      const message = `failed to pull image "${container.image}": not found`;
      await this.#say(name, "Pending", { waiting: { reason: "ErrImagePull", message } });
      return;
    }
    this.#started.add(name);
    const given = (container.env ?? []).map(({ name: variable, value, valueFrom }) => {
      const { name: of, key = "" } = valueFrom?.secretKeyRef ?? {};
      const from = secrets.find(({ metadata }) => metadata.name === of)?.data?.[key];
      return [variable, from === undefined ? value : Buffer.from(from, "base64").toString()];
    });
    const [program = "", ...rest] = await this.#mounted(pod, words);
    const child = spawn(program, rest, {
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env["PATH"], ...Object.fromEntries(given) },
    });
    this.#processes.set(name, child);
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk: Buffer) => {
        this.logs.set(name, (this.logs.get(name) ?? "") + chunk.toString());
      });
    }
    child.once("close", (code, signal) => {
      this.#processes.delete(name);
      const exitCode = code ?? (signal === "SIGKILL" ? 137 : 143);
      const terminated = { exitCode, reason: exitCode === 0 ? "Completed" : "Error" };
      void this.#say(name, exitCode === 0 ? "Succeeded" : "Failed", { terminated });
    });
    await this.#say(name, "Running", { running: {} });
  }

  /** Gives a pod its own folder at the place of its volume: needs root, as pods of one worker have the same places. */
  async #mounted(
    { metadata, spec }: PlayedPod,
    words: readonly string[],
  ): Promise<readonly string[]> {
    const mounts = spec.containers[0]?.volumeMounts ?? [];
    const place = mounts.find(({ name }) => name === "stackwright-work")?.mountPath;
    if (place === undefined || process.getuid?.() !== 0) return words;
    const own = join(this.#folder, metadata.name, "work");
    await mkdir(own, { recursive: true });
    await mkdir(place, { recursive: true });
    const script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"';
    return ["unshare", "--mount", "sh", "-c", script, "sh", own, place, ...words];
  }

  async #end({ metadata }: PlayedPod): Promise<void> {
    const { name, deletionGracePeriodSeconds: seconds = 30 } = metadata;
    if (this.#ending.has(name)) return;
    this.#ending.add(name);
    this.#started.add(name);
    const child = this.#processes.get(name);
    if (child !== undefined) {
      kill(child, "SIGTERM");
      const timer = setTimeout(() => kill(child, "SIGKILL"), seconds * 1_000);
      child.once("close", () => {
        clearTimeout(timer);
        void this.#gone(name);
      });
    } else await this.#gone(name);
  }

  async #gone(name: string): Promise<void> {
    await this.#options
      .send("DELETE", this.#path("pods", name), {
        apiVersion: "v1",
        kind: "DeleteOptions",
        gracePeriodSeconds: 0,
      })
      .catch(() => undefined);
  }

  async #say(pod: string, phase: string, state: object): Promise<void> {
    const containerStatuses = [
      { name: "step", image: "", imageID: "", ready: false, restartCount: 0, state },
    ];
    const path = `${this.#path("pods", pod)}/status`;
    await this.#options
      .send("PATCH", path, { status: { phase, containerStatuses } })
      .catch(() => undefined);
  }

  #path(kind: "jobs" | "pods" | "secrets" | "events", name?: string): string {
    const group = kind === "jobs" ? "/apis/batch/v1" : "/api/v1";
    const path = `${group}/namespaces/${this.#options.namespace}/${kind}`;
    return name === undefined ? path : `${path}/${name}`;
  }

  async #list<T>(path: string): Promise<readonly T[]> {
    const { text } = await this.#options.send("GET", path);
    return (JSON.parse(text) as { readonly items?: readonly T[] }).items ?? [];
  }
}

/** Ends all processes of a pod, as with its container. */
function kill(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    // The end of a container ends all of it; a signal before is for its first process.
    process.kill(signal === "SIGKILL" ? -child.pid : child.pid, signal);
  } catch {
    // It has ended.
  }
}
