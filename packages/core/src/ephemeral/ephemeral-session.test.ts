import type { Diagnostic } from "@stackwright/lang";
import type {
  EphemeralHandleRequest,
  LifecycleContext,
  LifecycleProvider,
  RenewReply,
  Reply,
} from "@stackwright/mux/router";
import { describe, expect, it } from "vitest";
import type { RunEvent } from "../events.ts";
import type { ProviderInstance } from "../providers/provider-instances.ts";
import { createVirtualScheduler } from "../testing/virtual-scheduler.ts";
import { EphemeralSession } from "./ephemeral-session.ts";

const MINUTE = 60_000;
const OK = { diagnostics: [] };
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (given: Uint8Array): string => new TextDecoder().decode(given);

interface Answers {
  readonly renew?: (request: EphemeralHandleRequest) => Promise<RenewReply>;
  readonly close?: (request: EphemeralHandleRequest, context: LifecycleContext) => Promise<Reply>;
}

/** A lease over a provider that writes down what it is asked, in time that only passes when the test says so. */
function lend(
  renewInMs: number | undefined,
  { renew = async () => Promise.resolve(OK), close = async () => Promise.resolve(OK) }: Answers,
) {
  const scheduler = createVirtualScheduler();
  const begin = scheduler.wallMs();
  const calls: string[] = [];
  const events: string[] = [];
  const problems: Diagnostic[] = [];
  const cancel = new AbortController();
  const note = (what: string, { privateBytes }: EphemeralHandleRequest): void =>
    void calls.push(`${what} ${text(privateBytes)} at ${scheduler.wallMs() - begin}`);
  const provider: Pick<LifecycleProvider, "renewEphemeral" | "closeEphemeral"> = {
    renewEphemeral: async (request) => {
      note("renew", request);
      return renew(request);
    },
    closeEphemeral: async (request, context) => {
      note("close", request);
      return close(request, context);
    },
  };
  const lease = new EphemeralSession({
    address: "ephemeral.a.b",
    type: "a",
    use: { provider } as unknown as ProviderInstance,
    reply: {
      privateBytes: bytes("p"),
      ...(renewInMs !== undefined && { renewAtMs: begin + renewInMs }),
    },
    clock: scheduler,
    onEvent: (event: RunEvent) => {
      if (event.type === "ephemeral") events.push(`${event.step} ${event.status}`);
    },
    report: (found) => void problems.push(...found),
    context: { signal: cancel.signal },
  });
  const renewAt = (inMs: number) => ({ ...OK, renewAtMs: scheduler.wallMs() + inMs });
  return { lease, scheduler, calls, events, problems, cancel, renewAt };
}

describe("a lease", () => {
  it("is closed with what it was opened with, once", async () => {
    const { lease, scheduler, calls, events } = lend(undefined, {});
    await scheduler.pass(MINUTE);
    await scheduler.run(Promise.all([lease.close(), lease.close()]));
    await lease.close();
    expect(calls).toEqual(["close p at 60000"]);
    expect(events).toEqual(["close start", "close done"]);
  });

  it("is renewed when its provider wants it, again and again, with what the provider said last", async () => {
    const lent = lend(MINUTE, {
      renew: async ({ privateBytes }) =>
        Promise.resolve({ ...lent.renewAt(MINUTE), privateBytes: bytes(`${text(privateBytes)}+`) }),
    });
    await lent.scheduler.pass(3.5 * MINUTE);
    await lent.scheduler.run(lent.lease.close());
    await lent.scheduler.pass(10 * MINUTE);
    expect(lent.calls).toEqual([
      "renew p at 60000",
      "renew p+ at 120000",
      "renew p++ at 180000",
      "close p+++ at 210000",
    ]);
  });

  it("is renewed once where the provider wants no more", async () => {
    const { lease, scheduler, calls } = lend(MINUTE, {});
    await scheduler.pass(10 * MINUTE);
    await scheduler.run(lease.close());
    expect(calls).toEqual(["renew p at 60000", "close p at 600000"]);
  });

  it("is renewed at once where that is due, and not without a pause afterwards", async () => {
    const lent = lend(-MINUTE, { renew: async () => Promise.resolve(lent.renewAt(-MINUTE)) });
    await lent.scheduler.pass(2_500);
    await lent.scheduler.run(lent.lease.close());
    expect(lent.calls).toEqual([
      "renew p at 0",
      "renew p at 1000",
      "renew p at 2000",
      "close p at 2500",
    ]);
  });

  it("waits longer than a timer can", async () => {
    const day = 24 * 60 * MINUTE;
    const { lease, scheduler, calls } = lend(60 * day, {});
    await scheduler.pass(59 * day);
    expect(calls).toEqual([]);
    await scheduler.pass(2 * day);
    await scheduler.run(lease.close());
    expect(calls).toEqual([`renew p at ${60 * day}`, `close p at ${61 * day}`]);
  });

  it("is an error that cannot be renewed, is not renewed again, and is closed all the same", async () => {
    const { lease, scheduler, calls, events, problems } = lend(MINUTE, {
      renew: async () =>
        Promise.resolve({ diagnostics: [{ severity: "error", summary: "gone", detail: "" }] }),
    });
    await scheduler.pass(10 * MINUTE);
    await scheduler.run(lease.close());
    expect(calls).toEqual(["renew p at 60000", "close p at 600000"]);
    expect(events).toEqual(["renew start", "renew failed", "close start", "close done"]);
    expect(problems.map(({ summary, address }) => `${address}: ${summary}`)).toEqual([
      "ephemeral.a.b: gone",
    ]);
  });

  it("is closed after the renewal in progress, with its result", async () => {
    const answer = Promise.withResolvers<RenewReply>();
    const { lease, scheduler, calls } = lend(MINUTE, { renew: async () => answer.promise });
    await scheduler.pass(MINUTE);
    const closed = lease.close();
    await scheduler.pass(MINUTE);
    expect(calls).toEqual(["renew p at 60000"]);
    answer.resolve({ ...OK, privateBytes: bytes("q"), renewAtMs: 0 });
    await scheduler.run(closed);
    await scheduler.pass(10 * MINUTE);
    expect(calls).toEqual(["renew p at 60000", "close q at 120000"]);
  });

  it("says what went wrong with closing, and does not reject", async () => {
    const { lease, scheduler, problems } = lend(undefined, {
      close: async () => Promise.reject(new Error("the process is gone")),
    });
    await scheduler.run(lease.close());
    expect(problems.map(({ detail }) => detail)).toEqual(["ephemeral.a.b: the process is gone"]);
  });

  it("is not waited for endlessly once the run was canceled", async () => {
    const { lease, scheduler, problems, cancel } = lend(undefined, {
      close: async (_request, { signal }) => {
        const ended = Promise.withResolvers<Reply>();
        signal?.addEventListener("abort", () => ended.reject(signal.reason), { once: true });
        return ended.promise;
      },
    });
    const closed = lease.close();
    await scheduler.pass(10 * MINUTE);
    expect(problems).toEqual([]);
    cancel.abort();
    await scheduler.run(closed);
    expect(problems.map(({ detail }) => detail)).toEqual(["ephemeral.a.b: the run was canceled"]);
    expect(scheduler.monotonicMs()).toBe(10 * MINUTE + 5_000);
  });
});
