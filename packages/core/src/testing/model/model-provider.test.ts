import { systemClock } from "@stackwright/base/clock";
import { Type, Value } from "@stackwright/cty";
import { emptyObject } from "@stackwright/mux/router";
import { describeLifecycleProvider, type LifecycleSample } from "@stackwright/mux/testing";
import { describe, expect, it } from "vitest";
import { createVirtualScheduler } from "../virtual-scheduler.ts";
import { calmCloud, ModelCloud } from "./model-cloud.ts";
import { createModelProvider } from "./model-provider.ts";
import { MODEL_SCHEMA, MODEL_TYPES } from "./model-schema.ts";

for (const type of MODEL_TYPES) {
  const config = {
    name: Value.string("web"),
    size: Value.number(1),
    secret: Value.string("hunter2"),
    links: Value.list([Value.string("a")]),
  };
  const sample: LifecycleSample = {
    type,
    config,
    changed: { ...config, size: Value.number(2) },
    replaced: { ...config, kind: Value.string("large") },
    importable: true,
  };
  const create = async () => {
    const scheduler = systemClock;
    const provider = createModelProvider({ cloud: new ModelCloud(), scheduler });
    return { provider, [Symbol.asyncDispose]: () => provider.close() };
  };
  describeLifecycleProvider(`the model provider: ${type}`, create, sample);
}

describe("the model cloud", () => {
  const thing = MODEL_SCHEMA.resources.get("model_thing");
  const none = Value.null(Value.object({}).type);
  const createRequest = () => {
    if (thing === undefined) throw new Error("no schema");
    const empty = new Map(emptyObject(thing.block).entries());
    const planned = Value.object([
      ...empty,
      ["name", Value.string("a")],
      ["id", Value.unknown(Type.string)],
    ]);
    const operation = { operationId: "op-1", epoch: 3n };
    return { type: "model_thing", prior: none, config: planned, planned, operation };
  };

  it("keeps what a lost call made, with who made it", async () => {
    const scheduler = createVirtualScheduler();
    const cloud = new ModelCloud({ ...calmCloud(), delayMs: () => 10, fault: () => "lost" });
    const provider = createModelProvider({ cloud, scheduler });
    const call = provider.apply({ ...createRequest(), plannedPrivate: new Uint8Array() }, {});
    await expect(scheduler.run(call)).rejects.toThrow("lost");
    expect([...cloud.objects.values()]).toMatchObject([{ type: "model_thing", createdBy: "op-1" }]);
    expect(scheduler.monotonicMs()).toBe(20);
    expect(cloud.calls).toMatchObject([
      { method: "create", operationId: "op-1", epoch: 3n, applied: true },
    ]);
  });

  it("does nothing more for a process that is gone", async () => {
    const scheduler = createVirtualScheduler();
    const cloud = new ModelCloud({ ...calmCloud(), delayMs: () => 10 });
    const life = new AbortController();
    const provider = createModelProvider({ cloud, scheduler, process: life.signal });
    scheduler.after(5, () => life.abort());
    const call = provider.apply({ ...createRequest(), plannedPrivate: new Uint8Array() }, {});
    await expect(scheduler.run(call)).rejects.toThrow("gone");
    expect(cloud.objects.size).toBe(0);
    expect(cloud.calls[0]?.endedAt).toBeUndefined();
  });

  it("says when nothing can happen any more", async () => {
    const scheduler = createVirtualScheduler();
    await expect(scheduler.run(new Promise(() => undefined))).rejects.toThrow(
      "nothing is scheduled",
    );
  });
});
