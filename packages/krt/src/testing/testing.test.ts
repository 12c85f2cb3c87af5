import { describe, expect, it } from "vitest";
import { byLabels, createRuntime, partial, type TransformationContext } from "../index.ts";
import { createTestContext, ManualScheduler, trackEvents } from "./index.ts";
import { pod, podSource } from "./scenarios/fixtures.ts";

describe("test context", () => {
  it("reads what is there and reports what was fetched", () => {
    const rt = createRuntime();
    const pods = podSource(rt, [pod("a", "1", { app: "x" }), pod("b", "2")]);
    const ipOf = partial((one: { ip: string }) => one.ip);
    const transformation = (ctx: TransformationContext) => ({
      all: ctx.fetch(pods).length,
      one: ctx.fetchOne(pods, byLabels({ app: "x" }))?.name,
      ips: ctx.fetchPartial(pods, ipOf),
    });
    const ctx = createTestContext();
    expect(transformation(ctx)).toEqual({ all: 2, one: "a", ips: ["1", "2"] });
    expect(ctx.fetches).toEqual([
      { collection: "Pods", filters: "", matches: 2 },
      { collection: "Pods", filters: "labels app=x", matches: 1 },
      { collection: "Pods", filters: "", matches: 2 },
    ]);
    expect(ctx.discarded).toBe(false);
    ctx.discard();
    expect(ctx.discarded).toBe(true);
    expect(ctx.signal.aborted).toBe(false);
    expect(() => ctx.fetchOne(pods)).toThrow(expect.objectContaining({ code: "KRT_NOT_ONE" }));
    expect(() => ctx.scope()).toThrow(expect.objectContaining({ code: "KRT_CONTEXT" }));
    expect(createTestContext(rt).scope().source(["x"]).size).toBe(1);
  });
});

describe("manual scheduler", () => {
  it("runs microtasks first, then one macrotask, and timers when their time has come", () => {
    const scheduler = new ManualScheduler();
    const ran: string[] = [];
    scheduler.macrotask(() => ran.push("macro1"));
    scheduler.macrotask(() => ran.push("macro2"));
    scheduler.microtask(() => ran.push("micro"));
    expect(scheduler.step()).toBe(true);
    expect(ran).toEqual(["micro", "macro1"]);
    scheduler.run();
    expect([ran.at(-1), scheduler.isIdle, scheduler.step()]).toEqual(["macro2", true, false]);
    const cancel = scheduler.delay(10, () => ran.push("never"));
    scheduler.delay(20, () => ran.push("late"));
    scheduler.delay(5, () => {
      ran.push("early");
      cancel();
    });
    scheduler.advance(4);
    expect(ran.length).toBe(3);
    scheduler.advance(30);
    expect(ran.slice(3)).toEqual(["early", "late"]);
    expect(scheduler.now()).toBe(34);
  });

  it("delivers nothing before it is asked to", () => {
    const scheduler = new ManualScheduler();
    const rt = createRuntime({ scheduler });
    const source = rt.source<string>();
    const tracker = trackEvents(source);
    source.set("a");
    expect([source.size, tracker.events.length]).toEqual([1, 0]);
    scheduler.run();
    expect(tracker.takeSorted()).toEqual(["add/a"]);
  });
});

describe("audits at an interval", () => {
  it("run between turns, and end with the runtime", () => {
    const scheduler = new ManualScheduler();
    const found: string[] = [];
    const rt = createRuntime({
      scheduler,
      audit: { everyMs: 100, sample: 5 },
      onError: (error) => found.push(error.code),
    });
    let hidden = 1;
    rt.derive(rt.source(["a"]), (_, key) => ({ key, hidden }));
    hidden = 2;
    scheduler.advance(250);
    expect(found).toEqual(["KRT_STRICT_STALE", "KRT_STRICT_STALE"]);
    rt.dispose();
    scheduler.advance(1000);
    expect(found.length).toBe(2);
  });

  it("take a sample of many inputs", () => {
    let seed = 11;
    const scheduler = Object.assign(new ManualScheduler(), {
      random: () => (seed = (seed * 48271) % 2147483647) / 2147483647,
    });
    const rt = createRuntime({ scheduler, onError: () => {} });
    let hidden = 1;
    rt.derive(rt.source(Array.from({ length: 1000 }, (_, i) => i)), (_, i) => ({
      key: `${i}`,
      hidden,
    }));
    rt.source(["other"]);
    hidden = 2;
    const findings = rt.audit({ sample: 20 });
    expect(findings.length).toBe(20);
    expect(new Set(findings.map(({ input }) => input)).size).toBe(20);
  });
});
