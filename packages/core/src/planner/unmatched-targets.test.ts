import { EMPTY_BUNDLE } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { builtinOrigin } from "../providers/builtin-origin.ts";
import { createTestState } from "../testing/state-fixture.ts";

const CONFIGURATION = `
  resource "terraform_data" "server" { count = 2 }
  resource "terraform_data" "none" { count = 0 }
  module "net" {
    source   = "./net"
    for_each = toset(["a"])
  }
`;
const FILES: Readonly<Record<string, string>> = {
  "main.tf": CONFIGURATION,
  "net/main.tf": 'resource "terraform_data" "card" {}\n',
};

/** The details of the warnings of a plan with these options. */
async function unmatched(options: {
  readonly targets?: readonly string[];
  readonly excludes?: readonly string[];
}): Promise<readonly string[]> {
  const { state } = createTestState();
  const engine = createEngine({ origins: [builtinOrigin()] });
  const configuration = await loadConfiguration({
    ...EMPTY_BUNDLE,
    names: (folder) => (folder === "." || folder === "net" ? ["main.tf"] : []),
    read: (path) => new TextEncoder().encode(FILES[path] ?? ""),
  });
  const variables = new Map();
  const { plan, diagnostics } = await engine.plan({ state, configuration, variables, options });
  expect(plan).toBeDefined();
  return diagnostics
    .filter(({ summary }) => summary.endsWith("matches nothing"))
    .map(({ summary, detail }) => `${summary}: ${detail}`);
}

it.each([
  ["terraform_data.servr", 'terraform_data.servr. Did you mean "terraform_data.server"?'],
  [
    "terraform_data.server[7]",
    'terraform_data.server[7]. Did you mean "terraform_data.server[0]"?',
  ],
  ["module.nett", 'module.nett. Did you mean "module.net"?'],
  ['module.net["b"]', 'module.net["b"].'],
  ["data.terraform_remote_state.x", "data.terraform_remote_state.x."],
])("warns of the target and the exclude %s", async (address, text) => {
  const detail = `matches nothing: Neither the configuration nor the state has ${text}`;
  expect(await unmatched({ targets: [address] })).toEqual([`The target ${detail}`]);
  expect(await unmatched({ excludes: [address] })).toEqual([`The exclude ${detail}`]);
});

it.each([
  "terraform_data.server",
  "terraform_data.server[1]",
  "terraform_data.none",
  "module.net",
  'module.net["a"]',
  'module.net["a"].terraform_data.card',
  "module.net.terraform_data.card",
])("does not warn of %s", async (address) => {
  expect(await unmatched({ targets: [address] })).toEqual([]);
  expect(await unmatched({ excludes: [address] })).toEqual([]);
});
