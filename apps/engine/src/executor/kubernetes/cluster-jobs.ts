import type { FoundExecution } from "../executor.ts";
import type { ClusterAnswer, ClusterClient } from "./cluster-client.ts";
import type { ClusterEvent, ClusterJob, ClusterPod } from "./cluster-objects.ts";
import {
  EXECUTION_LABEL,
  INSTANCE_LABEL,
  jobObject,
  type NamedExecution,
  type PodSettings,
  STEP_CONTAINER,
  secretObject,
} from "./job-objects.ts";
import { isQuota } from "./pod-fate.ts";

const [UNAUTHORIZED, FORBIDDEN, NOT_FOUND, CONFLICT] = [401, 403, 404, 409];

/** A cluster does not take something. */
export interface Refusal {
  readonly problem: string;
  /** Whether it would refuse it again. */
  readonly lasts: boolean;
  /** Whether it is the caller that it refuses, and not what was asked for. @default false */
  readonly isOfCaller?: boolean;
}

/** What the API server answered to a request for something new. */
interface Made<T> {
  readonly value?: T;
  readonly refused?: Refusal;
}

/** The API server answered, and not with what was asked for. */
export class ClusterRefusal extends Error {
  override readonly name = "ClusterRefusal";
  readonly problem: string;
  /** Whether it is the caller that it refuses. */
  readonly isOfCaller: boolean;

  constructor(answer: ClusterAnswer) {
    super(`the cluster refuses: ${answer.problem}`);
    this.problem = answer.problem;
    this.isOfCaller = isOfCaller(answer);
  }
}

/** Whether the same request would be refused again: not where a quota is full, or the API server is busy. */
export function isLasting({ status, problem }: ClusterAnswer): boolean {
  return status >= 400 && status < 500 && status !== 429 && status !== 408 && !isQuota(problem);
}

/**
 * Whether the credentials are not known, or have not the right: both are so for a moment where roles are applied anew or tokens change. What
 * a policy of the cluster refuses has the same status, and another message.
 */
function isOfCaller({ status, problem }: ClusterAnswer): boolean {
  return (
    status === UNAUTHORIZED || (status === FORBIDDEN && /\bcannot \S+ resource\b/.test(problem))
  );
}

/**
 * The Jobs of executions in one namespace, with their Secrets and pods. Each call rejects where the API server does not answer; what reads,
 * with a `ClusterRefusal` where it refuses.
 */
export class ClusterJobs {
  readonly #client: ClusterClient;
  readonly #core: string;
  readonly #jobs: string;

  constructor(client: ClusterClient, namespace: string) {
    this.#client = client;
    this.#core = `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
    this.#jobs = `/apis/batch/v1/namespaces/${encodeURIComponent(namespace)}/jobs`;
  }

  /** Has a Job checked that is not made. */
  async check(execution: NamedExecution, settings: PodSettings): Promise<ClusterAnswer> {
    const body = jobObject(execution, settings);
    const path = `${this.#jobs}?dryRun=All&fieldValidation=Strict`;
    return this.#client.call({ method: "POST", path, body });
  }

  /** Makes a Job that does not begin yet; its UID. One of an earlier request whose answer was lost is found. */
  async create(
    execution: NamedExecution,
    settings: PodSettings,
    signal: AbortSignal,
  ): Promise<Made<string>> {
    const body = jobObject(execution, settings);
    const path = `${this.#jobs}?fieldValidation=Strict`;
    const answer = await this.#client.call({ method: "POST", path, body, signal });
    const isThere = answer.status === CONFLICT;
    const found = isThere ? await this.#get(`${this.#jobs}/${execution.id}`, signal) : answer;
    if (found === undefined) return { refused: { problem: answer.problem, lasts: false } };
    if (found.problem !== "") return refusal(found);
    const { metadata } = JSON.parse(found.text) as ClusterJob;
    return metadata.uid === undefined
      ? { refused: { problem: "the Job has no UID", lasts: true } }
      : { value: metadata.uid };
  }

  /** Makes the Secret that a Job owns. */
  async createSecret(
    execution: NamedExecution,
    uid: string,
    key: Uint8Array,
    settings: PodSettings,
    signal: AbortSignal,
  ): Promise<Made<true>> {
    const body = secretObject(execution, uid, key, settings);
    const path = `${this.#core}/secrets`;
    const answer = await this.#client.call({ method: "POST", path, body, signal });
    return answer.problem === "" || answer.status === CONFLICT ? { value: true } : refusal(answer);
  }

  async begin({ id }: NamedExecution, signal: AbortSignal): Promise<Made<true>> {
    const body = { spec: { suspend: false } };
    const path = `${this.#jobs}/${id}`;
    const answer = await this.#client.call({ method: "PATCH", path, body, signal });
    return answer.problem === "" ? { value: true } : refusal(answer);
  }

  /** A Job with its pods, and what the cluster says of it where there is none. */
  async observe(
    id: string,
    signal: AbortSignal,
  ): Promise<{
    readonly job: ClusterJob | undefined;
    readonly pods: readonly ClusterPod[];
    readonly events: readonly ClusterEvent[];
  }> {
    const pods = await this.#pods(id, signal);
    if (pods.length > 0) return { job: undefined, pods, events: [] };
    const found = await this.#get(`${this.#jobs}/${id}`, signal);
    if (found === undefined) return { job: undefined, pods, events: [] };
    const selector = `involvedObject.kind=Job,involvedObject.name=${id}`;
    const path = `${this.#core}/events?fieldSelector=${encodeURIComponent(selector)}`;
    const events = await this.#list<ClusterEvent>(path, signal);
    return { job: JSON.parse(required(found).text) as ClusterJob, pods, events };
  }

  /** The last lines that the pod of a Job wrote; empty without a pod. */
  async log(id: string, maxBytes: number, signal: AbortSignal): Promise<string> {
    const [pod] = await this.#pods(id, signal);
    if (pod === undefined) return "";
    const query = `container=${STEP_CONTAINER}&tailLines=200&limitBytes=${maxBytes}`;
    const path = `${this.#core}/pods/${pod.metadata.name}/log?${query}`;
    return (await this.#get(path, signal))?.text ?? "";
  }

  /** The executions of an instance. */
  async list(instance: string): Promise<readonly FoundExecution[]> {
    const path = `${this.#jobs}?labelSelector=${encodeURIComponent(`${INSTANCE_LABEL}=${instance}`)}`;
    const jobs = await this.#list<ClusterJob>(path);
    return jobs.flatMap(({ metadata: { name: id, labels } }) => {
      const name = labels?.[EXECUTION_LABEL];
      return name === undefined ? [] : [{ id, name }];
    });
  }

  /** Removes a Job and its pods: they get a signal to end, and are killed after some seconds. */
  async remove(id: string, graceSeconds: number): Promise<void> {
    const policy = { apiVersion: "v1", kind: "DeleteOptions", propagationPolicy: "Background" };
    await this.#delete(`${this.#jobs}/${id}`, policy);
    for (const { metadata } of await this.#pods(id)) {
      const options = { apiVersion: "v1", kind: "DeleteOptions", gracePeriodSeconds: graceSeconds };
      await this.#delete(`${this.#core}/pods/${metadata.name}`, options);
    }
  }

  async hasPods(id: string): Promise<boolean> {
    return (await this.#pods(id)).length > 0;
  }

  async #pods(id: string, signal?: AbortSignal): Promise<readonly ClusterPod[]> {
    const selector = encodeURIComponent(`batch.kubernetes.io/job-name=${id}`);
    return this.#list<ClusterPod>(`${this.#core}/pods?labelSelector=${selector}`, signal);
  }

  async #list<T>(path: string, signal?: AbortSignal): Promise<readonly T[]> {
    const answer = required(await this.#client.call({ method: "GET", path, signal }));
    const { items } = JSON.parse(answer.text) as { readonly items?: readonly T[] | null };
    return items ?? [];
  }

  /** Undefined for what does not exist. */
  async #get(path: string, signal?: AbortSignal): Promise<ClusterAnswer | undefined> {
    const answer = await this.#client.call({ method: "GET", path, signal });
    return answer.status === NOT_FOUND ? undefined : required(answer);
  }

  async #delete(path: string, body: object): Promise<void> {
    const answer = await this.#client.call({ method: "DELETE", path, body });
    if (answer.status !== NOT_FOUND) required(answer);
  }
}

function refusal(answer: ClusterAnswer): Made<never> {
  const refused = { lasts: isLasting(answer), isOfCaller: isOfCaller(answer) };
  return { refused: { problem: answer.problem, ...refused } };
}

function required(answer: ClusterAnswer): ClusterAnswer {
  if (answer.problem === "") return answer;
  throw new ClusterRefusal(answer);
}
