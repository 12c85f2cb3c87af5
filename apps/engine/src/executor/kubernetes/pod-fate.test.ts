import { describe, expect, it } from "vitest";
import { memoryBytes } from "./memory-bytes.ts";
import { podFate } from "./pod-fate.ts";

const job = { metadata: { name: "a" } };
const nothing = { job, pods: [], events: [], hadPod: false };
const podOf = (status: object, metadata: object = {}) => ({
  metadata: { name: "a-x", ...metadata },
  status,
});
const stepOf = (state: object) => [{ name: "step", state }];

describe("what has become of a pod", () => {
  it("waits for a node, with what the scheduler says", () => {
    const message = "0/3 nodes are available: 3 Insufficient cpu.";
    const unmet = { type: "PodScheduled", status: "False", reason: "Unschedulable", message };
    const pod = podOf({ phase: "Pending", conditions: [unmet] });
    const why = `Unschedulable: ${message}`;
    expect(podFate({ ...nothing, pods: [pod] })).toEqual({ at: "waiting", why, isRefused: false });
  });

  it.each(["ErrImagePull", "ImagePullBackOff", "InvalidImageName", "CreateContainerConfigError"])(
    "%s does not pass by waiting",
    (reason) => {
      const pod = podOf({ phase: "Pending", containerStatuses: stepOf({ waiting: { reason } }) });
      expect(podFate({ ...nothing, pods: [pod] })).toMatchObject({ isRefused: true, why: reason });
    },
  );

  it("is that of the step, whatever another container does", () => {
    const containerStatuses = [
      { name: "proxy", state: { running: {} } },
      ...stepOf({ terminated: { exitCode: 137, reason: "OOMKilled" } }),
    ];
    const pod = podOf({ phase: "Running", containerStatuses });
    expect(podFate({ ...nothing, pods: [pod] })).toMatchObject({
      at: "ended",
      code: 137,
      outOfMemory: true,
    });
  });

  it("is evicted, removed, or ended with its Job", () => {
    const evicted = podOf({ phase: "Failed", reason: "Evicted", message: "low on memory" });
    const gone = { at: "gone", why: "Evicted: low on memory" };
    expect(podFate({ ...nothing, pods: [evicted] })).toEqual(gone);
    const removed = podOf({ phase: "Running" }, { deletionTimestamp: "2026-01-01T00:00:00Z" });
    expect(podFate({ ...nothing, pods: [removed] }).at).toBe("gone");
    expect(podFate({ ...nothing, job: undefined }).at).toBe("gone");
    expect(podFate({ ...nothing, hadPod: true }).at).toBe("gone");
    const failed = { type: "Failed", status: "True", reason: "DeadlineExceeded" };
    const late = { ...job, status: { conditions: [failed] } };
    expect(podFate({ ...nothing, job: late })).toEqual({ at: "gone", why: "DeadlineExceeded" });
  });

  it("waits for a quota, and not for a policy", () => {
    const eventOf = (message: string) => ({ reason: "FailedCreate", message });
    const quota = podFate({
      ...nothing,
      events: [eventOf("pods is forbidden: exceeded quota: a")],
    });
    expect(quota).toMatchObject({ at: "waiting", isRefused: false });
    const policy = podFate({ ...nothing, events: [eventOf("violates PodSecurity")] });
    expect(policy).toMatchObject({ at: "waiting", isRefused: true });
  });
});

it("reads quantities of memory", () => {
  expect(["2Gi", "1536Mi", "1G", 1024, "64Ki"].map(memoryBytes)).toEqual([
    2 * 1_024 ** 3,
    1_536 * 1_024 ** 2,
    1e9,
    1_024,
    65_536,
  ]);
  expect([undefined, "many", "-1Gi"].map(memoryBytes)).toEqual([undefined, undefined, undefined]);
});
