import { systemClock } from "@stackwright/base/clock";
import { Type, Value } from "@stackwright/cty";
import { EMPTY_BUNDLE, type ResourceConfig, resolveVariables } from "@stackwright/lang";
import type { LifecycleProvider } from "@stackwright/mux/router";
import { ProviderAddress } from "@stackwright/provider-source";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { inProcessOrigin } from "../providers/builtin-origin.ts";
import { createCatalog } from "../providers/catalog.ts";
import { createMockProvider, MockCloud } from "../testing/conformance/mock-provider.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { createPlan } from "./planner.ts";
import { ValidConfigs } from "./valid-configs.ts";

/** Plans resources of a provider that warns of the name "odd"; what it was asked about, and what was said of which instance. */
async function plan(resources: string) {
  const asked: string[] = [];
  const provider = () => ({
    ...createMockProvider(new MockCloud()),
    validateResource: async ({ config }: Parameters<LifecycleProvider["validateResource"]>[0]) => {
      const name = new Map(config.entries()).get("name")?.asString() ?? "";
      asked.push(name);
      const warning = { severity: "warning" as const, summary: "Odd", detail: "" };
      return Promise.resolve({ diagnostics: name === "odd" ? [warning] : [] });
    },
  });
  const text = `terraform {\n  required_providers {\n    mock = { source = "test.local/conf/mock" }\n  }\n}\n${resources}`;
  const configuration = await loadConfiguration({
    ...EMPTY_BUNDLE,
    names: () => ["main.tf"],
    read: () => new TextEncoder().encode(text),
  });
  const { values: variables } = resolveVariables(configuration.root.config.variables, []);
  const origins = [inProcessOrigin("mock", { "test.local/conf/mock": provider })];
  const catalog = createCatalog(origins, (source) => ProviderAddress.parse(source));
  const snapshot = await createTestState().state.read();
  const result = await createPlan({
    configuration,
    variables,
    catalog,
    clock: systemClock,
    stack: "s",
    sessionId: "x",
    snapshot,
  });
  return {
    asked: asked.toSorted(),
    warned: result.diagnostics.map(({ address = "" }) => address).toSorted(),
    changes: result.plan?.changes.length,
  };
}

describe("configurations that a provider has found valid", () => {
  it("are one question where instances have equal ones", async () => {
    const { asked, changes } = await plan(`
      resource "mock_thing" "a" {
        count = 20
        name  = "same"
      }
      resource "mock_thing" "b" { name = "same" }
    `);
    expect(asked).toEqual(["same", "same"]);
    expect(changes).toBe(21);
  });

  it("are a question for each instance that has its own", async () => {
    const { asked } = await plan(`
      resource "mock_thing" "a" {
        count = 3
        name  = "n\${count.index}"
      }
    `);
    expect(asked).toEqual(["n0", "n1", "n2"]);
  });

  it("are asked about again where something was said", async () => {
    const { asked, warned } = await plan(`
      resource "mock_thing" "a" {
        count = 3
        name  = "odd"
      }
    `);
    expect(asked).toEqual(["odd", "odd", "odd"]);
    expect(warned).toEqual(["mock_thing.a[0]", "mock_thing.a[1]", "mock_thing.a[2]"]);
  });

  it("have the answer that each question alone would have had", async () => {
    const resources = [{}, {}] as ResourceConfig[];
    const providers = [{}, {}] as LifecycleProvider[];
    const values = [
      Value.null(Type.string),
      Value.unknown(Type.string),
      Value.string("a"),
      Value.string("b"),
      Value.string("bad"),
      Value.string("lost"),
    ];
    const question = fc.record({
      resource: fc.nat({ max: 1 }),
      provider: fc.nat({ max: 1 }),
      value: fc.nat({ max: values.length - 1 }),
      turns: fc.nat({ max: 3 }),
      waits: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(question, { maxLength: 20 }), async (questions) => {
        const configs = new ValidConfigs();
        let calls = 0;
        /** What a provider says depends on it and the configuration alone; that of the second is another one. */
        const say = async (provider: number, value: number, turns: number) => {
          calls += 1;
          for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
          if (value === 5) throw new Error(`lost by ${provider}`);
          const summary = `bad for ${provider}`;
          const isBad = value === 4 || (provider === 1 && value === 2);
          const problem = { severity: "error" as const, summary, detail: "" };
          return { diagnostics: isBad ? [problem] : [] };
        };
        const told = async (ask: Promise<unknown>) => ask.catch((error: Error) => error.message);
        const found: Promise<unknown>[] = [];
        for (const { resource, provider, value, turns, waits } of questions) {
          const answer = configs.ask(
            resources[resource]!,
            providers[provider]!,
            values[value]!,
            async () => say(provider, value, turns),
          );
          found.push(told(answer));
          if (waits) await found.at(-1);
        }
        const answers = await Promise.all(found);
        expect(calls).toBeLessThanOrEqual(questions.length);
        const alone = questions.map(({ provider, value }) => told(say(provider, value, 0)));
        expect(answers).toEqual(await Promise.all(alone));
      }),
    );
  });
});
