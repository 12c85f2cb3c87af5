import { Mark, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { createScope } from "../eval/scope.ts";
import { type ConsoleAnswer, consoleScope, evaluateLine, runConsole } from "./console.ts";

const text = (line: string): string => evaluateLine(line).text;
const json = (line: string): unknown => JSON.parse(evaluateLine(line).json);

async function collect(answers: AsyncIterable<ConsoleAnswer>): Promise<ConsoleAnswer[]> {
  const list: ConsoleAnswer[] = [];
  for await (const answer of answers) list.push(answer);
  return list;
}

describe("text answers", () => {
  it.each([
    ["1 + 2", "3"],
    ['"a\\tb"', '"a\\tb"'],
    ["null", "null"],
    ["tostring(null)", "tostring(null)"],
    ["tolist([])", "tolist([])"],
    ["tolist(null)", "tolist(null) /* of dynamic */"],
    ['{ a = [1], b = "x" }', '{\n  "a" = [\n    1,\n  ]\n  "b" = "x"\n}'],
    ['tomap({ a = "x\\ny" })', 'tomap({\n  "a" = <<-EOT\n  x\n  y\n  EOT\n})'],
    ['"a\\nEOT"', "<<EOT_\na\nEOT\nEOT_"],
    ["[sensitive(1)]", "[\n  (sensitive value),\n]"],
    ["1 / 0", "+Inf"],
    ["timestamp()", "(known after apply)"],
    [
      "type([1, { a = true }])",
      "tuple([\n    number,\n    object({\n        a: bool,\n    }),\n])",
    ],
    ["type(tolist([{ a = 1 }]))", "list(\n    object({\n        a: number,\n    }),\n)"],
    ["path.module", '"."'],
    ["terraform.workspace", '"default"'],
  ])("%s", (line, expected) => {
    expect(text(line)).toBe(expected);
  });

  it("show errors with their place", () => {
    expect(text("[1, nope]")).toMatch(/Error: Reference to undeclared name[\s\S]*\^\^\^\^/);
  });
});

describe("JSON answers", () => {
  it.each([
    ["1.50", { type: "number", value: 1.5 }],
    ["[1, null]", { type: "tuple([\n    number,\n    dynamic,\n])", value: [1, null] }],
    ["sensitive([1])", { type: "tuple([\n    number,\n])", value: [1], sensitive: true }],
    ["1 / 0", { type: "number", value: null, console: "+Inf" }],
    ["timestamp()", { type: "string", value: null, console: "(known after apply)" }],
    ["type(1)", { type: "type", value: "number" }],
  ])("%s", (line, expected) => {
    expect(json(line)).toEqual(expected);
  });

  it("hold exact numbers", () => {
    expect(evaluateLine("123456789012345678901234567890").json).toContain(
      '"value": 123456789012345678901234567890}',
    );
  });

  it("say what is wrong", () => {
    expect(json("1 +")).toMatchObject({ error: { summary: "Missing expression" } });
    expect(json("type()")).toMatchObject({ error: { summary: "Call to unknown function" } });
  });
});

describe("runConsole", () => {
  it("answers every line, errors included", async () => {
    const answers = await collect(runConsole(["1", "", "nope", "2"]));
    expect(answers.map((answer) => answer.json)).toEqual([
      '{"type": "number", "value": 1}',
      expect.stringContaining('"error"'),
      '{"type": "number", "value": 2}',
    ]);
  });

  it("takes a scope", async () => {
    const { functions } = consoleScope();
    const variables = { secret: Value.string("x").mark(Mark.sensitive) };
    const scope = createScope({ functions, variables });
    const [answer] = await collect(runConsole(['"${secret}!"'], { scope }));
    expect(answer?.text).toBe("(sensitive value)");
  });
});
