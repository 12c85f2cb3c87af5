import { silentLogger } from "@stackwright/base/logger";
import { createManualClock } from "@stackwright/base/testing";
import { ClientError, type ServerClient } from "@stackwright/client";
import { expect, it } from "vitest";
import { WORKER_PROTOCOL } from "../worker/remote-protocol.ts";
import { remoteClaimHost } from "./remote-claim-host.ts";

/** The host of a claim, at servers that start its step in this order. */
function hostAt(protocols: readonly number[]) {
  const clock = createManualClock();
  const left = [...protocols];
  const ends: unknown[] = [];
  const client = {
    startClaim: async () => {
      const protocol = left.shift() ?? WORKER_PROTOCOL;
      return Promise.resolve({ data: { protocol, job: { run: "r" } } });
    },
    readRegistry: async () => {
      const why = "the registry of registry.example.com: no answer";
      return Promise.reject(new ClientError("upstream_failed", why, { retryable: true }));
    },
    endClaim: async ({ body }: { body: unknown }) => Promise.resolve(ends.push(body)),
  } as unknown as ServerClient;
  const never = new AbortController().signal;
  const host = remoteClaimHost({
    client,
    run: "r",
    clock,
    logger: silentLogger,
    lost: never,
    ending: never,
  });
  return { host, ends, clock };
}

it("starts a step at a server of its own release, though others answer first", async () => {
  const { host, clock } = hostAt([WORKER_PROTOCOL + 1, WORKER_PROTOCOL - 1]);
  const job = host.job();
  await clock.advance(2_000);
  expect(await job).toEqual({ run: "r" });
});

it("gives a step back as nothing that was lost where only servers of another release start it", async () => {
  const { host, ends, clock } = hostAt(Array.from({ length: 99 }, () => WORKER_PROTOCOL + 1));
  const job = host.job().catch(async (error: unknown) => host.giveUp(error));
  await clock.advance(60_000);
  await job;
  expect(ends).toEqual([
    {
      given_up: expect.stringMatching(/^the server speaks version .*: install the same release$/),
      returned: true,
    },
  ]);
});

it("gives a step back as lost that failed here", async () => {
  const { host, ends } = hostAt([]);
  await host.giveUp(new Error("the folder is full"));
  expect(ends).toEqual([{ given_up: "the folder is full", returned: false }]);
});

it("does not ask again and again for what a registry of another server does not give", async () => {
  const { host, clock } = hostAt([]);
  const asked = host.readRegistry({ kind: "published", namespace: "ours", type: "random" });
  const failed = expect(asked).rejects.toThrow("the registry of registry.example.com");
  await clock.advance(60_000);
  await failed;
});
