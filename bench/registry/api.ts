import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import { type LoadRequest, type LoadResult, runLoad } from "./load.ts";
import { startBenchServer } from "./server-process.ts";
import { printTable } from "./table.ts";

const CLIENTS = 64;
const BARE = "bare route, one read";

/** How much is measured. */
interface ApiEffort {
  readonly providers: number;
  readonly rounds: number;
  readonly roundMs: number;
}

/** Create, get and list beside a bare route that reads once, in turns, so that all see the same machine. */
export async function benchApi(name: string, store: string, effort: ApiEffort): Promise<void> {
  const { providers, rounds, roundMs } = effort;
  await using server = await startBenchServer({ store, providers });
  const perSecond = (providers / server.seededMs) * 1000;
  console.log(
    `\n${name}: ${providers} providers made one after the other, ${perSecond.toFixed(0)}/s`,
  );
  let created = 0;
  const seed = (n: number): string => `seed-${(n * 7919) % providers}`;
  const operations: Readonly<Record<string, (n: number) => LoadRequest>> = {
    [BARE]: (n) => ({ path: `/baseline/${seed(n)}` }),
    "get a provider": (n) => ({ path: `/v1/private-providers/${seed(n)}/metadata` }),
    "list 10": () => ({ path: "/v1/private-providers?limit=10" }),
    "list 1000": () => ({ path: "/v1/private-providers?limit=1000" }),
    "create a provider": () => ({
      path: "/v1/private-providers",
      body: JSON.stringify({ provider_name: `new-${Date.now().toString(36)}-${created++}` }),
    }),
  };
  const results = new Map<string, LoadResult[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const [operation, next] of Object.entries(operations)) {
      const { url, token } = server;
      const result = await runLoad({ url, token, clients: CLIENTS, durationMs: roundMs, next });
      results.set(operation, [...(results.get(operation) ?? []), result]);
    }
  }
  const bare = results.get(BARE) ?? [];
  for (const [operation, all] of results) {
    if (operation === BARE) continue;
    recordFigure({
      name: `registry: ${operation}, ${name}`,
      unit: "ms",
      size: CLIENTS,
      of: "clients",
      ours: spreadOf(
        "registry",
        all.map((one) => one.p50),
      ),
      baseline: spreadOf(
        BARE,
        bare.map((one) => one.p50),
      ),
    });
  }
  const baseline = median(bare.map((r) => r.perSecond));
  printTable(
    `${name}, ${CLIENTS} clients, ${rounds} rounds of ${roundMs} ms`,
    ["operation", "per s", "of bare", "lowest", "highest", "p50 ms", "p99 ms", "failed"],
    [...results].map(([operation, all]) => {
      const rates = all.map((r) => r.perSecond);
      return [
        operation,
        median(rates).toFixed(0),
        `${((median(rates) / baseline) * 100).toFixed(0)} %`,
        Math.min(...rates).toFixed(0),
        Math.max(...rates).toFixed(0),
        median(all.map((r) => r.p50)).toFixed(1),
        median(all.map((r) => r.p99)).toFixed(1),
        String(all.reduce((sum, r) => sum + r.failures, 0)),
      ];
    }),
  );
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
