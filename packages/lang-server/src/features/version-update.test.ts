import { describe, expect, it } from "vitest";
import { offeredActions } from "../testing/offered-actions.ts";

const lock = (version: string) =>
  `provider "registry.terraform.io/hashicorp/lab" {\n  version = "${version}"\n}\n`;

const requirement = (entry: string) =>
  `terraform {\n  required_providers {\n    ${entry}\n  }\n}\n`;

/** The text after the update, and what the action is called; undefined where none is offered. */
async function updated(
  entry: string,
  version: string,
  more: Readonly<Record<string, string>> = {},
): Promise<readonly [title: string, text: string | undefined] | undefined> {
  const texts = { "main.tf": requirement(entry), ".terraform.lock.hcl": lock(version), ...more };
  const found = await offeredActions(texts, "refactor.rewrite");
  const [title] = Object.keys(found).filter((each) => each.startsWith("Require"));
  return title === undefined ? undefined : [title, found[title]?.["main.tf"]];
}

describe("the version of a requirement", () => {
  it("becomes one that the lock file has", async () => {
    const entry =
      'lab = {\n      source  = "hashicorp/lab" # why\n      version = ">= «»1.0"\n    }';
    expect(await updated(entry, "5.100.3")).toEqual([
      "Require lab ~> 5.100, as the lock file has 5.100.3",
      requirement(entry.replace(">= «»1.0", "~> 5.100")),
    ]);
  });

  it.for([
    ["0.13.2", "~> 0.13.2"],
    ["2.0.0-beta1", "2.0.0-beta1"],
    ["1.0.0", "~> 1.0"],
  ] as const)("allows what is compatible with %s", async ([version, constraint]) => {
    expect((await updated('lab = "«»"', version))?.[1]).toBe(requirement(`lab = "${constraint}"`));
  });

  it("is added where there was none", async () => {
    const added = 'lab = {\n      source  = "hashicorp/lab" # why\n      version = "~> 1.2"\n    }';
    expect(
      (await updated('lab = {\n      source = "«»hashicorp/lab" # why\n    }', "1.2.3"))?.[1],
    ).toBe(requirement(added));
    for (const comma of ["", ","]) {
      expect((await updated(`lab = { source = "«»hashicorp/lab"${comma} }`, "1.2.3"))?.[1]).toBe(
        requirement('lab = { source = "hashicorp/lab", version = "~> 1.2" }'),
      );
    }
  });

  it("is found under a name in quotes", async () => {
    const entry = 'lab = { source = "hashicorp/lab", "version" = "«»1.0.0" }';
    expect((await updated(entry, "1.2.3"))?.[1]).toBe(
      requirement(entry.replace("«»1.0.0", "~> 1.2")),
    );
  });

  it("is that of the modules that use this one, where they agree", async () => {
    const part = 'lab = { source = "«»hashicorp/lab" }';
    const root = { "main.tf": 'module "m" {\n  source = "./m"\n}\n' };
    const texts = { ...root, ".terraform.lock.hcl": lock("1.2.3"), "m/v.tf": requirement(part) };
    const titles = async (each: Readonly<Record<string, string>>) =>
      Object.keys(await offeredActions(each, "refactor.rewrite")).filter((title) =>
        title.startsWith("Require"),
      );
    expect(await titles(texts)).toEqual(["Require lab ~> 1.2, as the lock file has 1.2.3"]);
    const second = { "b/main.tf": 'module "m" {\n  source = "../m"\n}\n' };
    const other = { ...texts, ...second, "b/.terraform.lock.hcl": lock("2.0.0") };
    expect(await titles(other)).toEqual([]);
  });

  it.for([
    ["it is so already", 'lab = "~> 1.2«»"', {}],
    ["the provider is not locked", 'lab = { source = "acme/lab«»" }', {}],
    ["the version is no constant", 'lab = { source = "«»hashicorp/lab", version = var.v }', {}],
    ["a comment ends the line", 'lab = { source = "«»hashicorp/lab" # why\n   /* x */ }', {}],
    ["the lock file cannot be read", 'lab = "«»"', { ".terraform.lock.hcl": "provider {" }],
  ] as const)("is not offered where %s", async ([, entry, more]) => {
    expect(await updated(entry, "1.2.3", more)).toBeUndefined();
  });
});
