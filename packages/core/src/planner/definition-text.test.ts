import { EMPTY_BUNDLE, STANDARD_FUNCTIONS } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { definitionText } from "./definition-text.ts";

/** What is said of each node of a configuration. */
async function textsOf(text: string, name = "main.tf") {
  const { graph, diagnostics } = await loadConfiguration({
    ...EMPTY_BUNDLE,
    names: () => [name],
    read: () => new TextEncoder().encode(text),
  });
  expect(diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
  return new Map(graph.order.map((node) => [node.id, definitionText(node)]));
}

it("calls of functions that read files or the time are never the same again", async () => {
  const names = STANDARD_FUNCTIONS.map(({ name }) => name).filter((name) =>
    /file|timestamp$|^uuid$|bcrypt/.test(name),
  );
  expect(names.length).toBeGreaterThan(12);
  for (const name of names) {
    const found = await textsOf(`locals {\n a = ${name} /* here */ ("x")\n b = "other"\n}\n`);
    expect(found.get("local.a"), name).toBeUndefined();
    expect(found.get("local.b")).toBeDefined();
  }
});

it.each(["\t", "\n", "", "  ", "# x\n"])(
  "finds a call behind %j in each kind of node",
  async (before) => {
    const found = await textsOf(
      `resource "terraform_data" "a" {\n input = [\n${before}file("x")\n]\n}\n` +
        `output "a" {\n value = [\n${before}file("x")\n]\n}\n`,
    );
    for (const id of ["terraform_data.a", "output.a"]) expect(found.get(id), id).toBeUndefined();
  },
);

it("an attribute that is called like a function is no call", async () => {
  const found = await textsOf(
    'locals {\n a = { file = "x", uuid : 1 }\n b = local.a.file\n}\nresource "terraform_data" "a" {\n input = local.a.uuid\n}\n',
  );
  for (const id of ["local.a", "local.b", "terraform_data.a"]) {
    expect(found.get(id), id).toBeDefined();
  }
});

it("where something is written does not matter, and what is written does", async () => {
  const block = (input: string) => `resource "terraform_data" "a" {\n input = ${input}\n}\n`;
  const first = (await textsOf(block("1"))).get("terraform_data.a");
  expect((await textsOf(`# more\n\n${block("1")}`)).get("terraform_data.a")).toBe(first);
  expect((await textsOf(block("2"))).get("terraform_data.a")).not.toBe(first);
});

it("what is written in JSON is never the same again", async () => {
  const json = JSON.stringify({ resource: { terraform_data: { a: { input: "x" } } } });
  expect((await textsOf(json, "main.tf.json")).get("terraform_data.a")).toBeUndefined();
});
