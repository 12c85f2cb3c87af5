import { Mark, type Value } from "@stackwright/cty";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import { createTestState } from "../testing/state-fixture.ts";

/** Applies one configuration after the other; what became of `r` in each, and whether its `input` is secret. */
async function inTurn(...texts: readonly string[]) {
  const { state } = createTestState();
  const engine = createEngine({ origins: [builtinOrigin()] });
  const seen: (readonly [action: string | undefined, isSecret: boolean])[] = [];
  for (const text of texts) {
    const given = {
      state,
      configuration: await configured(text),
      variables: new Map<string, Value>(),
    };
    const { plan } = await engine.plan(given);
    if (plan === undefined) throw new Error("there is no plan");
    const { status } = await engine.apply({ ...given, plan });
    expect(status).toBe("applied");
    const [change] = plan.changes;
    const input = new Map(change?.after?.entries()).get("input");
    seen.push([change?.action, input?.hasMark(Mark.sensitive) === true]);
  }
  return seen;
}

async function configured(text: string) {
  return loadConfiguration({
    ...EMPTY_BUNDLE,
    names: () => ["main.tf"],
    read: () => new TextEncoder().encode(text),
  });
}

const resource = (input: string, ignored: string, more = ""): string => `
  resource "terraform_data" "r" {
    input            = ${input}
    triggers_replace = "t"
    ${more}
    lifecycle {
      ignore_changes = ${ignored}
    }
  }
`;

it.each(["[input]", "all"])("keeps secret what it ignores the change of (%s)", async (ignored) => {
  const secret = resource('sensitive("x")', "[]");
  // As the real command does it: nothing changes.
  expect(await inTurn(secret, resource("null", ignored), resource('"other"', ignored))).toEqual([
    ["create", true],
    ["no-op", true],
    ["no-op", true],
  ]);
});

it("keeps secret an ignored part of what was secret as a whole", async () => {
  const whole = resource('sensitive({ a = "x", b = "y" })', "[]");
  const { state } = createTestState();
  const engine = createEngine({ origins: [builtinOrigin()] });
  const part = resource('{ a = "z", b = "w" }', '[input["a"]]');
  let input: Value | undefined;
  for (const text of [whole, part]) {
    const given = { state, configuration: await configured(text), variables: new Map() };
    const { plan } = await engine.plan(given);
    if (plan === undefined) throw new Error("there is no plan");
    await engine.apply({ ...given, plan });
    input = new Map(plan.changes[0]?.after?.entries()).get("input");
  }
  const [plain] = input?.unmark() ?? [];
  const members = new Map(plain?.entries());
  const isSecret = (name: string) => members.get(name)?.hasMark(Mark.sensitive);
  expect([isSecret("a"), isSecret("b"), input?.hasMark(Mark.sensitive)]).toEqual([
    true,
    false,
    false,
  ]);
});

it("does not make secret what it ignores, and takes up what it does not ignore", async () => {
  expect(
    await inTurn(
      resource('"x"', "[]"),
      resource('sensitive("x")', "[input]"),
      resource('sensitive("x")', "[triggers_replace]"),
    ),
  ).toEqual([
    ["create", false],
    ["no-op", false],
    ["update", true],
  ]);
});

it("takes the secrets of the configuration where the object is made anew", async () => {
  const replaced = resource('"y"', "[input]").replace('"t"', '"u"');
  expect(await inTurn(resource('sensitive("x")', "[]"), replaced)).toEqual([
    ["create", true],
    ["replace", false],
  ]);
});
