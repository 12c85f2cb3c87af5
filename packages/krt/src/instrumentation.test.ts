import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, it } from "vitest";
import { createRuntime } from "./index.ts";
import { type ChannelMessages, createChannels } from "./node/index.ts";

describe("instrumentation", () => {
  it("is called at fixed points of each turn", async () => {
    const calls: string[] = [];
    const rt = createRuntime({
      instrumentation: {
        turnStart: (turn) => calls.push(`turn ${turn}`),
        nodeStart: (node) => calls.push(`start ${node.name}`),
        nodeEnd: (node) => calls.push(`end ${node.name} ${node.events.count}`),
        turnEnd: (turn, nodes) => calls.push(`commit ${turn} ${nodes.map((n) => n.name).join()}`),
        deliver: ({ collection, events, turn }, call) => {
          calls.push(`deliver ${collection} ${events} ${turn}`);
          return call();
        },
      },
    });
    const source = rt.source<string>([], { name: "S" });
    const derived = rt.derive(source, (_, key) => key, { name: "D" });
    derived.subscribeBatch(() => void calls.push("handled"));
    await rt.settled();
    calls.length = 0;
    const turn = rt.version + 1;
    source.set("a");
    await rt.settled();
    expect(calls).toEqual([
      `turn ${turn}`,
      "start S",
      "end S 1",
      "start D",
      "end D 1",
      `commit ${turn} S,D`,
      `deliver D 1 ${turn}`,
      "handled",
    ]);
  });

  it("can be had on diagnostics channels", async () => {
    const seen: string[] = [];
    const listen = <N extends keyof ChannelMessages>(
      name: N,
      tell: (message: ChannelMessages[N]) => string,
    ) => {
      const listener = (message: unknown) => seen.push(tell(message as ChannelMessages[N]));
      subscribe(name, listener);
      return () => unsubscribe(name, listener);
    };
    const stops = [
      listen("krt.turn", ({ nodes }) => `turn ${nodes.length}`),
      listen("krt.process", ({ node }) => `process ${node.name}`),
      listen("krt.deliver", ({ events }) => `deliver ${events}`),
    ];
    const rt = createRuntime({ instrumentation: createChannels() });
    const source = rt.source<string>([], { name: "S" });
    source.subscribe(() => {});
    seen.length = 0;
    source.set("a");
    await rt.settled();
    expect(seen).toEqual(["process S", "turn 1", "deliver 1"]);
    for (const stop of stops) stop();
    source.set("b");
    await rt.settled();
    expect(seen.length).toBe(3);
  });
});

describe("an error handler that throws", () => {
  it("does not stop the turn, and its error is thrown where nothing can swallow it", async () => {
    const thrown: unknown[] = [];
    const macrotask = (run: () => void) => {
      try {
        run();
      } catch (error) {
        thrown.push(error);
      }
    };
    const scheduler = {
      now: () => 0,
      random: () => 0,
      microtask: queueMicrotask,
      macrotask,
      delay: () => () => {},
    };
    const rt = createRuntime({
      scheduler,
      onError: () => {
        throw new Error("handler of errors");
      },
    });
    const source = rt.source(["a", "b"]);
    const derived = rt.derive(source, (_, key) => {
      if (key === "a") throw new Error("a");
      return key;
    });
    expect(derived.list()).toEqual(["b"]);
    expect(thrown).toEqual([new Error("handler of errors")]);
    source.set("c");
    expect(derived.size).toBe(2);
    await rt.settled();
  });
});
