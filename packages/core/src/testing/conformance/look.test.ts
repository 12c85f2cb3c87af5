import { Value } from "@stackwright/cty";
import { describe, expect } from "vitest";
import { scenario } from "./scenario.ts";

const LOOK = { options: { mode: "refresh-only" } } as const;
const thing = (name: string, body = ""): string =>
  `resource "mock_thing" "${name}" {\n  name = "${name}"\n${body}\n}\n`;
const look = (name: string, query: string, body = ""): string =>
  `data "mock_look" "${name}" {\n  query = ${query}\n${body}\n}\n`;
const output = (value: string): string => `output "o" { value = ${value} }\n`;

describe("a plan that only looks", () => {
  const direct = look("d", '"q"') + output("data.mock_look.d.result");
  scenario("reads data sources again, and takes over what they say", [
    { config: direct, outputs: { o: '"found q"' } },
    {
      ...LOOK,
      config: direct,
      before: (cloud) => {
        cloud.answer = "now";
      },
      planCalls: ["look q"],
      plan: [],
      calls: [],
      outputs: { o: '"now q"' },
      state: ["data.mock_look.d"],
      check: ({ outputs }) => expect(outputs.map(({ action }) => action)).toEqual(["update"]),
    },
    {
      ...LOOK,
      config: direct,
      plan: [],
      outputs: { o: '"now q"' },
      check: ({ outputs, changes }) => {
        expect(outputs.map(({ action }) => action)).toEqual(["no-op"]);
        expect(changes.map(({ record }) => record)).toEqual([false]);
      },
    },
  ]);

  const chained =
    thing("a", 'value = "1"') +
    look("d", "mock_thing.a.value") +
    output('"${data.mock_look.d.result}, ${mock_thing.a.value}"');
  scenario("reads them with what was found of what they refer to", [
    { config: chained },
    {
      ...LOOK,
      config: chained,
      before: (cloud) => cloud.drift("a", { value: Value.string("9") }),
      planCalls: ["look 9"],
      calls: [],
      outputs: { o: '"found 9, 9"' },
    },
  ]);

  const provider =
    'provider "mock" {\n  alias = "west"\n  token = data.mock_look.region.result\n}\n' +
    look("region", '"r"') +
    thing("a", "provider = mock.west");
  scenario("configures a provider with what its data source says now", [
    { config: provider },
    {
      ...LOOK,
      config: provider,
      before: (cloud) => {
        cloud.answer = "now";
        cloud.configured.length = 0;
      },
      after: ({ configured }) => {
        expect(configured.join()).toContain("now r");
        expect(configured.join()).not.toContain("found r");
      },
    },
  ]);

  const modules = {
    "main.tf": `module "m" {
  source   = "./m"
  for_each = { a = "x", b = "y" }
  word     = each.value
}
output "o" { value = [for key, one in module.m : one.result] }
`,
    "m/main.tf": `variable "word" {}\n${look("d", "var.word")}output "result" { value = data.mock_look.d.result }\n`,
  };
  scenario("reads those in instances of modules, with what these are given", [
    { config: modules, outputs: { o: '["found x","found y"]' } },
    {
      ...LOOK,
      config: modules,
      before: (cloud) => {
        cloud.answer = "now";
      },
      outputs: { o: '["now x","now y"]' },
    },
  ]);

  scenario("reads what is new in the configuration, and gives up what is no more in it", [
    {
      config: look("d", '"q"', "count = 2"),
      state: ["data.mock_look.d[0]", "data.mock_look.d[1]"],
    },
    {
      ...LOOK,
      config: look("d", '"q"', "count = 1") + look("e", '"n"') + output("data.mock_look.e.result"),
      outputs: { o: '"found n"' },
      state: ["data.mock_look.d[0]", "data.mock_look.e"],
    },
  ]);

  const waits = (query: string): string =>
    thing("a") + look("d", query) + output("data.mock_look.d.result");
  scenario("leaves as recorded what needs something that is not there yet", [
    { config: waits('"q"'), outputs: { o: '"found q"' } },
    {
      ...LOOK,
      config: waits("mock_thing.new.id") + thing("new"),
      planCalls: [],
      plan: [],
      calls: [],
      outputs: { o: '"found q"' },
    },
  ]);

  const none = thing("n", "count = 0") + thing("a") + output("length(mock_thing.n)");
  scenario("knows that nothing is meant to be there", [
    { config: none, outputs: { o: "0" } },
    { ...LOOK, config: none, plan: [], outputs: { o: "0" } },
    {
      ...LOOK,
      config: none,
      check: ({ outputs }) => expect(outputs.map(({ action }) => action)).toEqual(["no-op"]),
    },
  ]);

  const checked = look(
    "d",
    '"q"',
    'lifecycle {\n  postcondition {\n    condition     = self.result == "found q"\n    error_message = "Other."\n  }\n}',
  );
  scenario("warns of a condition that no longer holds, and takes over what is there", [
    { config: checked + output("data.mock_look.d.result") },
    {
      ...LOOK,
      config: checked + output("data.mock_look.d.result"),
      before: (cloud) => {
        cloud.answer = "now";
      },
      outputs: { o: '"now q"' },
    },
  ]);

  const two = look("d", '"q"') + thing("a") + output("data.mock_look.d.result");
  scenario("leaves out what it is not about", [
    { config: two },
    {
      config: two,
      options: { mode: "refresh-only", targets: ["mock_thing.a"] },
      before: (cloud) => {
        cloud.answer = "now";
      },
      planCalls: [],
      outputs: { o: '"found q"' },
    },
  ]);

  const needed = thing("a") + thing("b", "value = mock_thing.a.name");
  scenario("takes over that something is gone which others depend on", [
    { config: needed },
    {
      ...LOOK,
      config: needed,
      before: (cloud) => cloud.drift("a", undefined),
      calls: [],
      // Its place stays in the order of the objects until it is made again.
      state: ["mock_thing.a (creating)", "mock_thing.b"],
    },
    {
      config: needed,
      plan: ["create mock_thing.a"],
      calls: ["create a"],
      state: ["mock_thing.a", "mock_thing.b"],
    },
  ]);
});
