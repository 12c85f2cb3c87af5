import { describe, expect, it } from "vitest";
import { TestClient } from "../testing/test-client.ts";

type Texts = Readonly<Record<string, string>>;

/** The texts of the files that a rename of what is at the cursor to `area` changes. */
async function renamed(texts: Texts): Promise<Texts> {
  await using client = await TestClient.start(texts);
  const params = { newName: "area" };
  const { changes } = await client.at<{ changes: never }>("textDocument/rename", params);
  return client.edited(changes);
}

/** All names are changed, and nothing else. */
async function expectAll(texts: Texts): Promise<void> {
  expect(await renamed(texts)).toEqual(
    Object.fromEntries(
      Object.entries(texts).map(([path, text]) => [
        path,
        text.replace("|", "").replaceAll("zone", "area"),
      ]),
    ),
  );
}

describe("a rename", () => {
  it("changes an output of instances whose key is evaluated, or that are taken together", async () => {
    await expectAll({
      "m/main.tf": 'output "zo|ne" {\n  value = 1\n}\n',
      "main.tf":
        'module "m" {\n  source = "./m"\n  count  = 2\n}\nlocals {\n  a = module.m[local.i].zone\n  b = [module.m[*].zone, module.m.*.zone, (module.m)[*].zone.x[0]]\n  c = values(module.m)[*].zone\n  f = { for k, m in module.m : m.zone => [m.zone, [for n in module.m : n.zone]] if m.zone != k }\n  d = "${module.m[local.i].zone}"\n}\n',
      "b.tf.json": '{"locals":{"e":"${module.m[local.i].zone} ${module.m[*].zone}"}}',
    });
  });

  it("leaves what a loop of something else has under a name that stands for instances", async () => {
    const loops = "[for m in module.m : [for m in local.l : m.zone]], [for m in local.l : m.zone]";
    const found = await renamed({
      "m/main.tf": 'output "zo|ne" {\n  value = 1\n}\n',
      "main.tf": `module "m" {\n  source = "./m"\n  count  = 2\n}\nlocals {\n  a = [${loops}]\n}\n`,
    });
    expect(found).toEqual({ "m/main.tf": 'output "area" {\n  value = 1\n}\n' });
  });

  it.each([
    ["each.value", 'resource "a" "b" {\n  for_each = module.m\n  x        = each.value.zone\n}\n'],
    ["an element of a loop", "locals {\n  a = [for m in module.m : m]\n}\n"],
    ["an instance", "locals {\n  a = { b = module.m[0] }\n}\n"],
    ["a template in JSON", '{"locals":{"a":"${module.m}"}}'],
  ])("of an output is refused where %s has all of them", async (_what, text) => {
    const path = text.startsWith("{") ? "main.tf.json" : "main.tf";
    await using client = await TestClient.start({
      "m/main.tf": 'output "zo|ne" {\n  value = 1\n}\n',
      "calls.tf": 'module "m" {\n  source = "./m"\n  count  = 2\n}\n',
      [path]: text,
    });
    const answer = client.at("textDocument/rename", { newName: "area" });
    await expect(answer).rejects.toThrow(`${path} passes on all outputs of module.m`);
  });

  it("of an output is done where the instances are counted, or waited for", async () => {
    const found = await renamed({
      "m/main.tf": 'output "zo|ne" {\n  value = 1\n}\n',
      "main.tf":
        'module "m" {\n  source = "./m"\n  count  = 2\n}\noutput "o" {\n  value      = [length(module.m), keys(module.m), [for m in module.m : 1]]\n  depends_on = [module.m]\n}\n',
    });
    expect(Object.keys(found)).toEqual(["m/main.tf"]);
  });

  it("of an input is done where an override says that it is of the module", async () => {
    const found = await renamed({
      "m/main.tf": 'variable "zo|ne" {}\n',
      "n/main.tf": 'variable "zone" {}\n',
      "main.tf": 'module "m" {\n  source = "./n"\n  zone   = 1\n}\n',
      "main_override.tf": 'module "m" {\n  source = "./m"\n}\n',
    });
    expect(found["main.tf"]).toContain("area   = 1");
  });

  it("changes what settings are made of", async () => {
    await expectAll({
      "main.tf":
        'variable "zo|ne" {}\nterraform {\n  backend "s3" {\n    bucket = "b-${var.zone}"\n  }\n  encryption {\n    key_provider "pbkdf2" "k" {\n      passphrase = var.zone\n    }\n  }\n}\n',
      "b.tf.json": '{"terraform":{"backend":{"s3":{"key":"${var.zone}"}}}}',
    });
  });

  it("changes references in quotes", async () => {
    const found = await renamed({
      "main.tf":
        'resource "lab_server" "zo|ne" {\n}\nresource "lab_server" "b" {\n  depends_on = ["lab_server.zone", "lab_server.c"]\n  name       = "lab_server.zone"\n}\n',
    });
    expect(found["main.tf"]).toContain('["lab_server.area", "lab_server.c"]');
    expect(found["main.tf"]).toContain('name       = "lab_server.zone"');
    await expectAll({
      "main.tf":
        'provider "lab" {\n  alias = "zo|ne"\n}\ndata "lab_server" "a" {\n  provider = "lab.zone"\n}\n',
    });
  });

  it("changes a provider configuration in a block that imports", async () => {
    await expectAll({
      "main.tf":
        'provider "lab" {\n  alias = "zo|ne"\n}\nimport {\n  to       = lab_server.a\n  id       = "a"\n  provider = lab.zone\n}\n',
      "b.tf.json": '{"import":{"to":"lab_server.b","id":"b","provider":"lab.zone"}}',
    });
  });

  it("leaves texts in JSON that are no templates", async () => {
    const text =
      '{"variable":{"z":{"default":"${local.zone}","description":"${local.zone}"}},"output":{"o":{"description":"${local.zone}","value":"${local.zo|ne}"}},"locals":{"zone":1}}';
    expect((await renamed({ "main.tf.json": text }))["main.tf.json"]).toBe(
      text.replace("local.zo|ne", "local.area").replace('"zone":1', '"area":1'),
    );
  });

  it("adds no moved block to a file of overrides", async () => {
    const found = await renamed({
      "main.tf": 'resource "lab_server" "zo|ne" {\n}\n',
      "a_override.tf": 'resource "lab_server" "zone" {\n}\n',
      "b_override.tf.json": '{"resource":{"lab_server":{"zone":{}}}}',
    });
    expect(Object.keys(found).filter((path) => found[path]?.includes("moved"))).toEqual([
      "main.tf",
    ]);
  });

  it("has places as editors count them in a file with a mark of its encoding", async () => {
    const mark = "\uFEFF";
    await using client = await TestClient.start({
      "main.tf": 'output "o" {\n  value = var.zo|ne\n}\n',
      "variables.tf": `${mark}variable "zone" {}\n`,
    });
    const { changes } = await client.at<{ changes: Record<string, object[]> }>(
      "textDocument/rename",
      { newName: "area" },
    );
    const start = { line: 0, character: 'variable "'.length };
    expect(changes[client.uri("variables.tf")]).toMatchObject([{ range: { start } }]);
  });

  it("of a variable whose name arguments of other blocks have changes the call as well", async () => {
    const found = await renamed({
      "m/main.tf": 'variable "ena|bled" {}\n',
      "main.tf": 'module "m" {\n  source  = "./m"\n  enabled = true\n}\n',
    });
    expect(found["main.tf"]).toContain("  area = true\n");
  });

  it.each(["source", "providers", "count", "for_each", "lifecycle", "depends_on"])(
    "of a variable to %s is refused",
    async (newName) => {
      await using client = await TestClient.start({ "main.tf": 'variable "a|" {}\n' });
      const answer = client.at("textDocument/rename", { newName });
      await expect(answer).rejects.toThrow(`A variable cannot be "${newName}"`);
    },
  );
});
