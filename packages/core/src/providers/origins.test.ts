import { fileURLToPath } from "node:url";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { unimplementedProvider } from "@stackwright/mux";
import { adaptPulumiProvider } from "@stackwright/mux/adapters";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { builtinOrigin, inProcessOrigin } from "./builtin-origin.ts";
import { pulumiOrigin } from "./pulumi-origin.ts";

const PROGRAM = fileURLToPath(new URL("../testing/programs/shelf-provider.ts", import.meta.url));

describe("a local Pulumi provider", () => {
  it("is named by its source, and its types by their tokens", { timeout: 60_000 }, async () => {
    const { state } = createTestState();
    const engine = createEngine({
      origins: [
        builtinOrigin(),
        pulumiOrigin({ providers: { shelf: { command: process.execPath, args: [PROGRAM] } } }),
      ],
    });
    const run = async (pages: number, type = "shelf_shelf_book") => {
      const text = `
        terraform {
          required_providers {
            shelf = { source = "stackwright.local/pulumi/shelf" }
          }
        }
        resource "${type}" "emma" {
          title = "Emma"
          pages = ${pages}
        }
        resource "terraform_data" "note" { input = shelf_shelf_book.emma.slug }
        output "slug" { value = terraform_data.note.output }
      `;
      const files = {
        ...EMPTY_BUNDLE,
        names: () => ["main.tf"],
        read: () => new TextEncoder().encode(text),
      };
      const configuration = await loadConfiguration(files);
      const common = { state, configuration, variables: new Map() };
      const { plan, diagnostics } = await engine.plan(common);
      expect(diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`)).toEqual([]);
      if (plan === undefined) throw new Error("there is no plan");
      const result = await engine.apply({ ...common, plan });
      expect(result.diagnostics).toEqual([]);
      const { outputs } = await state.read();
      return {
        actions: plan.changes.map(({ action, address }) => `${action} ${address}`),
        slug: outputs.get("slug")?.json,
      };
    };
    expect(await run(300)).toEqual({
      actions: ["create shelf_shelf_book.emma", "create terraform_data.note"],
      slug: '"emma-300"',
    });
    expect((await run(300)).actions).toEqual([
      "no-op shelf_shelf_book.emma",
      "no-op terraform_data.note",
    ]);
    expect(await run(301)).toEqual({
      actions: ["update shelf_shelf_book.emma", "update terraform_data.note"],
      slug: '"emma-301"',
    });
    expect((await run(301, "shelf:index:shelf_book")).actions).toEqual([
      "no-op shelf_shelf_book.emma",
      "no-op terraform_data.note",
    ]);
  });

  it("may have types of one name, which then are called by longer names", async () => {
    const thing = { inputProperties: { name: { type: "string" } }, properties: {} };
    const schema = JSON.stringify({
      name: "cluster",
      resources: {
        "cluster:index:Set": thing,
        "cluster:index/set:Set": thing,
        "cluster:core/v1:Pod": thing,
      },
    });
    const engine = createEngine({
      origins: [
        inProcessOrigin("cluster", {
          "stackwright.local/pulumi/cluster": () =>
            adaptPulumiProvider(unimplementedProvider(), { schema }),
        }),
      ],
    });
    const text = `
      terraform {
        required_providers {
          cluster = { source = "stackwright.local/pulumi/cluster" }
        }
      }
      resource "cluster_index_set" "a" { name = "a" }
      resource "cluster_index_set_set" "a" { name = "a" }
      resource "cluster_core_v1_pod" "a" { name = "a" }
      resource "cluster_set" "a" { name = "a" }
      resource "cluster_core_pod" "a" { name = "a" }
    `;
    const configuration = await loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(text),
    });
    const expected = [
      'Ambiguous resource type: Several types of the provider stackwright.local/pulumi/cluster would be called "cluster_set", so that none is. They are called "cluster_index_set" and "cluster_index_set_set".',
      'Invalid resource type: The provider stackwright.local/pulumi/cluster has no resource type "cluster_core_pod".',
    ];
    const found = (diagnostics: readonly { summary: string; detail: string }[]) =>
      diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`);
    expect(found((await engine.validate({ configuration })).diagnostics)).toEqual(expected);
  });

  it("that is not there is a diagnostic", async () => {
    const { state } = createTestState();
    const engine = createEngine({ origins: [pulumiOrigin()] });
    const text =
      'terraform {\n  required_providers {\n    nope = { source = "stackwright.local/pulumi/nope" }\n  }\n}\nresource "nope_x" "y" {}\n';
    const files = {
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(text),
    };
    const configuration = await loadConfiguration(files);
    const { plan, diagnostics } = await engine.plan({ state, configuration, variables: new Map() });
    expect(plan).toBeUndefined();
    expect(diagnostics.map(({ code }) => code)).toEqual(["ENGINE_PROVIDER_UNAVAILABLE"]);
  });
});
