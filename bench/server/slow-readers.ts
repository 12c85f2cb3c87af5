import { get, type IncomingMessage } from "node:http";
import { createServerClient } from "@stackwright/client";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import { printFigures, quantile } from "./figures.ts";
import { makeStacks } from "./make-stacks.ts";
import { startServer } from "./processes.ts";

/** What a stream begins with is more than the buffers of a connection hold: who reads nothing keeps the server waiting. */
const STACKS = 10_000;
const READERS = 10;
/** Readers beside those that are measured. */
const OTHERS = 50;
/** Of one round; shorter than a server waits for a reader that takes nothing. */
const CHANGES = 100;
/** Of what it takes beside as many others that read. */
const MAX_RATIO = 1.2;
const READING = `${OTHERS} that read`;
const STALLED = `${OTHERS} that read nothing`;

interface Round {
  /** From a change to its arrival at a reader. */
  readonly times: readonly number[];
  readonly rssMib: number;
}

/**
 * How soon readers of the stacks have a change, beside others that read nothing and beside as many that read, in turns; and what the memory
 * of the server is then.
 */
export async function benchSlowReaders(rounds: number): Promise<void> {
  await using server = await startServer("sqlite", "none");
  const { url, token } = server;
  await makeStacks(server, STACKS);
  const found = new Map<string, Round[]>([
    [READING, []],
    [STALLED, []],
  ]);
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, all] of found) {
      const others = await connect(url, token, OTHERS);
      if (name === READING) for (const one of others) one.resume();
      all.push(await measure(url, token, `${round}${name === READING ? "r" : "s"}`));
      for (const one of others) one.destroy();
    }
  }
  const timesOf = (name: string): readonly number[] =>
    (found.get(name) ?? []).flatMap(({ times }) => times);
  const p99 = (name: string): number => quantile(timesOf(name), 0.99);
  recordFigure({
    name: "live view: a change at a reader beside stalled ones, 99 of 100",
    unit: "ms",
    size: OTHERS,
    of: "other readers",
    ours: spreadOf(STALLED, [p99(STALLED)]),
    baseline: spreadOf(READING, [p99(READING)]),
    target: MAX_RATIO,
  });
  printFigures(
    `${READERS} readers of ${STACKS} stacks, ${rounds} rounds of ${CHANGES} changes, in turns`,
    [
      ["readers beside them", "p50 ms", "p99 ms", "p99 of rounds", "resident MiB"],
      ...[...found].map(([name, all]) => [
        name,
        quantile(timesOf(name), 0.5).toFixed(1),
        p99(name).toFixed(1),
        all.map(({ times }) => quantile(times, 0.99).toFixed(0)).join(", "),
        Math.max(...all.map(({ rssMib }) => rssMib)).toFixed(0),
      ]),
    ],
  );
  console.log(`\nratio of p99: ${(p99(STALLED) / p99(READING)).toFixed(2)}, goal ${MAX_RATIO}`);
}

/** Streams of the stacks that nothing is read of. */
async function connect(url: string, token: string, count: number): Promise<IncomingMessage[]> {
  return Promise.all(
    Array.from(
      { length: count },
      async () =>
        new Promise<IncomingMessage>((resolve, reject) => {
          const headers = { authorization: `Bearer ${token}` };
          get(`${url}/api/v1/watch?topics=stacks`, { agent: false, headers }, (answer) => {
            // It is ended while it has more to say.
            answer.on("error", () => undefined);
            resolve(answer);
          }).once("error", reject);
        }),
    ),
  );
}

/** Locks stacks for reasons that readers find in what arrives. */
async function measure(url: string, token: string, round: string): Promise<Round> {
  const client = createServerClient({ server: url, token });
  const times: number[] = [];
  let missing = 0;
  let arrived = Promise.withResolvers<void>();
  let wanted = "";
  let begun = 0;
  const readers = await connect(url, token, READERS);
  const synced = readers.map(async (reader) => {
    const first = Promise.withResolvers<void>();
    let tail = "";
    let last = "";
    reader.on("data", (chunk) => {
      const text = tail + String(chunk);
      if (text.includes("event: snapshot-end")) first.resolve();
      if (last !== wanted && text.includes(wanted)) {
        last = wanted;
        times.push(performance.now() - begun);
        missing -= 1;
        if (missing === 0) arrived.resolve();
      }
      tail = text.slice(-200);
    });
    return first.promise;
  });
  await Promise.all(synced);
  for (let change = 0; change < CHANGES; change += 1) {
    wanted = `"reason":"r${round}-${change}."`;
    missing = READERS;
    arrived = Promise.withResolvers();
    begun = performance.now();
    const place = { project: "default", stack: `s${change % STACKS}` };
    await client.lockStack({ ...place, body: { reason: `r${round}-${change}.` } });
    await arrived.promise;
    await client.unlockStack(place);
  }
  for (const reader of readers) reader.destroy();
  const loop = (await (await fetch(`${url}/bare/loop`)).json()) as { readonly rssMib: number };
  return { times, rssMib: loop.rssMib };
}
