import { ProviderAddress } from "@stackwright/provider-source";
import { describe, expect, it } from "vitest";
import { formatProviderConfig, parseProviderConfig } from "../address/provider-config-address.ts";
import { loadModuleTree, type ModuleNode } from "../config/load-tree.ts";
import { memoryBundle } from "../testing/memory-bundle.ts";
import type { ProviderResolution } from "./provider-resolution.ts";
import { type ProviderOptions, resolveProviders } from "./resolve-providers.ts";

async function resolve(
  files: Record<string, string>,
  options?: ProviderOptions,
): Promise<{ root: ModuleNode; resolution: ProviderResolution; problems: string[] }> {
  const { root, diagnostics } = await loadModuleTree(memoryBundle(files));
  const resolution = resolveProviders(root, options);
  const problems = [...diagnostics, ...resolution.diagnostics].map(
    ({ severity, summary, subject }) =>
      `${severity === "warning" ? "warning: " : ""}${summary} @${subject?.source.locate(subject.start, subject.end).start.line}`,
  );
  return { root, resolution, problems };
}

/** `address -> configuration` of all resources of a tree. */
function uses(module: ModuleNode, resolution: ProviderResolution): string[] {
  const prefix = module.path.map((name) => `module.${name}.`).join("");
  return [
    ...[...module.config.resources].map(([address, resource]) => {
      const provider = resolution.forResource(module, resource);
      const text = provider?.address.replaceAll("registry.terraform.io/", "");
      return `${prefix}${address} -> ${text ?? "none"}`;
    }),
    ...[...module.children.values()].flatMap((child) => uses(child, resolution)),
  ];
}

const AWS = 'terraform {\n  required_providers {\n    aws = { source = "acme/aws" }\n  }\n}\n';

describe("resolveProviders", () => {
  it("finds default, aliased and implied configurations of a module", async () => {
    const { root, resolution, problems } = await resolve({
      "main.tf": `${AWS}
provider "aws" {}
provider "aws" { alias = "west" }
resource "aws_vpc" "a" {}
resource "aws_vpc" "b" { provider = aws.west }
resource "other_thing" "c" { provider = aws }
resource "terraform_data" "d" {}
data "http" "e" {}
`,
    });
    expect(problems).toEqual(["warning: Provider is not declared @13"]);
    expect(uses(root, resolution)).toEqual([
      'aws_vpc.a -> provider["acme/aws"]',
      'aws_vpc.b -> provider["acme/aws"].west',
      'other_thing.c -> provider["acme/aws"]',
      'terraform_data.d -> provider["terraform.io/builtin/terraform"]',
      'data.http.e -> provider["hashicorp/http"]',
    ]);
    expect([...resolution.requirements.keys()]).toEqual([
      "registry.terraform.io/acme/aws",
      "terraform.io/builtin/terraform",
      "registry.terraform.io/hashicorp/http",
    ]);
  });

  it("inherits default configurations by source, whatever the names are", async () => {
    const { root, resolution, problems } = await resolve({
      "main.tf": `${AWS}provider "aws" {}\nmodule "m" { source = "./m" }`,
      "m/main.tf":
        'terraform {\n required_providers {\n  amazon = { source = "acme/aws" }\n  aws = { source = "other/aws" }\n }\n}\nresource "x" "a" { provider = amazon }\nresource "aws_x" "b" {}',
    });
    expect(problems).toEqual([]);
    expect(uses(root, resolution)).toEqual([
      'module.m.x.a -> provider["acme/aws"]',
      'module.m.aws_x.b -> provider["other/aws"]',
    ]);
  });

  it("passes configurations through several levels", async () => {
    const needs =
      'terraform {\n required_providers {\n  aws = {\n   source = "acme/aws"\n   configuration_aliases = [aws.peer]\n  }\n }\n}\n';
    const { root, resolution, problems } = await resolve({
      "main.tf": `${AWS}
provider "aws" {}
provider "aws" { alias = "east" }
provider "aws" { alias = "west" }
module "a" {
  source = "./a"
  providers = { aws = aws.east, aws.peer = aws.west }
}
`,
      "a/main.tf": `${needs}resource "aws_x" "d" {}
resource "aws_x" "p" { provider = aws.peer }
module "b" {
  source    = "../b"
  providers = { aws.peer = aws }
}
`,
      "b/main.tf": `${needs}resource "aws_x" "d" {}\nresource "aws_x" "p" { provider = aws.peer }`,
    });
    expect(problems).toEqual([]);
    expect(uses(root, resolution)).toEqual([
      'module.a.aws_x.d -> provider["acme/aws"].east',
      'module.a.aws_x.p -> provider["acme/aws"].west',
      // The default one of the module around it, which is what was passed to that.
      'module.a.module.b.aws_x.d -> provider["acme/aws"].east',
      'module.a.module.b.aws_x.p -> provider["acme/aws"].east',
    ]);
  });

  it("uses configurations of modules themselves", async () => {
    const { root, resolution, problems } = await resolve({
      "main.tf": `${AWS}module "m" { source = "./m" }`,
      "m/main.tf": `${AWS}provider "aws" { region = 1 }\nresource "aws_x" "a" {}\nmodule "n" { source = "./n" }`,
      "m/n/main.tf": `${AWS}resource "aws_x" "a" {}`,
    });
    expect(problems).toEqual([]);
    expect(uses(root, resolution)).toEqual([
      'module.m.aws_x.a -> module.m.provider["acme/aws"]',
      'module.m.module.n.aws_x.a -> module.m.provider["acme/aws"]',
    ]);
  });

  it("merges version constraints over the modules that share a configuration", async () => {
    const versioned = (version: string): string =>
      AWS.replace('" }', `", version = "${version}" }`);
    const { resolution, problems } = await resolve({
      "main.tf": `${versioned(">= 1.0")}\nresource "aws_x" "a" {}\nmodule "m" { source = "./m" }\nmodule "n" { source = "./n" }`,
      "m/main.tf": `${versioned("< 2.0")}resource "aws_x" "a" {}`,
      "n/main.tf": `${versioned("= 3.0")}provider "aws" { region = 1 }\nresource "aws_x" "a" {}`,
    });
    expect(problems).toEqual([]);
    expect(
      [...resolution.configurations.values()].map(({ constraints }) => String(constraints)),
    ).toEqual([">= 1.0.0, < 2.0.0", "3.0.0"]);
    const [requirement] = resolution.requirements.values();
    expect(requirement?.from.map(({ constraints }) => String(constraints))).toEqual([
      ">= 1.0.0",
      "< 2.0.0",
      "3.0.0",
    ]);
  });

  it("asks for the source of undeclared providers", async () => {
    const { resolution } = await resolve(
      { "main.tf": 'resource "cloud_x" "a" {}' },
      { impliedSource: (name) => ProviderAddress.parse(`huawei.com/private-provider/${name}`) },
    );
    expect([...resolution.requirements.keys()]).toEqual(["huawei.com/private-provider/cloud"]);
  });

  const child = `${AWS}resource "aws_x" "a" {}`;
  it.each([
    [
      "an alias that is not there",
      {
        "main.tf": `${AWS}provider "aws" {\n alias = "west"\n}\nresource "aws_x" "a" {\n provider = aws.wets\n}`,
      },
      ["Provider configuration not present @10"],
    ],
    [
      "an alias in a module that nobody passes",
      {
        "main.tf": `${AWS}provider "aws" { alias = "w" }\nmodule "m" { source = "./m" }`,
        "m/main.tf": `${AWS}resource "aws_x" "a" {\n provider = aws.w\n}`,
      },
      ["Provider configuration not present @7"],
    ],
    [
      "a needed configuration that is not passed",
      {
        "main.tf": 'module "m" { source = "./m" }',
        "m/main.tf":
          'terraform {\n required_providers {\n  aws = {\n   source = "acme/aws"\n   configuration_aliases = [aws.p]\n  }\n }\n}\nresource "aws_x" "a" {\n provider = aws.p\n}',
      },
      ["Missing required provider configuration @1"],
    ],
    [
      "a passed configuration that is not there",
      {
        "main.tf": `${AWS}module "m" {\n source = "./m"\n providers = { aws = aws.nope }\n}`,
        "m/main.tf": child,
      },
      ["Provider configuration not present @8"],
    ],
    [
      "a configuration for an alias that the module does not know",
      {
        "main.tf": `${AWS}module "m" {\n source = "./m"\n providers = { aws.x = aws }\n}`,
        "m/main.tf": child,
      },
      ["Reference to undefined provider @8", "Provider type mismatch @8"],
    ],
    [
      "a configuration for an alias that the module does not know, of an undeclared provider",
      {
        "main.tf": 'module "m" {\n source = "./m"\n providers = { aws.x = aws }\n}',
        "m/main.tf": child,
      },
      ["Reference to undefined provider @3"],
    ],
    [
      "a configuration for an alias of a provider that the module does not declare",
      {
        "main.tf": 'module "m" {\n source = "./m"\n providers = { aws.x = aws }\n}',
        "m/main.tf": "locals {}",
      },
      ["warning: Reference to undefined provider @3"],
    ],
    [
      "a configuration in place of an empty block with the alias",
      {
        "main.tf": `${AWS}module "m" {\n source = "./m"\n providers = { aws.x = aws }\n}`,
        "m/main.tf": `${AWS}provider "aws" {\n alias = "x"\n}`,
      },
      ["warning: Redundant empty provider block @6"],
    ],
    [
      "a configuration that the module has no use for",
      {
        "main.tf": `${AWS}module "m" {\n source = "./m"\n providers = { gcp = aws }\n}`,
        "m/main.tf": child,
      },
      ["warning: Reference to undefined provider @8", "Provider type mismatch @8"],
    ],
    [
      "a configuration of a provider that the module uses without declaring it",
      {
        "main.tf": 'module "m" {\n source = "./m"\n providers = { aws = aws }\n}',
        "m/main.tf": 'resource "aws_x" "a" {}',
      },
      ["warning: Reference to undefined provider @3", "warning: Provider is not declared @1"],
    ],
    [
      "a configuration of another provider",
      {
        "main.tf": `${AWS}module "m" {\n source = "./m"\n providers = { aws = aws }\n}`,
        "m/main.tf": child.replace("acme", "other"),
      },
      ["Provider type mismatch @8"],
    ],
    [
      "a configuration passed to a module with its own",
      {
        "main.tf": `${AWS}module "m" {\n source = "./m"\n providers = { aws = aws }\n}`,
        "m/main.tf": `${child}\nprovider "aws" { region = 1 }`,
      },
      ["Cannot override provider configuration @8"],
    ],
    [
      "an empty block where one is passed",
      {
        "main.tf": `${AWS}module "m" {\n source = "./m"\n providers = { aws = aws }\n}`,
        "m/main.tf": `${child}\nprovider "aws" {}`,
      },
      ["warning: Redundant empty provider block @7"],
    ],
    [
      "an empty block where none is passed",
      {
        "main.tf": `${AWS}module "m" { source = "./m" }`,
        "m/main.tf": `${child}\nprovider "aws" {}`,
      },
      ["warning: Redundant empty provider block @7"],
    ],
    [
      "versions that contradict each other",
      {
        "main.tf": `${AWS.replace('" }', '", version = "1.0" }')}resource "aws_x" "a" {}\nmodule "m" { source = "./m" }`,
        "m/main.tf": `${AWS.replace('" }', '", version = "2.0" }')}resource "aws_x" "a" {}`,
      },
      ["Conflicting provider version constraints @3"],
    ],
    [
      "a private provider without an exact version",
      {
        "main.tf":
          'terraform {\n required_providers {\n  p = {\n   source = "huawei.com/Private-Provider/P"\n   version = ">= 1.0"\n  }\n }\n}',
      },
      ["Exact provider version required @3"],
    ],
  ])("reports %s", async (_, files, expected) => {
    const { problems } = await resolve(files);
    expect(problems).toEqual(expected);
  });

  it("is linear in modules and resources", async () => {
    const files: Record<string, string> = {
      "main.tf": Array.from({ length: 300 }, (_, at) => `module "m${at}" { source = "./m" }`).join(
        "\n",
      ),
      "m/main.tf":
        AWS + Array.from({ length: 30 }, (_, at) => `resource "aws_x" "a${at}" {}`).join("\n"),
    };
    const { resolution, root } = await resolve(files);
    expect(uses(root, resolution)).toHaveLength(9000);
    expect(resolution.configurations.size).toBe(1);
  });
});

describe("names that no provider can have", () => {
  it.each(["a:Thing", "_thing", "dashed--name_thing"])("%s is a diagnostic", async (type) => {
    const { problems } = await resolve({ "main.tf": `resource "${type}" "n" {}\n` });
    expect(problems).toContain("Invalid provider name @1");
  });
});

describe("addresses of provider configurations", () => {
  it.each([
    ['provider["registry.terraform.io/hashicorp/aws"]'],
    ['module.a.module.b.provider["huawei.com/private-provider/x"].west'],
  ])("%s", (text) => {
    const parsed = parseProviderConfig(text);
    expect(parsed && formatProviderConfig(parsed)).toBe(text);
  });

  it.each([
    ["provider.aws"],
    ["a.b"],
    ['provider["x/y/z/w"]'],
    ['provider["a/b"].c.d'],
    ["module.a"],
  ])("%s is none", (text) => {
    expect(parseProviderConfig(text)).toBeUndefined();
  });
});
