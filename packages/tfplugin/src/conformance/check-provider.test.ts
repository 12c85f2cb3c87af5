import {
  computed,
  createProvider,
  defineDataSource,
  defineResource,
  optional,
  required,
  types,
} from "@stackwright/mux/kit";
import type { LifecycleProvider } from "@stackwright/mux/router";
import { describe, expect, it } from "vitest";
import { createPluginClient } from "../client/plugin-client.ts";
import { launchTerraformProvider } from "../launch/launch-provider.ts";
import { program } from "../testing/programs/programs.ts";
import { checkProvider } from "./check-provider.ts";
import type { ConformanceReport } from "./check-report.ts";
import { type ProviderSamples, parseSamples } from "./samples.ts";

/** What failed, in one text. */
function failures({ checks }: ConformanceReport): string {
  return checks
    .filter(({ outcome }) => outcome === "failed")
    .map(({ subject, name, findings }) => {
      const texts = findings.map(({ severity, text }) => `  ${severity}: ${text}`);
      return [`${subject}: ${name}`, ...texts].join("\n");
    })
    .join("\n");
}

const SAMPLE = { config: { name: "a" }, update: { name: "b" }, import: "id" };

/** A provider whose only resource keeps its objects in memory, changed by a test. */
function memoryProvider(
  change: (definition: Parameters<typeof defineResource>[0]) => object = () => ({}),
): () => LifecycleProvider {
  const objects = new Map<string, { name: string; seen: number }>();
  let last = 0;
  const definition = {
    attributes: {
      id: computed(types.string, { stable: true }),
      name: optional(types.string),
      hidden: optional(types.string, { sensitive: true }),
      shown: computed(types.string, { stable: true }),
      seen: computed(types.number, { stable: true }),
    },
    create: ({ name }: { name?: unknown }) => {
      last += 1;
      objects.set(String(last), { name: String(name), seen: 0 });
      return { id: String(last), seen: 0 };
    },
    read: ({ id }: { id: unknown }) => objects.get(String(id)) && {},
    update: () => ({}),
    delete: ({ id }: { id: unknown }) => void objects.delete(String(id)),
    import: (id: string) => {
      const found = objects.get(id);
      return found && { id, name: "b", seen: 0 };
    },
  };
  const resource = { ...definition, ...change(definition) };
  return () =>
    createProvider(
      {
        config: {},
        configure: () => undefined,
        resources: { memory_thing: defineResource(resource as never) },
      },
      { onFault: () => undefined },
    );
}

async function check(create: () => LifecycleProvider, sample: object = SAMPLE) {
  return checkProvider({
    open: async () => create(),
    samples: { resources: { memory_thing: sample } } as ProviderSamples,
    callTimeoutMs: 500,
  });
}

describe("checkProvider", () => {
  it("finds nothing wrong with a sound provider", async () => {
    const sample = { ...SAMPLE, importIgnores: ["name"] };
    const report = await check(memoryProvider(), sample);
    expect(failures(report)).toBe("");
    expect(report.warnings).toBe(0);
  });

  it.each([
    ["a read that changes something", { read: () => ({ seen: 7 }) }, "seen: what is read differs"],
    ["a random plan", { plan: randomPlan }, "seen: a second plan of the same differs"],
    ["a create that throws", { create: explode }, "create of memory_thing failed"],
    ["a read that throws", { read: explode }, "read of memory_thing failed"],
    ["an update that throws", { update: explode }, "update of memory_thing failed"],
    ["a delete that throws", { delete: explode }, "the object of the sample was not deleted"],
    ["a delete that deletes nothing", { delete: () => undefined }, "a read still finds it"],
    ["an import that finds nothing", { import: () => undefined }, "import"],
    ["a validation that does not take unknown values", { validate: strict }, "A name is needed"],
    ["a read that does not answer", { read: forever }, "read was not answered within 0.5 s"],
  ])("finds %s", async (_what, change, expected) => {
    const report = await check(memoryProvider(() => change));
    expect(failures(report)).toContain(expected);
  });

  it("finds secrets in what is not secret, without saying them", async () => {
    const create = memoryProvider(() => ({
      create: ({ hidden }: { hidden: string }) => ({ id: "1", seen: 0, shown: `<${hidden}>` }),
      read: () => ({}),
      delete: () => undefined,
      import: () => undefined,
    }));
    const config = { name: "a", hidden: "hunter2-hunter2" };
    const report = await check(create, { config, observable: false });
    expect(failures(report)).toContain(".shown: it has a secret of the configuration");
    expect(JSON.stringify(report)).not.toContain("hunter2");
  });

  it("checks data sources and the schema", async () => {
    let reads = 0;
    const provider = () =>
      createProvider({
        config: {},
        configure: () => undefined,
        resources: {},
        dataSources: {
          memory_count: defineDataSource({
            attributes: { count: required(types.number), reads: computed(types.number) },
            read: () => {
              reads += 1;
              return { reads };
            },
          }),
        },
      });
    const samples = { dataSources: { memory_count: { count: 1 } } };
    const report = await checkProvider({ open: async () => provider(), samples });
    expect(failures(report)).toContain("data source memory_count.count: the language has this");
    expect(failures(report)).toContain("a second read differs from the first");
  });
});

describe("programs that misbehave", { timeout: 60_000 }, () => {
  const checkFaulty = async (
    fault: { readonly fault?: string; readonly plan_fault?: string },
    args: readonly string[] = [],
    callTimeoutMs = 3000,
  ) =>
    checkProvider({
      open: async ({ signal }) => {
        const launched = await launchTerraformProvider({
          ...program("faulty-provider.ts", ...args),
          signal,
          maxMessageBytes: 1024 * 1024,
          onLog: () => undefined,
        });
        return createPluginClient(launched.transport);
      },
      samples: {
        resources: {
          fault_thing: { config: { fault: "", plan_fault: "", ...fault }, observable: false },
        },
      },
      callTimeoutMs,
    });

  it.each([
    ["dies in a create", { fault: "die" }, "creates what it planned"],
    ["dies in a plan", { plan_fault: "die" }, "plans the same create twice"],
    ["never answers a plan", { plan_fault: "hang" }, "was not answered within 3 s"],
    ["answers with bytes that mean nothing", { fault: "garble" }, "creates what it planned"],
  ])("reports one that %s, and goes on with another process", async (_what, fault, expected) => {
    const report = await checkFaulty(fault);
    expect(failures(report)).toContain(expected);
    const last = report.checks.at(-1);
    expect(last).toMatchObject({ subject: "provider", outcome: "passed" });
  });

  it("reports a schema that is too large", async () => {
    const report = await checkFaulty({}, ["huge-schema"], 30_000);
    expect(report.checks).toHaveLength(1);
    expect(failures(report)).toMatch(/larger|too large|limit|max/i);
  });

  it("ends where it is cancelled", async () => {
    const controller = new AbortController();
    const checking = checkProvider({
      open: async () => {
        controller.abort(new Error("given up"));
        return memoryProvider()();
      },
      signal: controller.signal,
    });
    await expect(checking).rejects.toThrow("given up");
  });
});

describe("samples", () => {
  it.each([
    [[], "samples: it must be an object"],
    [{ resource: {} }, '"resource" is no member'],
    [{ resources: { a: {} } }, 'samples.resources.a: it needs a "config"'],
    [{ resources: { a: { config: {}, import: 1 } } }, "a.import: it has the wrong type"],
    [{ resources: { a: { config: {}, importIgnores: [1] } } }, "importIgnores: it has the wrong"],
    [{ functions: { f: {} } }, 'samples.functions.f: it needs "arguments"'],
    [{ dataSources: 3 }, "samples.dataSources: it must be an object"],
  ])("that make no sense are refused: %j", (json, expected) => {
    expect(() => parseSamples(json as never, "file.json")).toThrow(expected);
  });
});

function randomPlan({ set }: { set: (outcome: object) => void }): void {
  set({ seen: Math.trunc(performance.now() * 1e6) });
}

function explode(): never {
  throw new Error("boom");
}

function strict({ name }: { name?: unknown }) {
  return name === undefined
    ? [{ severity: "error", summary: "No name", detail: "A name is needed." }]
    : [];
}

function forever(): Promise<never> {
  return new Promise(() => undefined);
}
