import { createServerClient, type RunLogEvent, type StackStatus } from "@stackwright/client";
import { expect, it } from "vitest";
import { cutFetch } from "../../testing/cut-fetch.ts";
import { P, startApi } from "../../testing/start-api.ts";

// Connections that break at every place where they can: behind each event, and within the next one.

const PLACE = { project: "web", stack: "one" };
const RETRY = { maxAttempts: 5, initialDelayMs: 1, maxDelayMs: 1, jitter: 0 };
const RATE = { apiRateLimit: { perSecond: 100_000, burst: 100_000 } };
const BOUNDARIES = 200;

it("the events of a run are the same over a cut behind each of them, each once and in order", {
  timeout: 120_000,
}, async () => {
  const { server, call, upload, first } = await startApi("in-process", RATE);
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { json } = await upload({
    "main.tf": 'resource "terraform_data" "a" {\n  count = 70\n}\n',
  });
  const body = { configuration: json["digest"], auto_apply: true };
  const { json: run } = await call("POST", `${P}/stacks/one/runs`, { body });
  const id = String(run["id"]);
  const clientOf = (send: typeof fetch = fetch) =>
    createServerClient({ server: server.url, token: first.token, retry: RETRY, fetch: send });
  const read = async (send?: typeof fetch): Promise<readonly RunLogEvent[]> => {
    const events: RunLogEvent[] = [];
    for await (const event of clientOf(send).followRun({ ...PLACE, run: id })) events.push(event);
    return events;
  };
  // One reader follows the run as it happens, and loses its connection behind every single event.
  const live = cutFetch(() => 1);
  const seen = await read(live.fetch);
  const whole = await read();
  expect(whole.length).toBeGreaterThan(BOUNDARIES);
  expect(whole.map(({ seq }) => seq)).toEqual(whole.map((_, index) => index + 1));
  expect(seen).toEqual(whole);
  expect(live.opened()).toBeGreaterThanOrEqual(whole.length - 1);
  for (let boundary = 0; boundary <= BOUNDARIES; boundary += 1) {
    // Every other one in the middle of the next event, which then comes once more.
    const cut = cutFetch((stream) => (stream === 0 ? boundary : undefined), (boundary % 2) * 25);
    expect(await read(cut.fetch), `cut behind ${boundary}`).toEqual(whole);
    expect(cut.opened()).toBe(2);
  }
});

it("what is known of the stacks is what a snapshot has, over a cut behind each change", {
  timeout: 120_000,
}, async () => {
  const { server, call, first } = await startApi("none", RATE);
  const leave = new AbortController();
  // The snapshot is three events; then each stream has one change.
  const cut = cutFetch((stream) => (stream === 0 ? 3 : 1));
  const options = { server: server.url, token: first.token, retry: RETRY };
  const known = new Map<string, StackStatus>();
  const followed = (async () => {
    const client = createServerClient({ ...options, fetch: cut.fetch });
    for await (const change of client.watchStacks({ signal: leave.signal })) {
      if (change.type === "snapshot") known.clear();
      for (const status of change.set) known.set(status.id, status);
      for (const one of change.delete) known.delete(one);
    }
  })().catch((error: unknown) => {
    if (!leave.signal.aborted) throw error;
  });
  const names = (list: Iterable<StackStatus>): readonly string[] =>
    [...list].map(({ name, lock }) => `${name} ${lock?.reason ?? ""}`).toSorted();
  await call("POST", `${P}/stacks`, { body: { name: "s0" } });
  for (let turn = 1; turn < BOUNDARIES; turn += 1) {
    // Stacks come, change and go.
    const stack = `${P}/stacks/s${Math.floor(turn / 4)}`;
    if (turn % 4 === 0) await call("POST", `${P}/stacks`, { body: { name: `s${turn / 4}` } });
    else if (turn % 4 === 1) await call("PUT", `${stack}/lock`, { body: { reason: `at ${turn}` } });
    else if (turn % 4 === 2 && turn % 3 === 0) await call("DELETE", `${stack}/lock`);
    else if (turn % 8 === 3) await call("DELETE", stack);
  }
  const fresh = async (): Promise<readonly string[]> => {
    const client = createServerClient(options);
    const read = new AbortController();
    for await (const change of client.watchStacks({ signal: read.signal })) {
      return names(change.set);
    }
    return [];
  };
  const wanted = await fresh();
  expect(wanted.length).toBeGreaterThan(20);
  await expect.poll(() => names(known.values()), { timeout: 30_000 }).toEqual(wanted);
  expect(cut.opened()).toBeGreaterThan(20);
  leave.abort();
  await followed;
});
