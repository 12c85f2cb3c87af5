import { EMPTY_BUNDLE } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "../../configuration/configuration.ts";
import { createEngine } from "../../engine.ts";
import type { RunEvent } from "../../events.ts";
import { inProcessOrigin } from "../../providers/builtin-origin.ts";
import { createTestState } from "../state-fixture.ts";
import { createVirtualScheduler } from "../virtual-scheduler.ts";
import { createMockProvider, MockCloud } from "./mock-provider.ts";

const TEXT = `
  terraform {
    required_providers {
      mock = { source = "test.local/conf/mock" }
    }
  }
  ephemeral "mock_lease" "l" {
    name     = "l"
    renew_ms = 3000
  }
  resource "mock_thing" "a" {
    name          = "a"
    token_wo      = ephemeral.mock_lease.l.secret
    token_version = 1
  }
`;

/** A plan of {@link TEXT}, ready to be applied, with what the cloud was asked so far forgotten. */
async function planned(virtual = createVirtualScheduler()) {
  const cloud = new MockCloud();
  cloud.now = () => virtual.wallMs();
  const { state } = createTestState();
  const engine = createEngine({
    clock: virtual,
    origins: [inProcessOrigin("mock", { "test.local/conf/mock": () => createMockProvider(cloud) })],
  });
  const configuration = await loadConfiguration({
    ...EMPTY_BUNDLE,
    names: () => ["main.tf"],
    read: () => new TextEncoder().encode(TEXT),
  });
  const given = { state, configuration, variables: new Map() };
  const { plan } = await engine.plan(given);
  if (plan === undefined) throw new Error("there is no plan");
  cloud.calls.length = 0;
  const events: string[] = [];
  const onEvent = (event: RunEvent): void => {
    if (event.type === "ephemeral") events.push(`${event.step} ${event.status}`);
    if (event.type === "start" || event.type === "end")
      events.push(`${event.type} ${event.address}`);
  };
  const entered = Promise.withResolvers<void>();
  return { cloud, engine, virtual, events, entered, request: { ...given, plan, onEvent } };
}

it("renews what is open as long as a step that needs it is in progress", async () => {
  const { cloud, engine, virtual, events, request } = await planned();
  cloud.beforeApply = async () =>
    new Promise((resolve) => {
      virtual.after(10_000, resolve);
    });
  const { status } = await virtual.run(engine.apply(request));
  expect(status).toBe("applied");
  expect(cloud.calls).toEqual(["open l", "renew l", "renew l", "renew l", "create a", "close l"]);
  expect(events).toEqual([
    "open start",
    "open done",
    "start mock_thing.a",
    ...Array.from({ length: 3 }, () => ["renew start", "renew done"]).flat(),
    "end mock_thing.a",
    "close start",
    "close done",
  ]);
});

it("closes what is open after a run that was cancelled", async () => {
  const { cloud, engine, entered, request } = await planned();
  const cancel = new AbortController();
  const go = Promise.withResolvers<void>();
  cloud.beforeApply = async () => {
    entered.resolve();
    await go.promise;
  };
  const result = engine.apply({ ...request, signal: cancel.signal });
  await entered.promise;
  cancel.abort();
  expect([...cloud.leases]).toEqual(["l"]);
  go.resolve();
  expect((await result).status).toBe("applied");
  expect(cloud.calls).toEqual(["open l", "create a", "close l"]);
});

it("closes what is open although nothing is waited for any more", async () => {
  const { cloud, engine, entered, request } = await planned();
  const force = new AbortController();
  cloud.beforeApply = async (_name, signal) => {
    entered.resolve();
    const given = Promise.withResolvers<void>();
    signal?.addEventListener("abort", () => given.reject(signal.reason), { once: true });
    await given.promise;
  };
  const result = engine.apply({ ...request, forceSignal: force.signal });
  await entered.promise;
  force.abort(new Error("now"));
  expect((await result).status).toBe("canceled");
  expect(cloud.calls).toEqual(["open l", "close l"]);
  expect([...cloud.leases]).toEqual([]);
});

it("closes what is open where a run that was interrupted is gone on with", async () => {
  const { cloud, engine, entered, request } = await planned();
  const force = new AbortController();
  cloud.afterApply = async (_name, signal) => {
    entered.resolve();
    const given = Promise.withResolvers<void>();
    signal?.addEventListener("abort", () => given.reject(signal.reason), { once: true });
    await given.promise;
  };
  const first = engine.apply({ ...request, forceSignal: force.signal });
  await entered.promise;
  force.abort(new Error("now"));
  expect((await first).status).toBe("canceled");
  cloud.afterApply = undefined;
  const again = await engine.plan(request);
  expect(again.recovered.map(({ address }) => address)).toEqual(["mock_thing.a"]);
  expect([...cloud.leases]).toEqual([]);
});
