import { KubeConfig } from "@kubernetes/client-node";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { byLabels, createRuntime, type KrtError, type Runtime } from "../index.ts";
import { trackEvents } from "../testing/index.ts";
import { type Pod, WatchServer } from "../testing/watch-server.ts";
import {
  createWatchClient,
  KubernetesStatusError,
  newInformer,
  newInformerFiltered,
  wrapClient,
} from "./index.ts";

const PODS = { apiVersion: "v1", resource: "pods" };
const quick = { backoff: { initialMs: 2, maxMs: 20 } };

let server: WatchServer;
let rt: Runtime;
let errors: KrtError[];
beforeEach(async () => {
  errors = [];
  server = new WatchServer();
  await server.listen();
  rt = createRuntime({ onError: (error) => errors.push(error) });
  return async () => {
    rt.dispose();
    await server[Symbol.asyncDispose]();
  };
});

const eventually = (check: () => void) => vi.waitFor(check, { timeout: 5000, interval: 5 });
const open = () => newInformer<Pod>(rt, server.connection, PODS, quick);
const lists = () => server.seen.filter(({ query }) => query["watch"] === undefined).length;
const ips = (pods: Iterable<Pod>) =>
  Array.from(pods, (pod) => `${pod.metadata.name}=${pod.status?.podIP}`).sort();

describe("newInformer", () => {
  it("lists, is synced, and follows the watch", async () => {
    server.put("a", "1");
    const pods = open();
    expect(pods.synced).toBe(false);
    await pods.whenSynced();
    expect(ips(pods)).toEqual(["a=1"]);
    const tracker = trackEvents(pods);
    server.put("b", "2");
    await eventually(() => expect(ips(pods)).toEqual(["a=1", "b=2"]));
    server.put("a", "3");
    await eventually(() => expect(pods.get("ns/a")?.status?.podIP).toBe("3"));
    server.delete("b");
    await eventually(() => expect(ips(pods)).toEqual(["a=3"]));
    await rt.settled();
    expect(tracker.take()).toEqual(["add/ns/a", "add/ns/b", "update/ns/a", "delete/ns/b"]);
    expect(lists()).toBe(1);
    expect(errors).toEqual([]);
  });

  it("reads lists page by page", async () => {
    for (let i = 0; i < 25; i++) server.put(`p${i}`, `${i}`);
    const pods = newInformer<Pod>(rt, server.connection, PODS, { ...quick, pageSize: 10 });
    await pods.whenSynced();
    expect(pods.size).toBe(25);
    expect(server.seen.filter(({ query }) => query["limit"] === "10")).toHaveLength(3);
  });

  it("continues where it was when a connection breaks, even within a line", async () => {
    server.put("a", "1");
    const pods = open();
    await pods.whenSynced();
    for (const half of [false, true]) {
      await eventually(() => expect(server.watches).toBe(1));
      server.breakOff(half);
      server.put("a", half ? "3" : "2");
      server.put(`while-away-${half}`, "9");
      await eventually(() => expect(pods.get("ns/a")?.status?.podIP).toBe(half ? "3" : "2"));
      await eventually(() => expect(pods.has(`ns/while-away-${half}`)).toBe(true));
    }
    expect(lists()).toBe(1);
    expect(errors.every(({ code }) => code === "KRT_SOURCE")).toBe(true);
  });

  it("begins a watch that ended by itself anew without a list and without an error", async () => {
    const pods = open();
    await pods.whenSynced();
    await eventually(() => expect(server.watches).toBe(1));
    server.endWatches();
    await eventually(() => expect(server.seen).toHaveLength(3));
    server.put("a", "1");
    await eventually(() => expect(ips(pods)).toEqual(["a=1"]));
    expect(lists()).toBe(1);
    expect(errors).toEqual([]);
  });

  it("lists anew when the watch says that its place is gone, and shows only what differs", async () => {
    server.put("same", "1");
    server.put("changed", "1");
    server.put("vanished", "1");
    const pods = open();
    await pods.whenSynced();
    await eventually(() => expect(server.watches).toBe(1));
    const tracker = trackEvents(pods, { replay: false });
    server.breakOff();
    server.put("changed", "2");
    server.delete("vanished");
    server.put("new", "1");
    server.compact();
    await eventually(() => expect(ips(pods)).toEqual(["changed=2", "new=1", "same=1"]));
    await rt.settled();
    expect(tracker.takeSorted()).toEqual(["add/ns/new", "delete/ns/vanished", "update/ns/changed"]);
    expect(lists()).toBe(2);
    expect(
      errors.some(({ cause }) => cause instanceof KubernetesStatusError && cause.code === 410),
    ).toBe(true);
  });

  it("lists anew after an error event within the watch", async () => {
    const pods = open();
    await pods.whenSynced();
    await eventually(() => expect(server.watches).toBe(1));
    server.expire();
    await eventually(() => expect(lists()).toBe(2));
    server.put("a", "1");
    await eventually(() => expect(ips(pods)).toEqual(["a=1"]));
  });

  it("resumes from bookmarks", async () => {
    const pods = open();
    await pods.whenSynced();
    await eventually(() => expect(server.watches).toBe(1));
    for (let i = 0; i < 5; i++) server.advance();
    server.bookmark();
    // A change after the bookmark shows when the bookmark itself has been read.
    server.put("a", "1");
    await eventually(() => expect(pods.size).toBe(1));
    server.delete("a");
    await eventually(() => expect(pods.size).toBe(0));
    server.advance();
    server.bookmark();
    server.compact();
    await new Promise((resolve) => setTimeout(resolve, 20));
    server.breakOff();
    await eventually(() => expect(server.seen).toHaveLength(3));
    server.put("b", "1");
    await eventually(() => expect(ips(pods)).toEqual(["b=1"]));
    // Without the bookmark the place would be gone, and there would be a second list.
    expect(lists()).toBe(1);
  });

  it("tries again, with pauses, while the server refuses", async () => {
    server.put("a", "1");
    server.refusals.push(500, 503, 429);
    const pods = open();
    await pods.whenSynced();
    expect(ips(pods)).toEqual(["a=1"]);
    expect(lists()).toBe(4);
    const codes = errors.map(({ cause }) => (cause as KubernetesStatusError).code);
    expect(codes).toEqual([500, 503, 429]);
  });

  it("fails a connection on which nothing comes, and continues", async () => {
    const client = createWatchClient<Pod>(server.connection, PODS, { idleMs: 50 });
    const pods = wrapClient(rt, client, quick);
    await pods.whenSynced();
    await eventually(() => expect(errors.length).toBeGreaterThan(0));
    expect(errors[0]?.message).toContain("50 ms");
    server.put("a", "1");
    await eventually(() => expect(ips(pods)).toEqual(["a=1"]));
    expect(lists()).toBe(1);
  });

  it("closes its connections when disposed", async () => {
    const pods = open();
    await pods.whenSynced();
    await eventually(() => expect(server.watches).toBe(1));
    pods.dispose();
    await eventually(() => expect(server.watches).toBe(0));
    const before = server.seen.length;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(server.seen).toHaveLength(before);
    expect(errors).toEqual([]);
  });

  it("is a dependency like any other", async () => {
    server.put("a", "1", { app: "x" });
    const pods = open();
    const count = rt.deriveSingleton((ctx) => ctx.fetch(pods, byLabels({ app: "x" })).length);
    await count.whenSynced();
    expect(count.value).toBe(1);
    server.put("b", "2", { app: "x" });
    await eventually(() => expect(count.value).toBe(2));
  });
});

describe("newInformerFiltered", () => {
  it("asks the server for namespace and labels", async () => {
    server.put("a", "1", { app: "x" }, "left");
    server.put("b", "1", { app: "y" }, "left");
    server.put("c", "1", { app: "x" }, "right");
    const filter = { namespace: "left", labelSelector: "app=x" };
    const pods = newInformerFiltered<Pod>(rt, server.connection, PODS, filter, quick);
    await pods.whenSynced();
    expect([...pods.keys()]).toEqual(["left/a"]);
    expect(server.seen[0]).toMatchObject({
      path: "/api/v1/namespaces/left/pods",
      query: { labelSelector: "app=x" },
    });
  });

  it("leaves out what the function refuses, also objects that change so", async () => {
    server.put("a", "1");
    server.put("b", "");
    const pods = newInformerFiltered<Pod>(
      rt,
      server.connection,
      PODS,
      {
        objectFilter: (pod) => pod.status?.podIP !== "",
        objectTransform: ({ metadata, status }) => ({
          metadata,
          status: { podIP: `ip-${status?.podIP}` },
        }),
      },
      quick,
    );
    await pods.whenSynced();
    expect(ips(pods)).toEqual(["a=ip-1"]);
    server.put("a", "");
    server.put("b", "2");
    await eventually(() => expect(ips(pods)).toEqual(["b=ip-2"]));
  });

  it("uses paths of groups", async () => {
    const apps = { apiVersion: "apps/v1", resource: "deployments" };
    const deployments = newInformer<Pod>(rt, server.connection, apps, quick);
    await deployments.whenSynced();
    expect(server.seen[0]?.path).toBe("/apis/apps/v1/deployments");
  });
});

describe("with the configuration of @kubernetes/client-node", () => {
  it("sends its credentials", async () => {
    const config = new KubeConfig();
    config.loadFromOptions({
      clusters: [{ name: "c", server: server.url, skipTLSVerify: true }],
      users: [{ name: "u", token: "secret" }],
      contexts: [{ name: "x", cluster: "c", user: "u" }],
      currentContext: "x",
    });
    server.put("a", "1");
    const pods = newInformer<Pod>(rt, config, PODS, quick);
    await pods.whenSynced();
    expect(ips(pods)).toEqual(["a=1"]);
    expect(server.seen[0]?.authorization).toBe("Bearer secret");
    expect(errors).toEqual([]);
  });
});
