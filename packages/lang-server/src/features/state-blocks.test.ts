import { describe, expect, it } from "vitest";
import { offeredActions, offeredEdits } from "../testing/offered-actions.ts";
import { refactoringOf } from "../testing/refactoring-of.ts";

const offered = async (texts: Readonly<Record<string, string>>) =>
  offeredActions(texts, "refactor.rewrite");

describe("blocks about objects", () => {
  it("are added behind the resource", async () => {
    const main =
      '# About a.\nresource "lab_object" «»"a" {\n  name = "x" # why\n}\n\noutput "o" {\n  value = lab_object.a\n}\n';
    const before = main.replace("«»", "").split("\n\noutput")[0] ?? "";
    const after = '\n\noutput "o" {\n  value = lab_object.a\n}\n';
    expect(await offered({ "main.tf": main })).toEqual({
      "Add an import block for lab_object.a": {
        "main.tf": `${before}\n\nimport {\n  to = lab_object.a\n  id = ""\n}${after}`,
      },
      "Add a moved block to lab_object.a": {
        "main.tf": `${before}\n\nmoved {\n  from = lab_object.former\n  to   = lab_object.a\n}${after}`,
      },
    });
  });

  it("replace a block that nothing names, and keep what is said above it", async () => {
    const main = '# About m.\nmodule "m" «»{\n  source = "./m"\n}\n# Next.\nlocals {}';
    const found = await offered({ "main.tf": main });
    expect(found["Replace module.m by a removed block that keeps its objects"]).toEqual({
      "main.tf":
        "# About m.\nremoved {\n  from = module.m\n\n  lifecycle {\n    destroy = false\n  }\n}\n# Next.\nlocals {}",
    });
    expect(Object.keys(found)).not.toContain("Add an import block for module.m");
  });

  it("do not replace what something else names", async () => {
    const removal = "Replace lab_object.a by a removed block that keeps its objects";
    const main = '«»resource "lab_object" "a" {\n}\n';
    expect(Object.keys(await offered({ "main.tf": main }))).toContain(removal);
    for (const more of [
      { "o.tf": 'output "o" {\n  value = lab_object.a.id\n}\n' },
      { "m.tf": "moved {\n  from = lab_object.b\n  to   = lab_object.a\n}\n" },
      { "o.tf.json": '{"output":{"o":{"value":"${lab_object.a.id}"}}}' },
      { "a_override.tf": 'resource "lab_object" "a" {\n}\n' },
    ]) {
      expect(Object.keys(await offered({ "main.tf": main, ...more }))).not.toContain(removal);
    }
  });

  it("have an empty line around them", async () => {
    const main = 'resource "lab_object" «»"a" {\n}\n# Next.\nlocals {\n}\n';
    const found = await offered({ "main.tf": main });
    expect(found["Add a moved block to lab_object.a"]?.["main.tf"]).toBe(
      'resource "lab_object" "a" {\n}\n\nmoved {\n  from = lab_object.former\n  to   = lab_object.a\n}\n\n# Next.\nlocals {\n}\n',
    );
  });

  it("begin on a line of their own behind a file without one at its end", async () => {
    const found = await offered({ "main.tf": 'resource "lab_object" «»"a" {\n}' });
    expect(found["Add a moved block to lab_object.a"]?.["main.tf"]).toBe(
      'resource "lab_object" "a" {\n}\n\nmoved {\n  from = lab_object.former\n  to   = lab_object.a\n}\n',
    );
  });

  it("import by the instances that there are", async () => {
    const main = (line: string) => `resource "lab_object" «»"a" {\n  ${line}\n}\n`;
    const title = "Add an import block for lab_object.a";
    expect((await offered({ "main.tf": main("count = 1") }))[title]?.["main.tf"]).toContain(
      'import {\n  to = lab_object.a[0]\n  id = ""\n}\n',
    );
    expect((await offered({ "main.tf": main("for_each = {}") }))[title]?.["main.tf"]).toContain(
      "import {\n  for_each = {}\n  to       = lab_object.a[each.key]\n  id       = each.value\n}\n",
    );
  });

  it("are what the language takes", async () => {
    for (const line of ["", "  count = 1\n", "  for_each = {}\n"]) {
      const main = `resource "lab_object" «»"a" {\n${line}}\n`;
      const found = Object.entries(await offered({ "main.tf": main }));
      expect(
        found.map(([title]) => title).filter((each) => /import|moved/.test(each)),
      ).toHaveLength(3);
      for (const [title, texts] of found) {
        const { problems } = await refactoringOf(texts["main.tf"] ?? "");
        expect([title, problems]).toEqual([title, []]);
      }
    }
  });

  it("import only where a run begins, and once", async () => {
    const title = "Add an import block for lab_object.a";
    const part = { "m/main.tf": 'resource "lab_object" «»"a" {\n}\n' };
    expect(Object.keys(await offered(part))).toContain(title);
    const call = { "main.tf": 'module "m" {\n  source = "./m"\n}\n' };
    expect(Object.keys(await offered({ ...part, ...call }))).not.toContain(title);
    const known = { "m/import.tf": 'import {\n  to = lab_object.a["x"]\n  id = "1"\n}\n' };
    expect(Object.keys(await offered({ ...part, ...known }))).not.toContain(title);
  });

  it("name what was before by a name that is free", async () => {
    const main = 'resource "lab_object" «»"a" {\n}\nresource "lab_object" "former" {\n}\n';
    const found = await offered({ "main.tf": main });
    expect(found["Add a moved block to lab_object.a"]?.["main.tf"]).toContain(
      "from = lab_object.former_2\n",
    );
  });

  it("are not offered in a file of overrides", async () => {
    expect(await offered({ "a_override.tf": '«»resource "lab_object" "a" {\n}\n' })).toEqual({});
  });

  it("are not offered for what is read, in a body, or in a text with mistakes", async () => {
    for (const main of [
      'data "lab_object" «»"a" {\n}\n',
      'resource "lab_object" "a" {\n  «»name = 1\n}\n',
      'resource "lab_object" «»"a" {\n  name =\n}\n',
    ]) {
      expect(await offered({ "main.tf": main })).toEqual({});
    }
  });
});

it("edits are for the version of the text where the client takes that", async () => {
  const main = 'resource "lab_object" «»"a" {\n}\n';
  const capabilities = { workspace: { workspaceEdit: { documentChanges: true } } };
  const found = await offeredEdits({ "main.tf": main }, "refactor.rewrite", capabilities);
  const { edit, after } = found["Add a moved block to lab_object.a"] ?? {};
  expect(edit?.changes).toBeUndefined();
  expect(edit?.documentChanges).toMatchObject([{ textDocument: { version: 1 } }]);
  expect(after?.["main.tf"]).toContain("moved {");
});
