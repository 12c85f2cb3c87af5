import { mkdtemp, rm } from "node:fs/promises";
import { createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deferred } from "@stackwright/base/deferred";
import { openChannel, RpcError } from "@stackwright/proto/grpc";
import { ConfigureRequest, InvokeRequest, ListRequest } from "@stackwright/proto/pulumirpc";
import { describe, expect, it, vi } from "vitest";
import { createResourceProviderClient } from "../../grpc/resource-provider-client.ts";
import { serveResourceProvider } from "../../grpc/resource-provider-server.ts";
import { hostProvider } from "../../host/hosted-provider.ts";
import { createMux } from "../../mux.ts";
import type { ResourceProvider } from "../../resource-provider.ts";
import { ECHO, isThere } from "../programs/programs.ts";
import { createOf, namedProvider, namedSchema } from "./chaos-server.ts";

/** The provider behind gRPC on a unix socket or in this process, as the mode says. */
async function behind(mode: "in process" | "over gRPC", provider: ResourceProvider) {
  const open = new AsyncDisposableStack();
  if (mode === "in process") return { provider, open };
  const folder = await mkdtemp(join(tmpdir(), "mux-chaos-"));
  open.defer(() => rm(folder, { recursive: true, force: true }));
  const address = { socketPath: join(folder, "s") };
  open.use(await serveResourceProvider(provider, { address }));
  return { provider: createResourceProviderClient(open.use(openChannel(address))), open };
}

/** A channel to a port that is no gRPC server. */
async function portOf(server: Server, open: AsyncDisposableStack): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  open.defer(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return (server.address() as AddressInfo).port;
}

/** A provider that is not trusted to give its schema. */
function withSchemaOf(name: string, provider: ResourceProvider): ResourceProvider {
  const { schema } = namedSchema(name);
  return { ...provider, getSchema: async () => ({ schema }) };
}

describe.each(["in process", "over gRPC"] as const)("2,000 calls over 20 servers %s", (mode) => {
  it("continue past the one that is slow", async ({ annotate }) => {
    await annotate("2000 concurrent calls", "count");
    await using open = new AsyncDisposableStack();
    const release = deferred<void>();
    const names = Array.from({ length: 20 }, (_, index) => `S${index}`);
    const servers = [];
    for (const name of names) {
      const slow: Partial<ResourceProvider> = {
        create: async () => {
          await release.promise;
          return { id: name, properties: undefined, refreshBeforeUpdate: false };
        },
      };
      const made = await behind(mode, namedProvider(name, name === "S7" ? slow : {}));
      open.use(made.open);
      servers.push({ name, connect: () => made.provider });
    }
    await using mux = await createMux({ servers });
    let slowDone = 0;
    const calls = Array.from({ length: 2000 }, (_, index) => {
      const name = names[index % 20] ?? "";
      const call = mux.create(createOf(name), {}).then(({ id }) => [name, id]);
      return name === "S7" ? call.finally(() => (slowDone += 1)) : call;
    });
    const quick = await Promise.all(calls.filter((_, index) => index % 20 !== 7));
    expect(quick).toHaveLength(1900);
    expect(quick.every(([name, id]) => name === id)).toBe(true);
    expect([slowDone, mux.status.servers[7]?.running]).toEqual([0, 100]);
    release.resolve();
    expect((await Promise.all(calls)).filter(([, id]) => id === "S7")).toHaveLength(100);
  });
});

describe("a server that misbehaves harms no other server", () => {
  const healthy = { name: "Good", connect: () => namedProvider("Good") };
  const expectGood = async (mux: ResourceProvider) =>
    expect(await mux.create(createOf("Good"), {})).toMatchObject({ id: "Good" });

  it("when it hangs: its calls end by their limits, Configure and Cancel name it", async () => {
    const never = () => new Promise<never>(() => undefined);
    const hanging = namedProvider("Bad", { create: never, configure: never, cancel: never });
    await using mux = await createMux({
      servers: [
        { name: "Bad", connect: () => hanging, limits: { callTimeoutMs: 30, cancelTimeoutMs: 30 } },
        healthy,
      ],
    });
    const code = { code: "DEADLINE_EXCEEDED", rawMessage: expect.stringContaining("server Bad") };
    const configuring = expect(
      mux.configure(ConfigureRequest.create({}), {}),
    ).rejects.toMatchObject(code);
    const creating = expect(mux.create(createOf("Bad"), {})).rejects.toMatchObject({
      code: "MUX_SERVER_TIMEOUT",
    });
    await expectGood(mux);
    await Promise.all([configuring, creating]);
    await expect(mux.cancel({}, {})).rejects.toMatchObject(code);
    expect(mux.status.servers.map(({ health, running }) => [health, running])).toEqual([
      ["degraded", 0],
      ["ready", 0],
    ]);
  });

  it("when it throws what is no error", async () => {
    const thrown: unknown[] = [null, undefined, "text", 7, { code: 5 }, Object.create(null)];
    for (const value of thrown) {
      const create = () => Promise.reject(value);
      await using mux = await createMux({
        servers: [{ name: "Bad", connect: () => namedProvider("Bad", { create }) }, healthy],
      });
      await expect(mux.create(createOf("Bad"), {})).rejects.toMatchObject({
        code: "MUX_SERVER_CRASHED",
        server: "Bad",
      });
      await expectGood(mux);
    }
  });

  it("when it floods a stream: it produces what the reader takes, and little more", async () => {
    let produced = 0;
    const text = "x".repeat(10_000);
    const flooding = namedProvider("Bad", {
      async *list() {
        for (;;) {
          produced += 1;
          yield {
            response: {
              $case: "continuation",
              value: { continuationToken: text },
            },
          };
        }
      },
    });
    const { provider, open } = await behind("over gRPC", flooding);
    await using _open = open;
    await using mux = await createMux({
      servers: [{ name: "Bad", connect: () => provider }, healthy],
    });
    await using server = await serveResourceProvider(mux);
    await using channel = openChannel(server.address);
    const client = createResourceProviderClient(channel);
    let read = 0;
    for await (const _item of client.list(ListRequest.create({ token: "p:index:Bad" }), {})) {
      read += 1;
      await expectGood(client);
      if (read === 20) break;
    }
    // Three hops hold a buffer of 1 MiB and the transport's windows each.
    expect(produced).toBeLessThan(2000);
    await vi.waitFor(() => expect(mux.status.servers[0]?.running).toBe(0), { timeout: 10_000 });
    const atEnd = produced;
    await expectGood(client);
    expect(produced).toBe(atEnd);
  });

  it("when a reply is larger than a message may be", async () => {
    const big = namedProvider("Bad", {
      create: async () => ({
        id: "x".repeat(2 * 1024 * 1024),
        properties: undefined,
        refreshBeforeUpdate: false,
      }),
    });
    await using server = await serveResourceProvider(big);
    await using channel = openChannel(server.address, { maxMessageBytes: 1024 * 1024 });
    const provider = createResourceProviderClient(channel);
    await using mux = await createMux({
      servers: [{ name: "Bad", connect: () => provider }, healthy],
    });
    await expect(mux.create(createOf("Bad"), {})).rejects.toMatchObject({
      code: "RESOURCE_EXHAUSTED",
    });
    await expectGood(mux);
  });

  it("when bytes that are no HTTP/2 come back", async () => {
    await using open = new AsyncDisposableStack();
    const server = createServer((socket) => void socket.write(Buffer.alloc(100_000, "garbage ")));
    const port = await portOf(server, open);
    const channel = open.use(openChannel({ host: "127.0.0.1", port }));
    const client = createResourceProviderClient(channel);
    const provider = withSchemaOf("Bad", client);
    await using mux = await createMux({
      servers: [{ name: "Bad", connect: () => provider }, healthy],
    });
    const bad = expect(mux.create(createOf("Bad"), {})).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
    await expectGood(mux);
    await bad;
    expect(mux.status.servers[0]?.health).toBe("degraded");
  });

  it.each([
    ["is no message", Buffer.from([0, 0, 0, 0, 3, 0xff, 0xff, 0xff]), "INTERNAL"],
    ["is cut off", Buffer.from([0, 0, 0, 1, 0, 1, 2, 3]), undefined],
    ["claims to be enormous", Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1]), "RESOURCE_EXHAUSTED"],
  ])("when a reply %s", async (_what, body, code) => {
    await using open = new AsyncDisposableStack();
    const server = createHttp2Server();
    server.on("stream", (stream) => {
      stream.on("error", () => undefined);
      stream.respond(
        { ":status": 200, "content-type": "application/grpc" },
        { waitForTrailers: true },
      );
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
      stream.end(body);
    });
    const port = await portOf(server, open);
    const channel = open.use(openChannel({ host: "127.0.0.1", port }));
    const client = createResourceProviderClient(channel);
    const provider = withSchemaOf("Bad", client);
    await using mux = await createMux({
      servers: [{ name: "Bad", connect: () => provider }, healthy],
    });
    const failure = await mux.create(createOf("Bad"), {}).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(RpcError);
    if (code !== undefined) expect(failure).toMatchObject({ code });
    await expect(mux.invoke(InvokeRequest.create({ tok: "p:index:getBad" }), {})).rejects.toThrow();
    await expectGood(mux);
  });
});

it("processes that are killed again and again come back, and calls of the others all succeed", async () => {
  await using open = new AsyncDisposableStack();
  const names = ["One", "Two", "Three"];
  const hosted = await Promise.all(
    names.map((name) =>
      hostProvider({ ...ECHO, restart: { maxRestarts: 10, initialDelayMs: 1 } }).then((made) => ({
        name,
        made: open.use(made),
      })),
    ),
  );
  await using mux = await createMux({
    servers: hosted.map(({ name, made }) => ({
      name,
      connect: () => withSchemaOf(name, made.provider),
    })),
  });
  const groups = new Set<number>();
  const victim = hosted[0]?.made;
  for (let round = 0; round < 3; round += 1) {
    const group = victim?.process?.group ?? 0;
    groups.add(group);
    const calls = Array.from({ length: 60 }, (_, index) =>
      mux.create(createOf(names[index % 3] ?? ""), {}),
    );
    if (victim?.process?.pid !== undefined) process.kill(victim.process.pid, "SIGKILL");
    const results = await Promise.allSettled(calls);
    for (const [index, result] of results.entries()) {
      if (index % 3 !== 0) expect(result).toMatchObject({ status: "fulfilled" });
      else if (result.status === "rejected") {
        expect(["MUX_PROCESS_CRASHED", "MUX_PROCESS_ENDED"]).toContain(result.reason.code);
      }
    }
    // Waits for the process that takes the place.
    await mux.create(createOf("One"), {}).catch(() => undefined);
    await vi.waitFor(() => expect(victim?.restarts).toBe(round + 1), { timeout: 10_000 });
    expect(await mux.create(createOf("One"), {})).toHaveProperty("id");
  }
  expect([...groups].filter((group) => isThere(-group))).toEqual([]);
});
