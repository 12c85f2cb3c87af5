import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { TextEdit } from "vscode-languageserver-protocol";
import { offeredActions, offeredEdits } from "../testing/offered-actions.ts";

const RENAMES = {
  workspace: { workspaceEdit: { documentChanges: true, resourceOperations: ["rename"] } },
};

const TO_JSON = "Convert the file to JSON syntax";
const TO_NATIVE = "Convert the file to native syntax";

/** The text in the other syntax; undefined where that is not offered. */
async function converted(
  name: string,
  text: string,
  more: Readonly<Record<string, string>> = {},
): Promise<string | undefined> {
  const texts = { [name]: `«»${text}`, ...more };
  const found = await offeredActions(texts, "refactor.rewrite", RENAMES);
  const [json, native] = [found[TO_JSON], found[TO_NATIVE]];
  expect(json === undefined || native === undefined).toBe(true);
  return Object.values(json ?? native ?? {})[0];
}

const NATIVE = `terraform {
  required_providers {
    lab = {
      source  = "acme/lab"
      version = "~> 1.0"
    }
  }
}

variable "v" {
  type    = map(string)
  default = ["x"]
}

locals {
  a = "x-\${var.v["a"]}-\\"y\\""
  b = [
    1,
    -2,
    true,
    null,
    {
      c     = "$\${d}"
      "e f" = local.a
    },
  ]
  c = local.b[*].c
}

module "m" {
  source     = "./m"
  count      = 2
  depends_on = [module.n]
  tags = {
    a = 1
  }
}

module "n" {
  source = "./n"
  providers = {
    lab = lab.x
  }
}

output "o" {
  value     = [for k in local.b : k if k != null]
  sensitive = true
}

moved {
  from = module.o
  to   = module.n
}
`;

describe("conversion between syntaxes", () => {
  it("renames the file and replaces its text", async () => {
    const texts = { "main.tf": 'output "«»o" {\n  value = local.a\n}\n' };
    const found = await offeredEdits(texts, "refactor.rewrite", RENAMES);
    expect(found[TO_JSON]?.edit.documentChanges).toMatchObject([
      {
        kind: "rename",
        oldUri: expect.stringMatching(/main\.tf$/),
        newUri: expect.stringMatching(/main\.tf\.json$/),
      },
      { textDocument: { version: null } },
    ]);
    expect(Object.values(found[TO_JSON]?.after ?? {})).toEqual([
      '{\n  "output": {\n    "o": {\n      "value": "${local.a}"\n    }\n  }\n}\n',
    ]);
    expect(await offeredActions(texts, "refactor.rewrite")).not.toHaveProperty([TO_JSON]);
  });

  it("replaces the whole text also for a client that counts in bytes", async () => {
    const texts = { "main.tf": 'locals {\n}\noutput "«»o" { value = "äöü" }' };
    const inBytes = { ...RENAMES, general: { positionEncodings: ["utf-8"] } };
    const { edit } = (await offeredEdits(texts, "refactor.rewrite", inBytes))[TO_JSON] ?? {};
    const edited = edit?.documentChanges?.flatMap((each) => ("edits" in each ? each.edits : []));
    const written = Buffer.byteLength('output "o" { value = "äöü" }');
    expect(edited).toHaveLength(1);
    expect(edited?.[0]).toMatchObject({ range: { start: { line: 0 }, end: { line: 2 } } });
    const [first] = edited as TextEdit[];
    expect(first?.range.end.character).toBeGreaterThanOrEqual(written);
  });

  it("comes back to the text that was", async () => {
    const json = await converted("main.tf", NATIVE);
    expect(await converted("main.tf.json", json ?? "")).toBe(NATIVE);
  });

  it("reads blocks in all forms that JSON has for them", async () => {
    const json =
      '{"variable": [{"a": {}}, {"b": [{"default": "${x}"}]}], "terraform": [{"required_version": "> 1"}]}';
    expect(await converted("main.tf.json", json)).toBe(
      'variable "a" {\n}\n\nvariable "b" {\n  default = "$${x}"\n}\n\nterraform {\n  required_version = "> 1"\n}\n',
    );
  });

  it.for([
    ["a comment would be lost", "main.tf", "# Why.\nlocals {\n}\n"],
    ["the text has mistakes", "main.tf", "locals {\n  a =\n}\n"],
    ["a comment in JSON would be lost", "main.tf.json", '{"//": "Why.", "locals": {}}'],
    [
      "it is not known what is a block",
      "main.tf.json",
      '{"resource": {"lab_object": {"a": {"b": {}}}}}',
    ],
    [
      "an empty list may be no blocks",
      "main.tf.json",
      '{"resource": {"lab_object": {"a": {"b": []}}}}',
    ],
    ["null may be no block", "main.tf.json", '{"resource": {"lab_object": {"a": {"b": null}}}}'],
    ["a name is there twice", "main.tf.json", '{"locals": {"a": 1, "a": 2}}'],
    ["the JSON has mistakes", "main.tf.json", '{"locals": {"a": }}'],
    ["something else stands at the top", "main.tf.json", '{"other": 1}'],
    ["there is no equal text", "main.tf.json", '{"locals": {"a": "${b}%{if c}d%{endif}"}}'],
  ] as const)("is not offered where %s", async ([, name, text]) => {
    expect(await converted(name, text)).toBeUndefined();
  });

  it.for([
    ["a word would become a template", ['"a" {\n    when = destroy\n  }']],
    ["steps would be done in another order", ['"a" {\n  }', '"b" {\n  }', '"a" {\n  }']],
  ] as const)("is not offered where of provisioners %s", async ([, provisioners]) => {
    const text = (list: readonly string[]): string =>
      `resource "lab_object" "a" {\n${list.map((each) => `  provisioner ${each}\n`).join("")}}\n`;
    expect(await converted("main.tf", text(provisioners))).toBeUndefined();
    expect(await converted("main.tf", text(['"a" {\n  }', '"b" {\n  }']))).toContain("provisioner");
  });

  it("is not offered where the other file is there", async () => {
    expect(await converted("a.tf", "locals {\n}\n", { "a.tf.json": "{}" })).toBeUndefined();
    expect(await converted("a.tf.json", '{"locals": {}}', { "a.tf": "" })).toBeUndefined();
    expect(await converted("a.tf", "locals {\n}\n", { "b.tf.json": "{}" })).toBe(
      '{\n  "locals": {}\n}\n',
    );
  });

  it("gives equal JSON again, of any values", async () => {
    const text = fc.oneof(
      fc.string(),
      fc.constantFrom("${local.a}", "a${b.c}d", "$${a}", "%{if a}b%{endif}", "$", "a\nb", "${a"),
    );
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        text,
        fc.integer(),
        fc.boolean(),
        fc.constant(null),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(fc.oneof(fc.constantFrom("a", "for", "null", "a b"), text), tie("value"), {
          maxKeys: 3,
        }),
      ),
    }));
    let offered = 0;
    await fc.assert(
      fc.asyncProperty(value, async (each) => {
        const json = { locals: { a: each } };
        const native = await converted("main.tf.json", JSON.stringify(json));
        if (native === undefined) return;
        offered += 1;
        expect(JSON.parse((await converted("main.tf", native)) ?? "")).toEqual(json);
      }),
      { numRuns: 50 },
    );
    expect(offered).toBeGreaterThan(20);
  });
});
