import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { systemClock } from "@stackwright/base/clock";
import { createServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { ServerContact } from "./server-contact.ts";

function contact() {
  let now = 1_000;
  const clock = { ...systemClock, monotonicMs: () => now };
  const watched = new ServerContact(clock);
  let outcome: () => Promise<Response> = async () => Promise.resolve(new Response());
  const send = watched.watch(async () => outcome());
  return {
    watched,
    pass: (ms: number) => {
      now += ms;
    },
    answers: async (status: number) => {
      outcome = async () => Promise.resolve(new Response(undefined, { status }));
      await send("http://127.0.0.1/");
    },
    fails: async (signal?: AbortSignal) => {
      outcome = async () => Promise.reject(new Error("refused"));
      await send("http://127.0.0.1/", signal && { signal }).catch(() => undefined);
    },
  };
}

it("counts from the first request that failed to the next that is answered", async () => {
  const { watched, pass, answers, fails } = contact();
  await fails();
  pass(40);
  await fails();
  pass(2);
  expect(watched.lostForMs()).toBe(42);
  await answers(500);
  expect(watched.lostForMs()).toBe(0);
});

it("takes no request that was aborted for a server that is away", async () => {
  const { watched, pass, fails } = contact();
  await fails(AbortSignal.abort());
  pass(5);
  expect(watched.lostForMs()).toBe(0);
});

it("takes a server that accepts requests and says nothing for one that is away", async () => {
  const silent = createServer();
  await new Promise<void>((done) => silent.listen(0, "127.0.0.1", done));
  onTestFinished(async () => {
    silent.closeAllConnections();
    await new Promise((done) => silent.close(done));
  });
  const { port } = silent.address() as AddressInfo;
  const { watched, pass } = contact();
  const client = createServerClient({
    server: `http://127.0.0.1:${port}`,
    token: "t",
    clock: systemClock,
    fetch: watched.watch(fetch),
    timeoutMs: 50,
  });
  await expect(client.showWorkerEndpoint({})).rejects.toThrow("no answer within 50 ms");
  pass(7);
  expect(watched.lostForMs()).toBe(7);
});
