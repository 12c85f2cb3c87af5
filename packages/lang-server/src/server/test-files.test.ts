import { describe, expect, it } from "vitest";
import type { Location } from "vscode-languageserver-protocol";
import { TestClient } from "../testing/test-client.ts";

type Texts = Readonly<Record<string, string>>;

const TEXTS = {
  "main.tf":
    'variable "size" {}\nlocals {\n  double = var.size * 2\n}\nmodule "net" {\n  source = "./net"\n}\noutput "total" {\n  value = local.double\n}\n',
  "net/main.tf": 'output "id" {\n  value = 1\n}\nresource "lab_net" "n" {}\n',
  "setup/main.tf": 'variable "region" {}\noutput "place" {\n  value = var.region\n}\n',
  "tests/all.tftest.hcl": `variables {
  size   = 1
  region = "y"
}

override_module {
  target  = module.net
  outputs = { id = 2 }
}

run "prepare" {
  module {
    source = "./setup"
  }
  variables {
    region = var.size
  }
}

run "total" {
  variables {
    size = var.size + length(run.prepare.place)
  }
  override_resource {
    target = module.net.lab_net.n
  }
  assert {
    condition     = output.total == 4 && local.double == 4 && module.net.id == 2
    error_message = "is \${output.total}"
  }
  expect_failures = [var.size]
}

run "again" {
  assert {
    condition     = run.total.total == 4 && run.prepare.place == "x"
    error_message = "not"
  }
}
`,
} as const;

/** The same with the cursor behind the first place of a text, and what is changed by a rename there. */
async function renamed(path: string, text: string, newName: string, texts: Texts = TEXTS) {
  const own = texts[path] ?? "";
  const at = own.indexOf(text) + text.length;
  await using client = await TestClient.start({
    ...texts,
    [path]: `${own.slice(0, at)}|${own.slice(at)}`,
  });
  const { changes } = await client.at<{ changes: never }>("textDocument/rename", { newName });
  return client.edited(changes);
}

describe("a rename with tests", () => {
  it("changes a run with all that refers to it in its file, and in no other", async () => {
    const texts = {
      ...TEXTS,
      "b.tftest.hcl":
        'run "prepare" {}\nrun "x" {\n  variables {\n    size = run.prepare.total\n  }\n}\n',
    };
    const path = "tests/all.tftest.hcl";
    expect(await renamed(path, 'run "prepare', "before", texts)).toEqual({
      [path]: TEXTS[path]
        .replace('run "prepare"', 'run "before"')
        .replaceAll("run.prepare.", "run.before."),
    });
  });

  it("changes a variable of the module in values, references and expected failures", async () => {
    const path = "tests/all.tftest.hcl";
    const found = await renamed("main.tf", 'variable "size', "amount");
    expect(found[path]).toBe(
      TEXTS[path].replaceAll(/size( +)=/g, "amount$1=").replaceAll("var.size", "var.amount"),
    );
  });

  it("changes a variable and an output of the module of a run", async () => {
    const path = "tests/all.tftest.hcl";
    const variable = await renamed("setup/main.tf", 'variable "region', "area");
    expect(variable[path]).toBe(TEXTS[path].replaceAll("region =", "area ="));
    const output = await renamed("setup/main.tf", 'output "place', "where");
    expect(output[path]).toBe(TEXTS[path].replaceAll("run.prepare.place", "run.prepare.where"));
  });

  it("changes an output of the module, as runs name it", async () => {
    const path = "tests/all.tftest.hcl";
    const found = await renamed("main.tf", 'output "total', "sum");
    expect(found[path]).toBe(
      TEXTS[path]
        .replaceAll("output.total", "output.sum")
        .replace("run.total.total", "run.total.sum"),
    );
  });

  it("changes locals, calls, and outputs and resources of called modules", async () => {
    const path = "tests/all.tftest.hcl";
    expect((await renamed("main.tf", "double", "twice"))[path]).toBe(
      TEXTS[path].replace("local.double", "local.twice"),
    );
    expect((await renamed("main.tf", 'module "net', "web"))[path]).toBe(
      TEXTS[path].replaceAll("module.net", "module.web"),
    );
    expect((await renamed("net/main.tf", 'output "id', "key"))[path]).toBe(
      TEXTS[path].replace("{ id = 2 }", "{ key = 2 }").replace("module.net.id", "module.net.key"),
    );
    expect((await renamed("net/main.tf", '"n', "m"))[path]).toBe(
      TEXTS[path].replace("lab_net.n", "lab_net.m"),
    );
  });

  it("changes tests in JSON syntax", async () => {
    const texts = {
      "main.tf": 'variable "size" {}\noutput "total" {\n  value = var.size\n}\n',
      "a.tftest.json":
        '{"variables":{"size":1},"run":{"one":{"expect_failures":["var.size"],"assert":{"condition":"${output.total == 1}"}},"two":{"variables":{"size":"${run.one.total}"}}}}',
    };
    expect((await renamed("main.tf", 'variable "size', "n", texts))["a.tftest.json"]).toBe(
      texts["a.tftest.json"].replaceAll("size", "n"),
    );
    expect((await renamed("main.tf", 'output "total', "n", texts))["a.tftest.json"]).toBe(
      texts["a.tftest.json"].replaceAll("total", "n"),
    );
  });

  it.each([
    [
      "a variable that a test sets for two modules",
      "main.tf",
      'variable "size',
      { ...TEXTS, "setup/main.tf": 'variable "size" {}\n' },
      "setup as well",
    ],
    [
      "one of the module of a run that a test sets for two modules",
      "setup/main.tf",
      'variable "size',
      { ...TEXTS, "setup/main.tf": 'variable "size" {}\n' },
      "all.tftest.hcl",
    ],
    [
      "a run whose new name is taken",
      "tests/all.tftest.hcl",
      'run "prepare',
      TEXTS,
      "run.again already",
    ],
    [
      "a resource that a mock names",
      "net/main.tf",
      '"n',
      { ...TEXTS, "net/tests/a.tfmock.hcl": "override_resource {\n  target = lab_net.n\n}\n" },
      "a.tfmock.hcl",
    ],
    [
      "the alias of a provider that a test names",
      "main.tf",
      '"west',
      {
        "main.tf": 'provider "lab" {\n  alias = "west"\n}\n',
        "a.tftest.hcl": 'mock_provider "lab" {\n  alias = "west"\n}\n',
      },
      "a.tftest.hcl",
    ],
  ])("is refused for %s", async (_what, path, text, texts, message) => {
    await expect(renamed(path, text, "again", texts)).rejects.toThrow(message);
  });
});

describe("a test file", () => {
  it("has definitions of runs, of what their modules have, and of variables", async () => {
    const path = "tests/all.tftest.hcl";
    const defined = async (before: string): Promise<string> => {
      const at = TEXTS[path].indexOf(before) + before.length;
      const text = `${TEXTS[path].slice(0, at)}|${TEXTS[path].slice(at)}`;
      await using client = await TestClient.start({ ...TEXTS, [path]: text });
      const [found] = await client.at<Location[]>("textDocument/definition");
      return found === undefined
        ? ""
        : `${found.uri.slice(client.uri("").length + 1)}:${found.range.start.line}`;
    };
    expect(await defined("run.prep")).toBe("tests/all.tftest.hcl:10");
    expect(await defined("run.prepare.pl")).toBe("setup/main.tf:1");
    expect(await defined("    reg")).toBe("setup/main.tf:0");
    expect(await defined("[var.si")).toBe("main.tf:0");
    expect(await defined("output.tot")).toBe("main.tf:7");
    expect(await defined("module.net.lab_net.n")).toBe("net/main.tf:3");
  });

  it("has symbols, and is formatted", async () => {
    await using client = await TestClient.start({
      "a.tftest.hcl": 'run "one" {\n  |command   = plan\n}\n',
    });
    const symbols = await client.at<{ name: string }[]>("textDocument/documentSymbol");
    expect(symbols.map(({ name }) => name)).toEqual(['run "one"']);
    const edits = await client.at<object[]>("textDocument/formatting", { options: {} });
    expect(edits).not.toEqual([]);
  });
});
