import { createServerClient } from "@stackwright/client";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import { printFigures } from "./figures.ts";
import { makeStacks } from "./make-stacks.ts";
import { startServer } from "./processes.ts";
import { processorMsAtRest, processorMsOf } from "./usage.ts";

const REQUESTS = 200;
const ROUNDS = 3;
/** Of one core, while a page asks once a second. */
const MAX_SHARE = 0.01;
const BARE = "bare route, one read";

/**
 * What the page of the live view costs a server with so many stacks, which asks once a second for the graph of collections and for why one
 * object is what it is: processor time of the server, beside that of a bare route.
 */
export async function benchLiveView(stacks: number): Promise<void> {
  await using server = await startServer("sqlite", "none");
  const { url, token, pid } = server;
  const client = createServerClient({ server: url, token });
  const id = await makeStacks(server, stacks);
  const key = `default/default/${id}`;
  const subjects: Readonly<Record<string, () => Promise<unknown>>> = {
    [BARE]: async () => (await fetch(`${url}/bare/`)).text(),
    "graph of collections": async () => client.showLiveGraph({}),
    "why of one object": async () => client.showLiveObject({ collection: "stack status", key }),
    "both, as the page asks": async () =>
      Promise.all([
        client.showLiveGraph({}),
        client.showLiveObject({ collection: "stack status", key }),
      ]),
  };
  const times = new Map<string, number[]>();
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, ask] of Object.entries(subjects)) {
      const before = await processorMsAtRest(pid);
      for (let request = 0; request < REQUESTS; request += 1) await ask();
      const each = (processorMsOf(pid) - before) / REQUESTS;
      times.set(name, [...(times.get(name) ?? []), each]);
    }
  }
  const baseline = spreadOf(BARE, times.get(BARE) ?? []);
  for (const [name, found] of times) {
    if (name === BARE) continue;
    recordFigure({
      name: `live view: ${name}, processor time of the server`,
      unit: "ms",
      size: stacks,
      of: "stacks",
      ours: spreadOf("server", found),
      baseline,
    });
  }
  printFigures(`live view of ${stacks} stacks, ${ROUNDS} rounds of ${REQUESTS} requests`, [
    ["request", "processor ms each", "lowest - highest", "of a core at 1 Hz", "goal"],
    ...[...times].map(([name, found]) => {
      const { middle } = spreadOf(name, found);
      return [
        name,
        middle.toFixed(2),
        `${Math.min(...found).toFixed(2)} - ${Math.max(...found).toFixed(2)}`,
        `${(middle / 10).toFixed(2)} %`,
        name === BARE ? "" : `${MAX_SHARE * 100} %`,
      ];
    }),
  ]);
}
