import { encodeJson, typeExpression } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import { outline } from "../testing/outline.ts";
import { type LoadedModule, type LoadModuleOptions, loadModule } from "./load-module.ts";
import type { ModuleConfig } from "./module-config.ts";

function load(files: Record<string, string>, options?: LoadModuleOptions): LoadedModule {
  return loadModule(new Map(Object.entries(files)), options);
}

function summaries(files: Record<string, string>, options?: LoadModuleOptions): string[] {
  return load(files, options).diagnostics.map(({ summary }) => summary);
}

/** What a configuration says, without places and without what the syntax adds to expressions. */
function gist(config: ModuleConfig): unknown {
  const plain = (node: Parameters<typeof outline>[0] | undefined): string =>
    node === undefined
      ? "-"
      : outline(node)
          .replace(/json\(/g, "(")
          .replace(/wrap\(/g, "(")
          .replace(/[()]/g, "");
  const conditions = (list: readonly { condition: Parameters<typeof outline>[0] }[]): string[] =>
    list.map(({ condition }) => plain(condition));
  return {
    versions: config.requiredVersions.map(({ constraint }) => constraint),
    required: [...config.requiredProviders.values()].map(
      ({ name, source, version }) => `${name} ${String(source)} ${String(version)}`,
    ),
    providers: [...config.providers.keys()],
    variables: [...config.variables.values()].map((variable) => [
      variable.name,
      typeExpression(variable.constraint.type),
      variable.default === undefined ? "-" : encodeJson(variable.default),
      variable.description ?? "-",
      ...conditions(variable.validations),
    ]),
    locals: [...config.locals.values()].map(
      ({ name, expression }) => `${name}=${plain(expression)}`,
    ),
    outputs: [...config.outputs.values()].map(
      ({ name, expression, sensitive }) => `${name}=${plain(expression)} ${sensitive}`,
    ),
    modules: [...config.modules.values()].map(({ name, source, forEach }) => [
      name,
      source,
      plain(forEach),
    ]),
    resources: [...config.resources].map(([address, resource]) => [
      address,
      plain(resource.count),
      plain(resource.forEach),
      resource.dependsOn.map(plain),
      resource.lifecycle.createBeforeDestroy,
      resource.lifecycle.ignoreChanges === "all"
        ? "all"
        : resource.lifecycle.ignoreChanges.map(plain),
      conditions(resource.lifecycle.preconditions),
    ]),
    moved: config.moved.map(({ from, to }) => [plain(from), plain(to)]),
    checks: [...config.checks.values()].map(({ name, assertions }) => [
      name,
      conditions(assertions),
    ]),
  };
}

const NATIVE = `
terraform {
  required_version = ">= 1.3.0"
  required_providers {
    cloud = { source = "acme/cloud", version = "~> 1.2" }
  }
}
provider "cloud" {
  alias  = "west"
  region = "west"
}
variable "sizes" {
  type        = map(object({ cpu = number, mem = optional(string, "1G") }))
  default     = { web = { cpu = 2 } }
  description = "not $\${evaluated}"
  validation {
    condition     = alltrue([for s in values(var.sizes) : s.cpu > 0])
    error_message = "cpu must be positive"
  }
}
locals {
  prefix = "app-\${var.env}"
  list   = [var.env, 1, true, null]
}
resource "cloud_server" "server" {
  for_each = var.sizes
  name     = each.key
  lifecycle {
    create_before_destroy = true
    ignore_changes        = [tags["x"], name]
    precondition {
      condition     = local.prefix != ""
      error_message = "no prefix"
    }
  }
}
resource "cloud_server" "counted" {
  count      = 2
  depends_on = [cloud_server.server, module.net]
  lifecycle { ignore_changes = all }
}
data "cloud_image" "base" {}
module "net" {
  source    = "./net"
  for_each  = var.sizes
  providers = { cloud = cloud.west }
}
output "names" {
  value     = keys(cloud_server.server)
  sensitive = true
}
moved {
  from = cloud_server.old
  to   = cloud_server.server["web"]
}
check "health" {
  assert {
    condition     = var.env == "dev"
    error_message = "env is \${var.env}"
  }
}
`;

const JSON_FORM = JSON.stringify({
  "//": "the same in JSON",
  terraform: {
    required_version: ">= 1.3.0",
    required_providers: [{ cloud: { source: "acme/cloud", version: "~> 1.2" } }],
  },
  provider: { cloud: [{ alias: "west", region: "west" }] },
  variable: {
    sizes: {
      type: 'map(object({ cpu = number, mem = optional(string, "1G") }))',
      default: { web: { cpu: 2 } },
      description: "not ${evaluated}",
      validation: {
        condition: "${alltrue([for s in values(var.sizes) : s.cpu > 0])}",
        error_message: "cpu must be positive",
      },
    },
  },
  locals: { prefix: "app-${var.env}", list: ["${var.env}", 1, true, null] },
  resource: {
    cloud_server: {
      server: {
        for_each: "${var.sizes}",
        name: "${each.key}",
        lifecycle: {
          create_before_destroy: true,
          ignore_changes: ['tags["x"]', "name"],
          precondition: [{ condition: '${local.prefix != ""}', error_message: "no prefix" }],
        },
      },
      counted: {
        count: 2,
        depends_on: ["cloud_server.server", "module.net"],
        lifecycle: { ignore_changes: "all" },
      },
    },
  },
  data: { cloud_image: { base: {} } },
  module: {
    net: { source: "./net", for_each: "${var.sizes}", providers: { cloud: "cloud.west" } },
  },
  output: { names: { value: "${keys(cloud_server.server)}", sensitive: true } },
  moved: { from: "cloud_server.old", to: 'cloud_server.server["web"]' },
  check: {
    health: { assert: { condition: '${var.env == "dev"}', error_message: "env is ${var.env}" } },
  },
});

describe("loadModule", () => {
  it("gives the same for native syntax and for JSON", () => {
    const [native, json] = [load({ "main.tf": NATIVE }), load({ "main.tf.json": JSON_FORM })];
    expect(native.diagnostics).toEqual([]);
    expect(json.diagnostics).toEqual([]);
    expect(gist(json.config)).toEqual(gist(native.config));
    expect(gist(native.config)).toMatchObject({
      required: ["cloud registry.terraform.io/acme/cloud ~> 1.2"],
      providers: ["cloud.west"],
      resources: [
        [
          "cloud_server.server",
          "-",
          "var.sizes",
          [],
          true,
          ['tags["x"]', "name"],
          ['local.prefix != ""'],
        ],
        [
          "cloud_server.counted",
          "2",
          "-",
          ["cloud_server.server", "module.net"],
          undefined,
          "all",
          [],
        ],
        ["data.cloud_image.base", "-", "-", [], undefined, [], []],
      ],
    });
  });

  it("reads all files of the folder in any order and no others", () => {
    const { config } = load({
      "b.tf": 'output "b" { value = 1 }',
      "a.tf.json": '{ "output": { "a": { "value": 1 } } }',
      ".hidden.tf": "nonsense",
      "x.tf~": "nonsense",
      "#y.tf#": "nonsense",
      "readme.md": "nonsense",
    });
    expect([...config.outputs.keys()]).toEqual(["a", "b"]);
  });

  it("reports all problems of all files, in their order", () => {
    expect(
      summaries({
        "b.tf": 'output "b" {}\nresource "a" {}\nvariable "x" { type = strng }',
        "a.tf":
          'lcals {}\nvariable "y" {\n  default = [1\n}\noutput "q" {\n  value = 1\n  nope = 1\n}',
      }),
    ).toEqual([
      "Unsupported block type",
      "Missing item separator",
      "Unsupported argument",
      "Missing required argument",
      "Missing name for resource",
      "Invalid type specification",
    ]);
  });

  it.each([
    ['output "a" { value = 1 }\noutput "a" { value = 2 }', "Duplicate output"],
    ["locals { a = 1 }\nlocals { a = 2 }", "Duplicate local value"],
    ['provider "p" {}\nprovider "p" {}', "Duplicate provider configuration"],
    [
      'resource "a" "b" {\n  count = 1\n  for_each = {}\n}',
      'Invalid combination of "count" and "for_each"',
    ],
    ['data "a" "b" {\n  provisioner "local-exec" {}\n}', "Unsupported block type"],
    [
      'resource "a" "b" {\n  provisioner "local-exec" {\n    when = sometimes\n  }\n}',
      'Invalid "when" keyword',
    ],
    [
      'resource "a" "b" {\n  provisioner "local-exec" {\n    when = destroy\n    command = var.x\n  }\n}',
      "Invalid reference from destroy provisioner",
    ],
    ['resource "a" "b" {\n  connection {}\n  connection {}\n}', "Duplicate connection block"],
    ['resource "a" "b" {\n  provisioner "chef" {}\n}', 'The "chef" provisioner has been removed'],
    [
      'removed {\n  from = a.b\n  provisioner "local-exec" {\n    command = "x"\n  }\n}',
      "Invalid provisioner block",
    ],
    ['variable "source" {}', "Invalid variable name"],
    ['variable "a" {\n  type = number\n  default = "x"\n}', "Invalid default value for variable"],
    [
      'variable "a" {\n  default = null\n  nullable = false\n}',
      "Invalid default value for variable",
    ],
    ['variable "a" { default = var.b }', "Reference to undeclared name"],
    ['provider "a" { for_each = toset(["x"]) }', 'Alias required when using "for_each"'],
    ['resource "a" "b" { provider = a["x"] }', "Invalid provider reference"],
    ['resource "a" "b" { provider = a.b["x"].c }', "Invalid provider reference"],
    ['resource "a" "b" { provider = a.b["x"]["y"] }', "Invalid provider reference"],
    [
      'module "a" {\n  source = "./m"\n  providers = { a.b["x"] = a.b["x"] }\n}',
      "Invalid module provider configuration",
    ],
    ['module "a" {}', "Missing required argument"],
    ['resource "a" "b" { depends_on = [a.b[var.x]] }', "Invalid static expression"],
    ['resource "a" "b" { provider = a.b.c }', "Invalid provider reference"],
    [
      'terraform {\n  required_providers {\n    a = { source = "a/b/c/d" }\n  }\n}',
      "Invalid provider source string",
    ],
    [
      'terraform {\n  required_providers {\n    a = { version = "nope" }\n  }\n}',
      "Invalid version constraint",
    ],
    [
      "terraform {\n  required_providers {}\n  required_providers {}\n}",
      "Duplicate required providers configuration",
    ],
    ['check "a" {}', "Zero assert blocks"],
    ["import {\n  to = a.b\n}", "Invalid import block"],
    ['terraform {\n  provider_meta "a" {}\n}', "Block has no effect"],
    ['resource "a" "b" {\n  depends_on = ["a.c"]\n}', "Quoted references are deprecated"],
  ])("%j gives %j", (text, summary) => {
    expect(summaries({ "main.tf": text })).toEqual([summary]);
  });
});

describe("override files", () => {
  it("change arguments one by one and nested blocks as a whole", () => {
    const { config, diagnostics } = load({
      "main.tf":
        'resource "a" "b" {\n  count = 1\n  lifecycle {\n    prevent_destroy = true\n    create_before_destroy = true\n  }\n}\nlocals { x = 1 }\nvariable "v" { default = 1 }',
      "override.tf":
        'resource "a" "b" {\n  count = 2\n  lifecycle { prevent_destroy = false }\n}\nlocals { x = 2 }',
      "z_override.tf.json": '{ "variable": { "v": { "default": 5 } } }',
    });
    expect(diagnostics).toEqual([]);
    const resource = config.resources.get("a.b");
    expect(resource?.count && outline(resource.count)).toBe("2");
    expect(resource?.lifecycle).toMatchObject({ preventDestroy: false, createBeforeDestroy: true });
    const { x } = Object.fromEntries(config.locals);
    expect(x && outline(x.expression)).toBe("2");
    const variable = config.variables.get("v");
    expect(variable?.default && encodeJson(variable.default)).toBe("5");
  });

  it("must have something to override", () => {
    expect(
      summaries({ "override.tf": 'output "a" { value = 1 }\nlocals { x = 1 }\nmoved {}' }),
    ).toEqual([
      "Missing base output configuration for override",
      "Missing base local value definition to override",
      'Cannot override "moved" blocks',
    ]);
  });
});

describe("RFS templates", () => {
  const block =
    'Provider "p" {\n  source = "huawei.com/private-provider/p"\n  version = "1.0.0"\n}';
  const json = (...names: string[]): string =>
    JSON.stringify({
      terraform: {
        required_providers: names.map((name) => ({
          [name]: { source: `huawei.com/private-provider/${name}`, version: "1.0.0" },
        })),
      },
    });

  it("may declare providers in a JSON array", () => {
    const { config, diagnostics } = load({ "main.tf.json": json("p") });
    expect(diagnostics).toEqual([]);
    expect(String(config.requiredProviders.get("p")?.source)).toBe("huawei.com/private-provider/p");
  });

  it("may have several elements only where they are accepted", () => {
    const files = { "main.tf.json": json("p", "q") };
    expect(summaries(files)).toEqual(["Duplicate required providers configuration"]);
    const { config, diagnostics } = load(files, { rfsTemplates: true });
    expect(diagnostics).toEqual([]);
    expect([...config.requiredProviders.keys()]).toEqual(["p", "q"]);
    expect(summaries({ "main.tf.json": json("p", "p") }, { rfsTemplates: true })).toEqual([
      "Duplicate required provider",
    ]);
  });

  it("may declare a provider in a block of its own only where they are accepted", () => {
    const [refused] = load({ "main.tf": block }).diagnostics;
    expect(refused?.severity).toBe("error");
    expect(refused?.detail).toContain(
      'p = { source = "huawei.com/private-provider/p", version = "1.0.0" }',
    );
    const { config, diagnostics } = load({ "main.tf": block }, { rfsTemplates: true });
    expect(diagnostics.map(({ severity }) => severity)).toEqual(["warning"]);
    expect(String(config.requiredProviders.get("p")?.version)).toBe("1.0.0");
  });
});
