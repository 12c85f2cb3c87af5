import { type Diagnostic, EMPTY_BUNDLE } from "@stackwright/lang";
import { unimplementedProvider } from "@stackwright/mux";
import { adaptPulumiProvider, toPulumiProvider } from "@stackwright/mux/adapters";
import { createProvider, defineResource, optional, required, types } from "@stackwright/mux/kit";
import { type LifecycleProvider } from "@stackwright/mux/router";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import type { PlanOptions } from "../plan/plan.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { builtinOrigin, inProcessOrigin } from "./builtin-origin.ts";

/** A shelf whose books are gone with it. Its types are `shelf:index:book` and `shelf:index:label`. */
const SHELF = createProvider({
  config: { prefix: optional(types.string) },
  configure: () => new Set<string>(),
  resources: {
    book: defineResource({
      attributes: { title: required(types.string), pages: optional(types.number) },
      create: () => ({}),
      update: () => ({}),
      delete: () => undefined,
    }),
  },
});

const thing = { inputProperties: { name: { type: "string" } }, properties: {} };

/** Types and functions, nothing that works. */
const CLUSTER = JSON.stringify({
  name: "cluster",
  resources: {
    "cluster:apps/v1:Set": thing,
    "cluster:apps/v2:Set": thing,
    "cluster:index:Pool": thing,
    "cluster:index/pool:Pool": thing,
    "cluster::Pool": thing,
    "cluster:core/node:Node": thing,
  },
  functions: { "cluster:index:getNode": { inputs: { properties: {} }, outputs: {} } },
});

const HEAD = `terraform {
  required_providers {
    shelf   = { source = "stackwright.local/pulumi/shelf" }
    cluster = { source = "stackwright.local/pulumi/cluster" }
  }
}
`;

/** `grown`: the shelf has got another type that would be called as its first one. */
function createRun({ state } = createTestState(), grown = false) {
  const shelf = async (): Promise<LifecycleProvider> => {
    const provider = toPulumiProvider(SHELF, { package: "shelf", version: "1.0.0" });
    const request = { version: 0, subpackageName: "", subpackageVersion: "" };
    const { schema } = await provider.getSchema(request, {});
    const known = JSON.parse(schema) as { resources: Record<string, object> };
    const resources = { ...known.resources, "shelf::book": thing };
    return adaptPulumiProvider(
      provider,
      grown ? { schema: JSON.stringify({ ...known, resources }) } : {},
    );
  };
  const engine = createEngine({
    origins: [
      builtinOrigin(),
      inProcessOrigin("local", {
        "stackwright.local/pulumi/shelf": shelf,
        "stackwright.local/pulumi/cluster": () =>
          adaptPulumiProvider(unimplementedProvider(), { schema: CLUSTER }),
      }),
    ],
  });
  const load = async (files: Record<string, string>) =>
    loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => Object.keys(files),
      read: (name) => new TextEncoder().encode(files[name] ?? ""),
    });
  const validate = async (text: string) => {
    const configuration = await load({ "main.tf": HEAD + text });
    return (await engine.validate({ configuration })).diagnostics.map(told);
  };
  const plan = async (files: Record<string, string>, options: PlanOptions = {}) => {
    const configuration = await load(files);
    const given = { state, configuration, variables: new Map() };
    const { plan: made, diagnostics } = await engine.plan({ ...given, options });
    return { given, made, problems: diagnostics.map(told) };
  };
  const apply = async (files: Record<string, string>) => {
    const { given, made, problems } = await plan(files);
    if (made === undefined) return { problems, actions: [] };
    const { diagnostics, status } = await engine.apply({ ...given, plan: made });
    const actions = made.changes.map(({ action, address }) => `${action} ${address}`);
    return { problems: [...problems, ...diagnostics.map(told)], actions, status };
  };
  return { state, validate, plan, apply };
}

/** Line, text that is pointed at, and what is said. */
function told({ summary, detail, subject }: Diagnostic): string {
  if (subject === undefined) return `${summary}: ${detail}`;
  const { source, start, end } = subject;
  const { filename, start: place } = source.locate(start, end);
  return `${filename}:${place.line} ${source.text.slice(start, end)} ${summary}: ${detail}`;
}

describe("a type that is written as its token", () => {
  const rest = `
resource "terraform_data" "after" { input = shelf_book.emma.pages }
`;
  const byName = `${HEAD}resource "shelf_book" "emma" {\n  title = "Emma"\n  pages = 300\n}\n${rest}`;
  const byToken = byName.replace('"shelf_book" "emma"', '"shelf:index:book" "emma"');
  const inJson = {
    "main.tf": HEAD + rest,
    "book.tf.json": JSON.stringify({
      resource: { "shelf:index:book": { emma: { title: "Emma", pages: 300 } } },
    }),
  };
  const made = ["create shelf_book.emma", "create terraform_data.after"];
  const same = ["no-op shelf_book.emma", "no-op terraform_data.after"];

  it("is the resource of the name: another spelling changes nothing", async () => {
    const { apply, state } = createRun();
    expect(await apply({ "main.tf": byName })).toMatchObject({ problems: [], actions: made });
    expect(await apply({ "main.tf": byToken })).toMatchObject({ problems: [], actions: same });
    expect(await apply(inJson)).toMatchObject({ problems: [], actions: same });
    expect(await apply({ "main.tf": byName })).toMatchObject({ problems: [], actions: same });
    const objects = [...(await state.read()).objects.values()];
    expect(objects.map(({ address, type }) => [address, type])).toContainEqual([
      "shelf_book.emma",
      "shelf_book",
    ]);
  });

  it("is made, changed and ended as by its name", async () => {
    const { apply, plan } = createRun();
    expect(await apply({ "main.tf": byToken })).toMatchObject({ problems: [], actions: made });
    expect(await apply({ "main.tf": byName })).toMatchObject({ problems: [], actions: same });
    const longer = byToken.replace("300", "301");
    const targeted = await plan({ "main.tf": longer }, { targets: ["shelf_book.emma"] });
    expect(targeted.made?.changes.map(({ action, address }) => `${action} ${address}`)).toEqual([
      "update shelf_book.emma",
    ]);
    expect(await apply({ "main.tf": longer })).toMatchObject({
      problems: [],
      actions: ["update shelf_book.emma", "update terraform_data.after"],
    });
    expect(await apply({ "main.tf": HEAD })).toMatchObject({
      problems: [],
      actions: ["delete shelf_book.emma", "delete terraform_data.after"],
    });
  });

  it("is refused when its name has become another's too, and can be moved to what it is called then", async () => {
    const given = createTestState();
    await createRun(given).apply({ "main.tf": byToken });
    const { plan } = createRun(given, true);
    const [problem = ""] = (await plan({ "main.tf": byToken })).problems;
    expect(problem).toContain('"shelf:index:book" Ambiguous resource type');
    expect(problem).toContain(
      'Write "shelf_index_book", which is what "shelf:index:book" is called.',
    );
    const renamed = byName
      .replace('"shelf_book"', '"shelf_index_book"')
      .replace("shelf_book.emma.pages", "shelf_index_book.emma.pages");
    const moved = "moved {\n  from = shelf_book.emma\n  to = shelf_index_book.emma\n}\n";
    const { made: planned, problems } = await plan({ "main.tf": renamed + moved });
    expect(problems).toEqual([]);
    expect(planned?.changes.map(({ action, address }) => `${action} ${address}`)).toEqual([
      "no-op shelf_index_book.emma",
      "no-op terraform_data.after",
    ]);
  });

  it("is no target, which says what is", async () => {
    const { plan } = createRun();
    const { made: none, problems } = await plan(
      { "main.tf": byToken },
      { targets: ["shelf:index:book.emma"] },
    );
    expect(none).toBeUndefined();
    expect(problems.join()).toContain("shelf:index:book is shelf_book.");
  });

  it("belongs to the configuration of its provider that the block says", async () => {
    const { plan } = createRun();
    const text = `${HEAD}provider "shelf" {\n  alias = "two"\n}\nresource "shelf:index:book" "emma" {\n  provider = shelf.two\n  title = "Emma"\n}\n`;
    const { made: planned, problems } = await plan({ "main.tf": text });
    expect(problems).toEqual([]);
    expect(planned?.changes.map(({ provider }) => provider.alias)).toEqual([
      expect.stringContaining("two"),
    ]);
  });
});

describe("a token that its provider has not", () => {
  const source = "stackwright.local/pulumi/cluster";
  const block = (type: string, kind = "resource") => `${kind} "${type}" "a" {}`;

  it.each([
    [
      block("cluster:apps/v1:Sett"),
      `main.tf:7 "cluster:apps/v1:Sett" Invalid resource type: The provider ${source} has no resource type "cluster:apps/v1:Sett". Did you mean "cluster:apps/v1:Set"?`,
    ],
    [
      block("cluster:core:Node"),
      `main.tf:7 "cluster:core:Node" Invalid resource type: The provider ${source} has no resource type "cluster:core:Node". Did you mean "cluster:core/node:Node"?`,
    ],
    [
      block("cluster:index:getNode"),
      `main.tf:7 "cluster:index:getNode" Invalid resource type: The provider ${source} has no resource type "cluster:index:getNode". It is a data source: write data "cluster:index:getNode".`,
    ],
    [
      block("cluster:apps/v1:Set", "data"),
      `main.tf:7 "cluster:apps/v1:Set" Invalid resource type: The provider ${source} has no data source "cluster:apps/v1:Set". It is a resource type: write resource "cluster:apps/v1:Set".`,
    ],
    [
      block("cluster:apps/v3:Lease", "ephemeral"),
      `main.tf:7 "cluster:apps/v3:Lease" Invalid resource type: The provider ${source} has no ephemeral resource type "cluster:apps/v3:Lease".`,
    ],
    [
      'resource "terraform:index:data" "a" {\n}',
      'main.tf:7 "terraform:index:data" Invalid resource type: The types of the provider terraform.io/builtin/terraform have names and no tokens. Write "terraform_data".',
    ],
    [
      'resource "terraform:index:date" "a" {\n}',
      'main.tf:7 "terraform:index:date" Invalid resource type: The types of the provider terraform.io/builtin/terraform have names and no tokens.',
    ],
    [
      'resource "cluster:core/node:Node" "a" {\n  provider = shelf\n}',
      'main.tf:7 "cluster:core/node:Node" Invalid resource type: The provider stackwright.local/pulumi/shelf has no resource type "cluster:core/node:Node".',
    ],
  ])("is told so, with what to write: %s", async (text, expected) => {
    const { validate, plan } = createRun();
    expect(await validate(text)).toEqual([expected]);
    expect((await plan({ "main.tf": HEAD + text })).problems).toEqual([expected]);
  });
});

describe("tokens that would have one name", () => {
  it("are distinguished by what each says of its module", async () => {
    const { validate } = createRun();
    const text = `
      resource "cluster:apps/v1:Set" "a" {}
      resource "cluster:apps/v2:Set" "a" {}
      resource "terraform_data" "b" { input = [cluster_apps_v1_set.a.name, cluster_apps_v2_set.a.name] }
    `;
    expect(await validate(text)).toEqual([]);
  });

  it("have other names, which the diagnostic of a block with such a token gives", async () => {
    const { validate } = createRun();
    const of = async (token: string): Promise<string> =>
      (await validate(`resource "${token}" "a" {}`)).join("\n");
    const ambiguous =
      'Ambiguous resource type: Several types of the provider stackwright.local/pulumi/cluster would be called "cluster_pool", so that none is. Write';
    expect(await of("cluster:index:Pool")).toBe(
      `main.tf:7 "cluster:index:Pool" ${ambiguous} "cluster_index_pool", which is what "cluster:index:Pool" is called.`,
    );
    const last = await of("cluster::Pool");
    expect(last).toContain(`main.tf:7 "cluster::Pool" ${ambiguous} "cluster_pool_`);
    // What it says to write is right.
    const [name = ""] = /cluster_pool_\w+/.exec(last) ?? [];
    for (const other of ["cluster_index_pool", "cluster_index_pool_pool", name]) {
      expect(await validate(`resource "${other}" "a" {}`)).toEqual([]);
    }
    const both = await validate(
      'resource "cluster:index:Pool" "a" {}\nresource "cluster::Pool" "a" {}',
    );
    expect(both).toEqual([
      'main.tf:8 resource "cluster::Pool" "a" Duplicate resource: A resource "cluster_pool.a" is declared already, at main.tf line 7. Names must be unique in a module. The types "cluster:index:Pool" and "cluster::Pool" are both called cluster_pool.',
    ]);
  });
});
