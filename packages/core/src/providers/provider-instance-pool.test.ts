import { getAttribute, Type, Value } from "@stackwright/cty";
import type {
  ConfigureRequest,
  LifecycleProvider,
  ProviderReference,
} from "@stackwright/mux/router";
import { ProviderAddress, VersionConstraints } from "@stackwright/provider-source";
import { createBuiltinProvider } from "@stackwright/tfplugin/builtin";
import { describe, expect, it } from "vitest";
import type { OpenedProvider, ProviderOrigin } from "./catalog.ts";
import { ProviderInstancePool } from "./provider-instance-pool.ts";

const SOURCE = "example.com/acme/mock";

const configuration = (region: string, deferralAllowed = false): ConfigureRequest => ({
  config: Value.object({ region: Value.string(region) }),
  engineVersion: "1.11.4",
  deferralAllowed,
});

/** An origin that notes what is done with what it opens. */
function setUp() {
  const timers = new Set<() => void>();
  const log: string[] = [];
  const dead = new Set<string>();
  const held = Promise.withResolvers<void>();
  let next = 1;
  const origin: ProviderOrigin = {
    name: "mock",
    handles: () => true,
    select: async () => Promise.resolve(""),
    async open() {
      const id = `p${next++}`;
      log.push(`start ${id}`);
      const watched = new Proxy(createBuiltinProvider({ readTfvars: () => new Map() }), {
        get(target, name) {
          const member: unknown = Reflect.get(target, name, target);
          if (name === "configure") {
            return async ({ config }: ConfigureRequest) => {
              const region = getAttribute(config, "region").asString();
              log.push(`configure ${id} ${region}`);
              const severity = region === "bad" ? "error" : "warning";
              return { diagnostics: [{ severity, summary: region, detail: "", path: undefined }] };
            };
          }
          if (name === "close") return async () => void log.push(`end ${id}`);
          if (name === "callFunction") {
            return async ({ name: called }: { readonly name: string }) => {
              if (called === "fail") throw new Error("no answer");
              if (called === "hang") await held.promise;
              return { result: Value.true };
            };
          }
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
      const check = async (): Promise<void> => {
        if (dead.has(id)) throw new Error("it has ended");
      };
      const opened: OpenedProvider = { name: SOURCE, provider: watched, check };
      return Promise.resolve([opened] as const);
    },
  };
  const kept = new ProviderInstancePool({
    clock: {
      after: (_delayMs, callback) => {
        timers.add(callback);
        return { [Symbol.dispose]: () => void timers.delete(callback) };
      },
    },
  });
  const keeping = kept.keep(origin);
  const open = async (alias = "", version = "1.0.0"): Promise<LifecycleProvider> => {
    const reference: ProviderReference = { source: SOURCE, version, alias };
    const [{ provider }] = await keeping.open(reference);
    return provider;
  };
  const call = async (provider: LifecycleProvider, name: string) =>
    provider.callFunction({ name, arguments: [] }, {});
  return { log, timers, dead, held, kept, keeping, open, call };
}

describe("providers that are kept", () => {
  it("are started and configured once for all who want the same", async () => {
    const { log, kept, open } = setUp();
    for (let phase = 0; phase < 3; phase += 1) {
      const provider = await open();
      const { diagnostics } = await provider.configure(configuration("north"), {});
      // What it said about its configuration is said each time.
      expect(diagnostics.map(({ summary }) => summary)).toEqual(["north"]);
      await provider.close();
    }
    await kept[Symbol.asyncDispose]();
    expect(log).toEqual(["start p1", "configure p1 north", "end p1"]);
  });

  it("are handed over where the first only read the schema", async () => {
    const { log, kept, open } = setUp();
    const looking = await open();
    await looking.schema({});
    await looking.close();
    const working = await open("west");
    await working.configure(configuration("west"), {});
    await working.close();
    await kept[Symbol.asyncDispose]();
    expect(log).toEqual(["start p1", "configure p1 west", "end p1"]);
  });

  it("are several at the same time, and each comes back to its alias", async () => {
    const { log, kept, open } = setUp();
    for (let phase = 0; phase < 2; phase += 1) {
      const aliases = ["", "west", "east"];
      const providers = await Promise.all(aliases.map(async (alias) => open(alias)));
      for (const [at, provider] of providers.entries()) {
        await provider.configure(configuration(aliases[at] ?? ""), {});
      }
      await Promise.all(providers.map(async (provider) => provider.close()));
    }
    await kept[Symbol.asyncDispose]();
    expect(log.filter((line) => line.startsWith("start"))).toHaveLength(3);
    expect(log.filter((line) => line.startsWith("configure"))).toHaveLength(3);
    expect(log.filter((line) => line.startsWith("end"))).toHaveLength(3);
  });

  it("are never configured twice: another configuration gets another one", async () => {
    const { log, kept, open } = setUp();
    const first = await open();
    await first.configure(configuration("north", true), {});
    await first.close();
    const second = await open();
    await second.configure(configuration("north", false), {});
    await second.close();
    const third = await open();
    await third.configure(configuration("north", true), {});
    await third.close();
    await kept[Symbol.asyncDispose]();
    expect(log).toEqual([
      "start p1",
      "configure p1 north",
      "start p2",
      "configure p2 north",
      "end p2",
      "end p1",
    ]);
  });

  it("distinguish configurations by value, unknown parts and type", async () => {
    const { log, kept, open } = setUp();
    const unknown = {
      ...configuration("x"),
      config: Value.unknown(Type.object({ region: Type.string })),
    };
    for (const request of [configuration("a"), configuration("b"), configuration("a")]) {
      const provider = await open();
      await provider.configure(request, {});
      await provider.close();
    }
    const provider = await open();
    await expect(provider.configure(unknown, {})).rejects.toThrow();
    await provider.close();
    await kept[Symbol.asyncDispose]();
    expect(log.filter((line) => line.startsWith("configure"))).toEqual([
      "configure p1 a",
      "configure p2 b",
    ]);
  });

  it.each([
    [
      "rejected a call",
      async (provider: LifecycleProvider) => {
        await expect(provider.callFunction({ name: "fail", arguments: [] }, {})).rejects.toThrow(
          "no answer",
        );
      },
    ],
    ["was told to stop", async (provider: LifecycleProvider) => provider.stop({})],
    [
      "refused its configuration",
      async (provider: LifecycleProvider) => {
        await provider.configure(configuration("bad"), {});
      },
    ],
  ])("do not outlive one that %s", async (_what, spoil) => {
    const { log, kept, open } = setUp();
    const provider = await open();
    await spoil(provider);
    await provider.close();
    expect(log).toContain("end p1");
    await (await open()).close();
    await kept[Symbol.asyncDispose]();
    expect(log).toContain("start p2");
  });

  it("end with calls that are still in progress when they are released", async () => {
    const { log, kept, open, call, held } = setUp();
    const provider = await open();
    const pending = call(provider, "hang");
    await provider.close();
    expect(log).toEqual(["start p1", "end p1"]);
    held.resolve();
    await pending;
    await expect(call(provider, "ok")).rejects.toMatchObject({
      code: "ENGINE_PROVIDER_UNAVAILABLE",
    });
    await kept[Symbol.asyncDispose]();
  });

  it("are checked before they are used again", async () => {
    const { log, kept, open, dead } = setUp();
    await (await open()).close();
    dead.add("p1");
    await (await open()).close();
    expect(log).toEqual(["start p1", "end p1", "start p2"]);
    await kept[Symbol.asyncDispose]();
  });

  it("are not shared between versions", async () => {
    const { log, kept, open } = setUp();
    await (await open("", "1.0.0")).close();
    await (await open("", "2.0.0")).close();
    await kept[Symbol.asyncDispose]();
    expect(log.filter((line) => line.startsWith("start"))).toHaveLength(2);
  });

  it("do not wait for ever", async () => {
    const { log, kept, open, timers } = setUp();
    await (await open()).close();
    const provider = await open();
    // Whoever is borrowed is not waiting.
    expect(timers.size).toBe(0);
    await provider.close();
    for (const fire of timers) fire();
    await kept[Symbol.asyncDispose]();
    expect(log).toEqual(["start p1", "end p1"]);
    expect(timers.size).toBe(0);
  });

  it("end when the last who has one gives it back, where that is after the end", async () => {
    const { log, kept, open } = setUp();
    const provider = await open();
    await kept[Symbol.asyncDispose]();
    expect(log).toEqual(["start p1"]);
    await provider.close();
    expect(log).toEqual(["start p1", "end p1"]);
  });

  it("say what their origin says", async () => {
    const { keeping } = setUp();
    const source = ProviderAddress.parse(SOURCE);
    expect(keeping.handles(source)).toBe(true);
    expect(await keeping.select({ address: source, constraints: VersionConstraints.any })).toBe("");
  });
});
