import { EMPTY_BUNDLE } from "@stackwright/lang";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { builtinOrigin, inProcessOrigin } from "../providers/builtin-origin.ts";
import { createMockProvider, MockCloud } from "../testing/conformance/mock-provider.ts";

const HEAD = `terraform {
  required_providers {
    mock   = { source = "test.local/conf/mock" }
    absent = { source = "test.local/conf/absent" }
  }
}
`;

/** What is wrong with a configuration, and what was asked of the provider about it. */
async function check(text: string, moduleText = "") {
  const cloud = new MockCloud();
  const asked: string[] = [];
  const provider = () => {
    const mock = createMockProvider(cloud);
    const refuse = async (): Promise<never> => Promise.reject(new Error("not for a check"));
    return {
      ...mock,
      configure: refuse,
      plan: refuse,
      read: refuse,
      readDataSource: refuse,
      openEphemeral: refuse,
      validateResource: async ({ type, config }: Parameters<typeof mock.validateResource>[0]) => {
        asked.push(`${type} ${config.isWhollyKnown ? "known" : "open"}`);
        return Promise.resolve({ diagnostics: [] });
      },
      validateEphemeral: async ({ type }: Parameters<typeof mock.validateEphemeral>[0]) => {
        asked.push(type);
        return Promise.resolve({
          diagnostics: [{ severity: "error" as const, summary: "Never lent", detail: "" }],
        });
      },
      validateProvider: async () => {
        asked.push("provider");
        return Promise.resolve({ diagnostics: [] });
      },
    };
  };
  const engine = createEngine({
    origins: [builtinOrigin(), inProcessOrigin("mock", { "test.local/conf/mock": provider })],
  });
  const configuration = await loadConfiguration({
    ...EMPTY_BUNDLE,
    names: () => ["main.tf"],
    read: (path) => new TextEncoder().encode(HEAD + (path.startsWith("m/") ? moduleText : text)),
  });
  const { diagnostics, unchecked } = await engine.validate({ configuration });
  const found = diagnostics.map(({ severity, summary }) => `${severity} ${summary}`);
  return { found, unchecked, asked: asked.toSorted() };
}

describe("a check without values", () => {
  it("asks providers that are not configured about what is wrong with nothing else", async () => {
    const { found, asked } = await check(`
      variable "v" { type = string }
      provider "mock" { token = var.v }
      resource "mock_thing" "a" { name = "a" }
      resource "mock_thing" "b" {
        count = 3
        name  = "b\${count.index}"
        value = mock_thing.a.id
      }
      resource "mock_thing" "c" {
        for_each = toset(["x"])
        name     = each.key
        size     = "much"
      }
    `);
    expect(found).toEqual(["error Incorrect attribute value type"]);
    expect(asked).toEqual(["mock_thing known", "mock_thing open", "provider"]);
  });

  it("finds what is wrong with the arguments of import blocks", async () => {
    const { found } = await check(`
      resource "mock_thing" "a" { name = "a" }
      resource "mock_thing" "b" {
        for_each = { x = "b" }
        name     = each.value
      }
      variable "id" { type = string }
      import {
        to = mock_thing.a
        id = var.nothing
      }
      import {
        for_each = 5
        to       = mock_thing.b[each.key]
        id       = "i"
      }
      import {
        for_each = { x = var.id }
        to       = mock_thing.b[each.key]
        id       = each.value
      }
      import {
        for_each = { x = "i" }
        to       = mock_thing.b[each.nothing]
        id       = null
      }
    `);
    expect(found).toEqual([
      "error Reference to undeclared name",
      "error Invalid for_each argument",
      "error Reference to undeclared name",
      "error Invalid import argument",
    ]);
  });

  it("says a warning about one place once, however often its module is called", async () => {
    const calls = ["a", "b", "c"].map((name) => `module "${name}" { source = "./m" }\n`);
    const { found } = await check(
      calls.join(""),
      'resource "terraform_data" "x" {}\nresource "terraform_data" "y" { depends_on = ["terraform_data.x"] }\n',
    );
    expect(found).toEqual(["warning Quoted references are deprecated"]);
  });

  it("says what a provider says", async () => {
    const { found } = await check('ephemeral "mock_lease" "l" { name = "l" }');
    expect(found).toEqual(["error Never lent"]);
  });

  it("knows the types of what is not there yet", async () => {
    const { found } = await check(`
      resource "mock_thing" "a" {
        count = 2
        name  = "a"
      }
      output "one" { value = mock_thing.a[0].id }
      output "none" { value = mock_thing.a[1].nix }
      output "text" { value = mock_thing.a[1].id.nix }
    `);
    expect(found).toEqual(["error Unsupported attribute", "error Unsupported attribute"]);
  });

  it("finds everything at once, in the order of the text", async () => {
    const { found } = await check(`
      resource "mock_none" "a" {}
      resource "mock_thing" "b" {
        name = "b"
        nix  = 1
      }
      data "mock_look" "c" {}
      locals { d = upper(1, 2) }
    `);
    expect(found).toEqual([
      "error Invalid resource type",
      "error Unsupported argument",
      "error Missing required argument",
      "error Too many function arguments",
    ]);
  });

  it("does not decide conditions, and finds mistakes in them", async () => {
    const { found } = await check(`
      resource "mock_thing" "a" {
        name = "a"
        lifecycle {
          precondition {
            condition     = length(terraform.workspace) == 0
            error_message = "never"
          }
          postcondition {
            condition     = self.nix == 1
            error_message = "never"
          }
        }
      }
    `);
    expect(found).toEqual(["error Unsupported attribute"]);
  });

  it("names what it could not check, and checks the rest", async () => {
    const { found, unchecked } = await check(`
      resource "absent_thing" "a" { anything = 1 }
      data "absent_thing" "b" {}
      resource "mock_thing" "c" {
        name  = absent_thing.a.anything
        value = data.absent_thing.b.deep.down
        nix   = 1
      }
    `);
    expect(found).toEqual(["error Unsupported argument"]);
    expect(unchecked).toEqual([
      {
        source: "test.local/conf/absent",
        reason: expect.stringContaining("there is no provider test.local/conf/absent here"),
        blocks: ["absent_thing.a", "data.absent_thing.b"],
      },
    ]);
  });

  it("holds for all arguments of a module, whose conditions decide about those that are known", async () => {
    const module = `
      variable "rules" {
        type    = map(string)
        default = {}
        validation {
          condition     = length(var.rules) < 2
          error_message = "One rule is enough."
        }
      }
      resource "mock_thing" "a" {
        count = length(var.rules) > 0 ? 1 : 0
        name  = var.rules["name"]
      }
    `;
    const call = (rules: string) => `
      module "m" {
        source = "./m"
        ${rules}
      }
    `;
    expect((await check(call(""), module)).found).toEqual([]);
    expect((await check(call('rules = { a = "1", b = "2" }'), module)).found).toEqual([
      "error Invalid value for variable",
    ]);
  });
});
