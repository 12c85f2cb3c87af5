import { expect, it } from "vitest";
import { unimplementedProvider } from "../unimplemented-provider.ts";
import { deferProvider } from "./defer-provider.ts";

function counted(fails = false) {
  const counts = { starts: 0, cancels: 0, closes: 0 };
  const signals: (AbortSignal | undefined)[] = [];
  const deferred = deferProvider(async ({ signal }) => {
    counts.starts += 1;
    signals.push(signal);
    if (fails) throw new Error("it does not start");
    return Promise.resolve({
      provider: {
        ...unimplementedProvider(),
        getPluginInfo: async () => Promise.resolve({ version: "1.0.0" }),
        cancel: async () => {
          counts.cancels += 1;
          return Promise.resolve({});
        },
      },
      close: async () => {
        counts.closes += 1;
        return Promise.resolve();
      },
    });
  });
  return { counts, signals, deferred, provider: deferred.provider };
}

it("is started once, by the first calls that it has to answer", async () => {
  const { counts, signals, provider, deferred } = counted();
  expect(await provider.cancel({}, {})).toEqual({});
  expect(counts).toEqual({ starts: 0, cancels: 0, closes: 0 });
  const { signal } = new AbortController();
  const asked = [provider.getPluginInfo({}, { signal }), provider.getPluginInfo({}, {})];
  expect(await Promise.all(asked)).toEqual([{ version: "1.0.0" }, { version: "1.0.0" }]);
  expect(signals).toEqual([signal]);
  await provider.cancel({}, {});
  await deferred.close();
  expect(counts).toEqual({ starts: 1, cancels: 1, closes: 1 });
});

it("starts nothing when it is closed, and nothing after that", async () => {
  const { counts, provider, deferred } = counted();
  await deferred.close();
  await expect(provider.getPluginInfo({}, {})).rejects.toMatchObject({ code: "MUX_CLOSED" });
  expect(counts).toEqual({ starts: 0, cancels: 0, closes: 0 });
});

it("ends what is still starting when it is closed", async () => {
  const { counts, provider, deferred } = counted();
  const asked = provider.getPluginInfo({}, {});
  await deferred.close();
  expect(counts).toMatchObject({ starts: 1, closes: 1 });
  await asked;
});

it("does not try again what failed to start", async () => {
  const { counts, provider, deferred } = counted(true);
  await expect(provider.getPluginInfo({}, {})).rejects.toThrow("it does not start");
  await expect(provider.getPluginInfo({}, {})).rejects.toThrow("it does not start");
  await deferred.close();
  expect(counts.starts).toBe(1);
});
