import { Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { loadText } from "../testing/simulation/sim-parts.ts";
import { EvaluationState } from "./evaluation-state.ts";

/** Steps of a chain, each of which names the one before twice: with all ways through it no test would end. */
const STEPS = 60;

/** Expressions of a configuration whose provider `p` has a function that is answered later. */
async function stateOf(text: string) {
  const { root } = await loadText(text);
  const calls: string[] = [];
  const parameter = { name: "text", type: Type.string, allowNull: false, allowUnknown: false };
  const up = {
    parameters: [{ ...parameter, description: "" }],
    returnType: Type.string,
    summary: "",
    description: "",
    deprecationMessage: "",
  };
  const world = new EvaluationState({
    root,
    variables: new Map(
      [...root.config.variables.keys()].map((name) => [name, Value.string(name)] as const),
    ),
    workspace: "default",
    host: { maxStringLength: 1024 },
    applying: false,
    missing: "strict",
    guards: () => true,
    providerFunctions: () => ({
      functions: (name) => (name === "p" ? new Map([["up", up]]) : undefined),
      providers: () => ["p"],
      call: async ({ arguments: [given] }) => {
        const asked = given?.asString() ?? "";
        calls.push(asked);
        return Promise.resolve({ result: Value.string(asked.toUpperCase()) });
      },
    }),
  });
  return { world, calls };
}

const range = (from: number): readonly number[] =>
  Array.from({ length: STEPS - from }, (_, at) => at + from);

describe("what waits for an answer of a provider", () => {
  it("is evaluated once in a chain of locals that name the one before twice", async () => {
    const locals = range(1).map((at) => `l${at} = [local.l${at - 1}, local.l${at - 1}][1]`);
    const text = `locals {\n  l0 = provider::p::up("a")\n  ${locals.join("\n  ")}\n}`;
    const { world, calls } = await stateOf(text);
    const found = await world.settled(() => world.root.scope.local(`l${STEPS - 1}`));
    expect(found.diagnostics).toEqual([]);
    expect(found.value.asString()).toBe("A");
    expect(calls).toEqual(["a"]);
  });

  it("is evaluated once in a chain of conditions of variables", async () => {
    const variables = range(0).map((at) => {
      const before = at === 0 ? 'provider::p::up("b") == "B"' : `var.v${at - 1} == var.v${at - 1}`;
      const rule = `condition = ${before} && var.v${at} != ""\n    error_message = "no"`;
      return `variable "v${at}" {\n  validation {\n    ${rule}\n  }\n}`;
    });
    const { world, calls } = await stateOf(variables.join("\n"));
    const found = await world.settled(() => world.root.validation(`v${STEPS - 1}`));
    expect(found.map(({ status }) => status)).toEqual(["pass"]);
    expect(calls).toEqual(["b"]);
  });
});
