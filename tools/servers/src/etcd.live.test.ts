import { existsSync, readdirSync, readFileSync } from "node:fs";
import { buildTools, discoverTools } from "@stackwright-tools/go";
import { describe, expect, it } from "vitest";
import { isAlive } from "./child-processes.ts";
import { startEtcd } from "./etcd.ts";

const [built] = await buildTools(discoverTools().filter(({ name }) => name === "etcd"));
const bin = built && built.status !== "failed" ? built.path : "";
if (!bin) process.stdout.write(`skipped: etcd is not built: ${JSON.stringify(built)}\n`);

describe.skipIf(!bin)("etcd", () => {
  it("is the version that its folder says, and at least 3.5", async () => {
    await using cluster = await startEtcd({ bin });
    const response = await fetch(`${cluster.endpoints[0]}/version`);
    const { etcdserver } = (await response.json()) as { etcdserver: string };
    expect(etcdserver).toBe(built?.version);
    const [major = 0, minor = 0] = etcdserver.split(".").map(Number);
    expect(major * 100 + minor).toBeGreaterThanOrEqual(305);
  });

  it("forms a cluster that survives the loss of its leader", async () => {
    await using cluster = await startEtcd({ bin, members: 3 });
    const [first, second, third] = cluster.endpoints as [string, string, string];
    await put(first, "k", "1");
    expect(await get(third, "k")).toBe("1");

    const leader = await leaderIndex(cluster.endpoints);
    await cluster.members[leader]!.kill9();
    const survivor = [first, second, third].find((_, index) => index !== leader)!;
    await expect.poll(() => put(survivor, "k", "2"), { timeout: 20_000 }).toBe(true);

    await cluster.restart();
    expect(await get(cluster.endpoints[leader]!, "k")).toBe("2");
  });

  it("keeps its data when all members are killed", async () => {
    await using cluster = await startEtcd({ bin, members: 3 });
    await put(cluster.endpoints[0]!, "k", "kept");
    await cluster.kill9();
    expect(cluster.members.map(({ pid }) => pid)).toEqual([undefined, undefined, undefined]);
    await cluster.restart();
    expect(await get(cluster.endpoints[1]!, "k")).toBe("kept");
  });

  it("does not answer while it is frozen, and continues afterwards", async () => {
    await using cluster = await startEtcd({ bin });
    const [endpoint] = cluster.endpoints as [string];
    const [member] = cluster.members;
    member!.pause();
    // The signal is sent when this returns; each thread stops when the kernel gets to it.
    await expect.poll(() => threadStates(member!.pid!)).toEqual(new Set(["T"]));
    const frozen = call(endpoint, "put", { key: base64("k"), value: base64("v") }, 500);
    await expect(frozen).rejects.toMatchObject({ name: "TimeoutError" });
    member!.resume();
    expect(await put(endpoint, "k", "v")).toBe(true);
  });

  it("cuts a member off the others, and not off its clients", async () => {
    await using cluster = await startEtcd({ bin, members: 3, partitions: true });
    const leader = await leaderIndex(cluster.endpoints);
    const other = cluster.endpoints[(leader + 1) % 3]!;
    cluster.members[leader]!.isolate();
    // The others elect one of them, which commits without the member; that one commits nothing.
    await expect.poll(() => put(other, "k", "1"), { timeout: 20_000 }).toBe(true);
    expect(await (await fetch(`${cluster.endpoints[leader]}/version`)).json()).toBeDefined();
    expect(await put(cluster.endpoints[leader]!, "k", "2")).toBe(false);
    cluster.members[leader]!.rejoin();
    await expect
      .poll(() => get(cluster.endpoints[leader]!, "k").catch(() => ""), { timeout: 20_000 })
      .toBe("1");
  });

  it("leaves nothing behind", async () => {
    const cluster = await startEtcd({ bin });
    const { pid, dataDir } = cluster.members[0]!;
    await cluster.stop();
    expect([isAlive(pid!), existsSync(dataDir)]).toEqual([false, false]);
  });

  it("fails with the server's own words", async () => {
    await expect(startEtcd({ bin, args: ["--no-such-flag"] })).rejects.toMatchObject({
      code: "SERVER_START_FAILED",
      message: expect.stringContaining("no-such-flag") as string,
    });
  });
});

/** How the threads of a process are: `T` is stopped. */
function threadStates(pid: number): ReadonlySet<string | undefined> {
  const tasks = `/proc/${pid}/task`;
  const stats = readdirSync(tasks).map((id) => readFileSync(`${tasks}/${id}/stat`, "utf8"));
  return new Set(stats.map((stat) => /\) (\w) /.exec(stat)?.[1]));
}

const base64 = (text: string) => Buffer.from(text).toString("base64");

/** The JSON form of etcd's gRPC API, which every member serves beside it. */
async function call(endpoint: string, method: string, body: object, timeoutMs = 5000) {
  const path = method === "status" ? "maintenance/status" : `kv/${method}`;
  const response = await fetch(`${endpoint}/v3/${path}`, {
    method: "POST",
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
  });
  return { ok: response.ok, body: (await response.json()) as Record<string, unknown> };
}

async function put(endpoint: string, key: string, value: string): Promise<boolean> {
  try {
    return (await call(endpoint, "put", { key: base64(key), value: base64(value) })).ok;
  } catch {
    return false;
  }
}

async function get(endpoint: string, key: string): Promise<string | undefined> {
  const { body } = await call(endpoint, "range", { key: base64(key) });
  const [pair] = (body.kvs ?? []) as { value: string }[];
  return pair && Buffer.from(pair.value, "base64").toString();
}

async function leaderIndex(endpoints: readonly string[]): Promise<number> {
  const states = await Promise.all(
    endpoints.map(async (endpoint) => {
      const { body } = await call(endpoint, "status", {});
      const header = body.header as { member_id: string };
      return header.member_id === body.leader;
    }),
  );
  return states.indexOf(true);
}
