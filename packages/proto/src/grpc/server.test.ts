import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { deferred } from "@stackwright/base/deferred";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  collect,
  connectShapes,
  SERVER_CARRIERS,
  serverOf,
  shapesOver,
  until,
} from "../testing/shapes-fixture.ts";
import { message, ShapesService } from "../testing/shapes-service.ts";
import { formatListenAddress, formatTarget } from "./address.ts";
import { openChannel } from "./channel.ts";
import { createClient } from "./client.ts";
import { implementService } from "./implement.ts";
import { startServer } from "./server.ts";

const echo = implementService(ShapesService, { one: (request) => request });

/** A folder for a socket, whose path must be short, removed in the end. */
async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), "sw-"));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}

describe("addresses", () => {
  it("are written for grpc-js", () => {
    expect(formatTarget({ host: "127.0.0.1", port: 80 })).toBe("dns:127.0.0.1:80");
    expect(formatTarget({ host: "::1", port: 80 })).toBe("dns:[::1]:80");
    expect(formatListenAddress({ host: "[::1]", port: 0 })).toBe("[::1]:0");
    expect(formatTarget({ socketPath: "/a/b" })).toBe("unix:/a/b");
  });
});

describe.each(SERVER_CARRIERS)("a server over %s", (over) => {
  const carrier = serverOf(over);
  const connectShapes = shapesOver(over);

  it("chooses a free port of loopback", async () => {
    await using server = await startServer({ carrier, services: [echo] });
    expect(server.address).toEqual({ host: "127.0.0.1", port: expect.any(Number) });
  });

  it("of this machine is reached without the proxy of the environment", async () => {
    await using server = await startServer({ carrier, services: [echo] });
    for (const name of ["http_proxy", "https_proxy", "grpc_proxy"]) {
      vi.stubEnv(name, "http://127.0.0.1:1");
    }
    onTestFinished(() => void vi.unstubAllEnvs());
    await using channel = openChannel(server.address);
    await channel.waitForReady({ timeoutMs: 20_000 });
  });

  it("listens on a unix socket, which is gone in the end", async () => {
    await using folder = await temporaryFolder();
    const socketPath = join(folder.path, "s");
    {
      await using server = await startServer({
        carrier,
        services: [echo],
        address: { socketPath },
      });
      await using channel = openChannel(server.address);
      expect(await createClient(ShapesService, channel).one(message("a"))).toEqual(message("a"));
      expect(existsSync(socketPath)).toBe(true);
    }
    expect(existsSync(socketPath)).toBe(false);
  });

  it("does not start where another one listens", async () => {
    await using folder = await temporaryFolder();
    const socketPath = join(folder.path, "s");
    for (const address of [undefined, { socketPath }]) {
      await using server = await startServer({
        carrier,
        services: [echo],
        ...(address !== undefined && { address }),
      });
      const second = startServer({ carrier, services: [echo], address: server.address });
      await expect(second).rejects.toMatchObject({ code: "UNAVAILABLE" });
    }
  });

  it("ends the calls in progress when it closes", async () => {
    const aborted: unknown[] = [];
    await using fixture = await connectShapes({
      receive: async function* (_, { signal }) {
        yield message("first");
        await new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
        aborted.push(signal.reason);
      },
    });
    const responses = fixture.client.receive(message(""));
    await responses.next();
    const pending = expect(responses.next()).rejects.toMatchObject({
      code: expect.stringMatching(/UNAVAILABLE|CANCELLED/),
    });
    await fixture.server.close();
    await pending;
    await until(() => aborted.length === 1);
    expect(aborted[0]).toMatchObject({ code: "CANCELLED" });
    await fixture.server.close();
  });

  it("lets calls finish within a time of grace, and refuses new ones", async () => {
    const finish = deferred<void>();
    await using fixture = await connectShapes({
      one: async () => {
        await finish.promise;
        return message("done");
      },
    });
    const call = fixture.client.one(message(""));
    await fixture.channel.waitForReady();
    await new Promise((resolve) => setTimeout(resolve, 50));
    const closing = fixture.server.close({ graceMs: 10_000 });
    await using late = openChannel(fixture.server.address);
    const refused = createClient(ShapesService, late).one(message(""));
    await expect(refused).rejects.toMatchObject({ code: "UNAVAILABLE" });
    finish.resolve();
    expect(await call).toEqual(message("done"));
    await closing;
  });

  it("serves several services on one port", async () => {
    const Other = {
      one: { ...ShapesService.one, path: "/stackwright.test.Other/One" },
    } as const;
    const other = implementService(Other, { one: () => message("other") });
    await using server = await startServer({ carrier, services: [echo, other] });
    await using channel = openChannel(server.address);
    expect(await createClient(Other, channel).one(message("a"))).toEqual(message("other"));
    expect(await createClient(ShapesService, channel).one(message("a"))).toEqual(message("a"));
  });
});

describe("a channel", () => {
  it("is ready when it has reached the server", async () => {
    await using server = await startServer({ services: [echo] });
    await using channel = openChannel(server.address);
    await channel.waitForReady({ timeoutMs: 10_000 });
  });

  it("gives up waiting at the time limit, at an abort and when it is closed", async () => {
    const channel = openChannel({ host: "127.0.0.1", port: 1 });
    await expect(channel.waitForReady({ timeoutMs: 50 })).rejects.toMatchObject({
      code: "DEADLINE_EXCEEDED",
    });
    const reason = new Error("enough");
    const controller = new AbortController();
    const aborted = channel.waitForReady({ signal: controller.signal });
    controller.abort(reason);
    await expect(aborted).rejects.toBe(reason);
    const closed = expect(channel.waitForReady()).rejects.toMatchObject({ code: "CANCELLED" });
    await channel.close();
    await closed;
  });

  it("waits for a server that comes later when a call says so", async () => {
    await using folder = await temporaryFolder();
    const address = { socketPath: join(folder.path, "s") };
    const options = { "grpc.initial_reconnect_backoff_ms": 100 };
    await using channel = openChannel(address, { options });
    const call = createClient(ShapesService, channel).one(message("a"), { waitForReady: true });
    await using _ = await startServer({ services: [echo], address });
    expect(await call).toEqual(message("a"));
  });

  it("ends its calls when it closes and starts no more", async () => {
    await using fixture = await connectShapes({
      one: () => new Promise(() => {}),
      receive: async function* () {
        yield message("first");
        await new Promise(() => {});
      },
    });
    const call = fixture.client.one(message(""));
    const responses = fixture.client.receive(message(""));
    await responses.next();
    const ends = Promise.allSettled([call, responses.next()]);
    await fixture.channel.close();
    const cancelled = { status: "rejected", reason: { code: "CANCELLED" } };
    expect(await ends).toMatchObject([cancelled, cancelled]);
    await expect(fixture.client.one(message(""))).rejects.toMatchObject({ code: "CANCELLED" });
    await expect(collect(fixture.client.receive(message("")))).rejects.toMatchObject({
      code: "CANCELLED",
    });
  });

  it("connects again after the server was away", async () => {
    await using folder = await temporaryFolder();
    const address = { socketPath: join(folder.path, "s") };
    await using channel = openChannel(address, {
      options: { "grpc.initial_reconnect_backoff_ms": 100 },
    });
    const client = createClient(ShapesService, channel, { waitForReady: true });
    for (const text of ["a", "b"]) {
      await using _ = await startServer({ services: [echo], address });
      expect(await client.one(message(text))).toEqual(message(text));
    }
  });
});
