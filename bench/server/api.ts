import { Agent, request as httpRequest } from "node:http";
import { createServerClient } from "@stackwright/client";
import { recordFigure, spreadOf } from "@stackwright-bench/figures";
import { archiveOf, instances } from "./archive.ts";
import { printFigures, quantile } from "./figures.ts";
import { startServer } from "./processes.ts";

const CLIENTS = 64;
const RUNS = 50;
const BARE = "bare route, one read";
const P = "/api/v1/projects/default";

interface Request {
  readonly path: string;
  readonly body?: string;
}

/** Requests of 64 connections, each one after the other, in turns with a bare route of the same server. */
export async function benchApi(
  name: string,
  store: string,
  { rounds, roundMs }: { readonly rounds: number; readonly roundMs: number },
): Promise<void> {
  await using server = await startServer(store, "none");
  const { url, token } = server;
  const client = createServerClient({ server: url, token });
  const place = { project: "default", stack: "one" };
  await client.createStack({ project: "default", body: { name: "one" } });
  const body = archiveOf(instances(20, 1));
  const { digest } = (await client.createConfiguration({ ...place, body })).data;
  let run = "";
  for (let index = 0; index < RUNS; index += 1) {
    ({ id: run } = (await client.createRun({ ...place, body: { configuration: digest } })).data);
  }
  let made = 0;
  const operations: Readonly<Record<string, () => Request>> = {
    [BARE]: () => ({ path: "/bare/" }),
    "show a run": () => ({ path: `${P}/stacks/one/runs/${run}` }),
    "show a stack": () => ({ path: `${P}/stacks/one` }),
    "list 20 of 50 runs": () => ({ path: `${P}/stacks/one/runs?limit=20` }),
    "events of a run": () => ({ path: `${P}/stacks/one/runs/${run}/events?follow=false` }),
    "create a stack": () => ({
      path: `${P}/stacks`,
      body: JSON.stringify({ name: `s${(made += 1)}` }),
    }),
  };
  const times = new Map<string, number[]>();
  const rates = new Map<string, number[]>();
  let failures = 0;
  for (let round = 0; round < rounds; round += 1) {
    for (const [operation, next] of Object.entries(operations)) {
      const result = await load(url, token, roundMs, next);
      times.set(operation, [...(times.get(operation) ?? []), ...result.times]);
      rates.set(operation, [...(rates.get(operation) ?? []), result.perSecond]);
      failures += result.failures;
    }
  }
  for (const [operation, all] of times) {
    if (operation === BARE) continue;
    recordFigure({
      name: `server: ${operation}, ${name}`,
      unit: "ms",
      size: CLIENTS,
      of: "clients",
      ours: spreadOf("server", [quantile(all, 0.5)]),
      baseline: spreadOf(BARE, [quantile(times.get(BARE) ?? [], 0.5)]),
    });
  }
  const bare = quantile(rates.get(BARE) ?? [], 0.5);
  printFigures(
    `${name}, ${CLIENTS} clients, ${rounds} rounds of ${roundMs} ms, ${failures} failures`,
    [
      ["operation", "per s", "of bare", "lowest - highest", "p50 ms", "p99 ms"],
      ...[...rates].map(([operation, all]) => [
        operation,
        quantile(all, 0.5).toFixed(0),
        `${((quantile(all, 0.5) / bare) * 100).toFixed(0)} %`,
        `${Math.min(...all).toFixed(0)} - ${Math.max(...all).toFixed(0)}`,
        quantile(times.get(operation) ?? [], 0.5).toFixed(1),
        quantile(times.get(operation) ?? [], 0.99).toFixed(1),
      ]),
    ],
  );
}

async function load(url: string, token: string, durationMs: number, next: () => Request) {
  const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  const { hostname: host, port } = new URL(url);
  const times: number[] = [];
  let failures = 0;
  const send = ({ path, body }: Request): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(body),
        }),
      };
      const method = body === undefined ? "GET" : "POST";
      const request = httpRequest({ host, port, agent, path, method, headers }, (answer) => {
        answer.resume();
        answer.once("end", () => resolve(answer.statusCode ?? 0));
      });
      request.once("error", reject);
      request.end(body);
    });
  const started = performance.now();
  const client = async (): Promise<void> => {
    while (performance.now() - started < durationMs) {
      const before = performance.now();
      const status = await send(next());
      times.push(performance.now() - before);
      if (status >= 300) failures += 1;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  const seconds = (performance.now() - started) / 1000;
  agent.destroy();
  return { times, failures, perSecond: times.length / seconds };
}
