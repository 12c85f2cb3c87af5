import type { ClusterEvent, ClusterJob, ClusterPod } from "./cluster-objects.ts";
import { STEP_CONTAINER } from "./job-objects.ts";

/** What has become of the pod of an execution, by what the API server says. */
export type PodFate =
  /** `isRefused`: what keeps it from running does not pass by waiting, such as an image that is not there. */
  | { readonly at: "waiting"; readonly why: string; readonly isRefused: boolean }
  | { readonly at: "running" }
  | {
      readonly at: "ended";
      readonly code: number;
      readonly outOfMemory: boolean;
      readonly why: string;
    }
  /** It is not there any more, or its node or an administrator ends it. */
  | { readonly at: "gone"; readonly why: string };

interface Observed {
  /** Undefined where it does not exist. */
  readonly job: ClusterJob | undefined;
  readonly pods: readonly ClusterPod[];
  /** Of the Job. */
  readonly events: readonly ClusterEvent[];
  /** Whether there was a pod before. */
  readonly hadPod: boolean;
}

/** Reasons for which a container waits, and that nothing but a change of the image or of the template ends. */
const REFUSING =
  /^(?:ErrImagePull|ImagePullBackOff|InvalidImageName|ErrImageNeverPull|ImageInspectError|RegistryUnavailable|CreateContainerConfigError|CreateContainerError|RunContainerError|CrashLoopBackOff)$/;

/** Says what has become of an execution. */
export function podFate({ job, pods, events, hadPod }: Observed): PodFate {
  const [pod] = pods;
  if (pod === undefined) return withoutPod(job, events, hadPod);
  const { status = {}, metadata } = pod;
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const step = all.find(({ name }) => name === STEP_CONTAINER);
  const terminated = step?.state?.terminated;
  if (terminated !== undefined) {
    return {
      at: "ended",
      code: terminated.exitCode,
      outOfMemory: terminated.reason === "OOMKilled",
      why: sentence(status.reason ?? terminated.reason, status.message ?? terminated.message),
    };
  }
  if (status.phase === "Failed" || status.phase === "Succeeded") {
    return { at: "gone", why: sentence(status.reason ?? status.phase, status.message) };
  }
  if (metadata.deletionTimestamp !== undefined) {
    return { at: "gone", why: sentence(status.reason ?? "Deleted", status.message) };
  }
  if (step?.state?.running !== undefined) return { at: "running" };
  for (const { state } of all) {
    const { reason = "", message } = state?.waiting ?? {};
    if (REFUSING.test(reason)) {
      return { at: "waiting", why: sentence(reason, message), isRefused: true };
    }
  }
  const unmet = status.conditions?.find(
    ({ type, status: is }) => type === "PodScheduled" && is === "False",
  );
  const waiting = step?.state?.waiting;
  const why = unmet
    ? sentence(unmet.reason, unmet.message)
    : sentence(waiting?.reason ?? status.phase ?? "Pending", waiting?.message);
  return { at: "waiting", why, isRefused: false };
}

function withoutPod(
  job: ClusterJob | undefined,
  events: readonly ClusterEvent[],
  hadPod: boolean,
): PodFate {
  if (job === undefined) return { at: "gone", why: "the Job was removed" };
  const failed = job.status?.conditions?.find(
    ({ type, status }) => type === "Failed" && status === "True",
  );
  if (failed !== undefined) return { at: "gone", why: sentence(failed.reason, failed.message) };
  if (hadPod) return { at: "gone", why: "the pod was removed" };
  // Quotas, policies and admission speak to the controller of Jobs, which makes the pod.
  const refused = events.findLast(({ reason }) => reason === "FailedCreate");
  const why =
    refused === undefined ? "no pod was made yet" : sentence(refused.reason, refused.message);
  return { at: "waiting", why, isRefused: refused !== undefined && !isQuota(refused.message) };
}

/** Whether a refusal passes when others end. */
export function isQuota(message = ""): boolean {
  return /exceeded quota/i.test(message);
}

const MAX_WHY = 1_000;

function sentence(reason = "", message = ""): string {
  return [reason, message]
    .filter((part) => part !== "")
    .join(": ")
    .slice(0, MAX_WHY);
}
