import { EMPTY_BUNDLE, resolveVariables } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { inProcessOrigin } from "../providers/builtin-origin.ts";
import { createMockProvider, MockCloud } from "../testing/conformance/mock-provider.ts";
import { createTestState } from "../testing/state-fixture.ts";

// Longer than what a hint has of a text.
const SECRET = `canary-41c9-${"x".repeat(100)}`;

/** A store, and an apply of things whose ids are their names; the call of each is followed by what is asked for. */
function setUp() {
  const cloud = new MockCloud();
  const { state, storage } = createTestState();
  const engine = createEngine({
    origins: [inProcessOrigin("mock", { "test.local/conf/mock": () => createMockProvider(cloud) })],
  });
  const given = async (thing: string) => {
    const text = `terraform {
  required_providers {
    mock = { source = "test.local/conf/mock" }
  }
}
variable "password" {
  default   = "${SECRET}"
  sensitive = true
}
resource "mock_named" "a" {
${thing}
}
`;
    const configuration = await loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(text),
    });
    const { values: variables } = resolveVariables(configuration.root.config.variables, []);
    return { state, configuration, variables, parallelism: 1 };
  };
  const apply = async (
    thing: string,
    afterCall: () => Promise<void>,
    forceSignal?: AbortSignal,
  ) => {
    const inputs = await given(thing);
    const { plan } = await engine.plan(inputs);
    if (plan === undefined) throw new Error("there is no plan");
    cloud.afterApply = afterCall;
    const force = forceSignal === undefined ? {} : { forceSignal };
    return (await engine.apply({ ...inputs, ...force, plan })).status;
  };
  /** Applies a thing until its call was made, and then nothing more is recorded; the next plan recovers it. */
  const applyInterrupted = async (thing: string) => {
    const force = new AbortController();
    const stopped = async (): Promise<void> => {
      force.abort(new Error("at once"));
      return Promise.reject(force.signal.reason as Error);
    };
    expect(await apply(thing, stopped, force.signal)).toBe("canceled");
    const pending = (await state.read()).objects.get("mock_named.a")?.phase;
    // The configuration of the next run may be another one: what was announced says what is secret.
    const { recovered } = await engine.plan(await given('name = "a"'));
    return [pending, ...recovered.map(({ outcome }) => outcome)];
  };
  const stored = async (): Promise<string> => {
    let all = "";
    await using snapshot = await storage.snapshot();
    for await (const { data } of snapshot) all += Buffer.from(data?.value ?? []).toString("latin1");
    return all;
  };
  return { state, apply, applyInterrupted, stored };
}

/** What is stored of a thing while its create is under way. */
async function whileCreating(thing: string): Promise<string> {
  const { apply, stored } = setUp();
  let seen = "";
  const status = await apply(thing, async () => {
    seen = await stored();
  });
  expect(status).toBe("applied");
  return seen;
}

it("what a created object can be found by is stored while the call is under way", async () => {
  const seen = await whileCreating('name = "plain-name"');
  expect(seen).toContain("Look for an object of type mock_named");
  expect(seen).toContain("plain-name");
});

it("a secret is not among it, also where the provider makes an id of it", async () => {
  const seen = await whileCreating("name = var.password");
  expect(seen).toContain("Look for an object of type mock_named");
  expect(seen).not.toContain("canary-41c9");
});

const noAnswer = async (): Promise<void> => Promise.reject(new Error("the connection was lost"));

it("the secrets of a created object whose answer was lost are encrypted", async () => {
  const { state, apply, stored } = setUp();
  await apply('name = "a"\nvalue = var.password', noAnswer);
  const { value } = (await state.read()).objects.get("mock_named.a") ?? {};
  expect(value?.json).toContain(SECRET);
  expect(value?.sensitive.map(String)).toContain(".value");
  expect(await stored()).not.toContain("canary-41c9");
});

it("the secrets of an updated object whose answer was lost are encrypted", async () => {
  const { state, apply, stored } = setUp();
  await apply('name = "a"\nvalue = "plain"', async () => Promise.resolve());
  await apply('name = "a"\nvalue = var.password', noAnswer);
  const { value } = (await state.read()).objects.get("mock_named.a") ?? {};
  expect(value?.json).toContain(SECRET);
  expect(await stored()).not.toContain("canary-41c9");
});

it("the secrets of a created object whose run was interrupted are encrypted", async () => {
  const { state, applyInterrupted, stored } = setUp();
  expect(await applyInterrupted('name = "a"\nvalue = var.password')).toEqual([
    "creating",
    "exists",
  ]);
  const { value } = (await state.read()).objects.get("mock_named.a") ?? {};
  expect(value?.json).toContain(SECRET);
  expect(value?.sensitive.map(String)).toContain(".value");
  expect(await stored()).not.toContain("canary-41c9");
});

it("the secrets of an updated object whose run was interrupted are encrypted", async () => {
  const { state, apply, applyInterrupted, stored } = setUp();
  await apply('name = "a"\nvalue = "plain"', async () => Promise.resolve());
  expect(await applyInterrupted('name = "a"\nvalue = var.password')).toEqual([
    "updating",
    "exists",
  ]);
  const { value } = (await state.read()).objects.get("mock_named.a") ?? {};
  expect(value?.json).toContain(SECRET);
  expect(value?.sensitive.map(String)).toContain(".value");
  expect(await stored()).not.toContain("canary-41c9");
});
