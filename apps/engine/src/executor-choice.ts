import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { join, resolve } from "node:path";
import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import { EngineError } from "@stackwright/core/errors";
import { parseClusterFile } from "@stackwright/tfstate/cluster";
import { createChildExecutor } from "./executor/child-executor.ts";
import { type ContainerOptions, createContainerExecutor } from "./executor/container-executor.ts";
import type { Executor } from "./executor/executor.ts";
import type { PodTemplate } from "./executor/kubernetes/cluster-objects.ts";
import { createKubernetesExecutor } from "./executor/kubernetes/kubernetes-executor.ts";

/** Executors in processes of their own. */
export const APART_KINDS = ["child", "container", "kubernetes"] as const;
export type ApartKind = (typeof APART_KINDS)[number];

/** What the operator says of containers; without them nothing has to be said. */
export type ContainerChoice = Omit<ContainerOptions, "image"> & {
  readonly image?: string | undefined;
};

/** What the operator says of pods. */
export interface KubernetesChoice {
  readonly image?: string | undefined;
  /** @default stackwright-runs */
  readonly namespace?: string | undefined;
  /** A file with a pod template, in YAML or JSON. */
  readonly template?: string | undefined;
  /** Where pods reach this process. @default its first address that is not of the loopback */
  readonly address?: string | undefined;
  /** @default 7440 */
  readonly port?: number | undefined;
  /** A file of the form of kubectl. */
  readonly config?: string | undefined;
  readonly context?: string | undefined;
  /** @default 600 */
  readonly startSeconds?: number | undefined;
}

interface ExecutorChoice {
  readonly kind: ApartKind;
  /** Needed for containers. */
  readonly container?: ContainerChoice | undefined;
  /** Needed for pods. */
  readonly kubernetes?: KubernetesChoice | undefined;
  /** The store that the executions are for, by whatever names it. */
  readonly store: string;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly env: NodeJS.ProcessEnv;
  /** Folder of the worker. */
  readonly directory: string;
  readonly maxMemoryBytes: number;
  /** Of the processes of a step in child processes. */
  readonly maxProcessorMs?: number | undefined;
}

/** Makes the executor that the operator chose. `ENGINE_CONFIG_INVALID` for containers without an image, and what a cluster refuses. */
export async function openExecutor({
  kind,
  container,
  kubernetes = {},
  store,
  directory,
  ...parts
}: ExecutorChoice): Promise<Executor> {
  const instance = createHash("sha256").update(`${store}\n${directory}`).digest("hex").slice(0, 16);
  switch (kind) {
    case "child":
      return createChildExecutor({
        ...parts,
        // What the server itself keeps its compiled code in serves its children, too.
        compileCache: parts.env["NODE_COMPILE_CACHE"] || join(directory, "compile-cache"),
      });
    case "container":
      return createContainerExecutor({
        ...parts,
        ...container,
        image: imageOf(kind, container?.image),
        instance,
      });
    case "kubernetes": {
      const { logger, clock, env } = parts;
      const { template, startSeconds, config } = kubernetes;
      return createKubernetesExecutor({
        image: imageOf(kind, kubernetes.image),
        config: config === undefined ? undefined : resolve(config),
        context: kubernetes.context,
        namespace: kubernetes.namespace ?? "stackwright-runs",
        template: template === undefined ? undefined : await readTemplate(resolve(template)),
        address: kubernetes.address ?? ownAddress(),
        port: kubernetes.port ?? POD_PORT,
        startDeadlineMs: startSeconds && startSeconds * 1_000,
        instance,
        logger,
        clock,
        env,
        directory,
      });
    }
    default:
      return kind satisfies never;
  }
}

/** Where pods reach their worker. */
const POD_PORT = 7_440;

function imageOf(kind: ApartKind, image: string | undefined): string {
  if (image !== undefined) return image;
  throw invalid(`the executor ${kind} needs an image that has stackwright: set --${kind}-image`);
}

/** The address of this machine, or of its pod. */
function ownAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const found = all.find(({ internal, family }) => !internal && family === "IPv4");
  const address =
    found ?? all.find(({ internal, address: at }) => !internal && !at.startsWith("fe80"));
  if (address !== undefined) return address.address;
  throw invalid("this machine has no address that pods could reach: set --kubernetes-address");
}

async function readTemplate(path: string): Promise<PodTemplate> {
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    throw invalid(`the pod template "${path}" cannot be read`, error);
  });
  const template = parseClusterFile(text);
  if (template === undefined)
    throw invalid(`the pod template "${path}" is not valid YAML with an object`);
  // What it says is checked by the cluster, but for the places in which something is added.
  const { spec = {} } = template;
  const lists = isObject(spec) ? [spec["containers"] ?? [], spec["volumes"] ?? []] : [undefined];
  const isTemplate = lists.every((list) => Array.isArray(list) && list.every(isObject));
  if (isTemplate) return template;
  throw invalid(`the pod template "${path}" has no spec with lists of containers and volumes`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function invalid(message: string, cause?: unknown): EngineError {
  return new EngineError("ENGINE_CONFIG_INVALID", message, cause === undefined ? {} : { cause });
}
