import { startServer } from "@stackwright/proto/grpc";
import { describe, expect, test } from "vitest";
import { checkHistory } from "../../testing/history/check-history.ts";
import { runWorkload } from "../../testing/history/workload.ts";
import { TcpProxy } from "../../testing/live/tcp-proxy.ts";
import { runFactor, runSeeds } from "../../testing/run-scale.ts";
import { createMemoryStorage } from "../memory.ts";
import { createRemoteStorage, createStorageService } from "../remote.ts";

const OPERATIONS = 400;

interface Fault {
  readonly title: string;
  readonly strike: (proxy: TcpProxy, restart: () => void) => void;
}

const FAULTS: readonly Fault[] = [
  { title: "nothing happens", strike: () => undefined },
  { title: "connections are reset", strike: (proxy) => proxy.cut() },
  { title: "connections are closed in one direction", strike: (proxy) => proxy.halfClose() },
  { title: "answers are late", strike: (proxy) => proxy.stall(400) },
  { title: "the server goes and comes back", strike: (_, restart) => restart() },
];

/** Serves one store, with a proxy in front; the service can be replaced by another one. */
async function serve() {
  const storage = createMemoryStorage();
  const authorize = () => ({ scopes: "all" }) as const;
  const start = (port: number) =>
    startServer({
      address: { host: "127.0.0.1", port },
      services: [createStorageService({ storage, authorize })],
    });
  let server = await start(0);
  const { address } = server;
  if (!("port" in address)) throw new Error("expected a port");
  const proxy = await TcpProxy.start(address.port);
  let restarting = Promise.resolve();
  const replace = async (): Promise<void> => {
    await server.close();
    server = await start(address.port);
  };
  const restart = (): void => {
    restarting = restarting.then(replace);
  };
  return {
    proxy,
    restart,
    healed: () => restarting,
    addresses: [{ host: "127.0.0.1", port: proxy.port }, address] as const,
    [Symbol.asyncDispose]: async () => {
      await restarting;
      await proxy[Symbol.asyncDispose]();
      await server.close();
      await storage.close();
    },
  };
}

describe("random histories of two clients of one service", () => {
  for (const { title, strike } of FAULTS) {
    test(`break no rule when ${title}`, { timeout: 60_000 * runFactor() }, async (context) => {
      const seeds = runSeeds(1);
      for (const seed of seeds) {
        await using service = await serve();
        await using stack = new AsyncDisposableStack();
        const instances = [];
        for (const address of service.addresses) {
          instances.push(stack.use(await createRemoteStorage({ address, timeoutMs: 3_000 })));
        }
        const strikes = new Set([100, 180, 260]);
        const history = await runWorkload({
          instances,
          seed,
          operations: OPERATIONS,
          disturb: (operations) => {
            if (strikes.has(operations)) strike(service.proxy, service.restart);
          },
          heal: service.healed,
        });
        expect(checkHistory(history), `seed ${seed}`).toEqual([]);
        const acknowledged = history.writes.filter((write) => write.result.kind === "ok");
        expect(acknowledged.length).toBeGreaterThan(30);
      }
      await context.annotate(`${seeds.length * OPERATIONS} operations`, "count");
    });
  }
});
