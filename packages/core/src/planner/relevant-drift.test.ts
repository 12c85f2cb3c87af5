import { fromNative, Type, Value } from "@stackwright/cty";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import type { Drift, ResourceChange } from "../plan/change.ts";
import { objectKey } from "../state/state-object.ts";
import { relevantDrift } from "./relevant-drift.ts";

const provider = { source: "registry.terraform.io/hashicorp/aws", version: "5.100.0", alias: "" };
const TAGS = Type.map(Type.string);

function drift(
  address: string,
  before: Record<string, Value>,
  after?: Record<string, Value>,
): Drift {
  return {
    address,
    deposed: "",
    type: "aws_vpc",
    provider,
    before: Value.object(before),
    ...(after !== undefined && { after: Value.object(after) }),
    relevant: false,
  };
}

function change(address: string, more: Partial<ResourceChange>): ResourceChange {
  return {
    address,
    deposed: "",
    mode: "managed",
    type: "aws_vpc",
    name: "x",
    module: "",
    key: undefined,
    provider,
    action: "no-op",
    replacePaths: [],
    causes: [],
    words: { priorPrivate: new Uint8Array(), plannedPrivate: new Uint8Array() },
    schemaVersion: 0,
    dependencies: [],
    createBeforeDestroy: false,
    record: false,
    legacyTypeSystem: true,
    ...more,
  };
}

async function relevant(
  files: Readonly<Record<string, string>>,
  drifts: readonly Drift[],
  changes: readonly ResourceChange[],
): Promise<readonly (readonly string[] | boolean)[]> {
  const { root } = await loadConfiguration({
    ...EMPTY_BUNDLE,
    names: (folder) =>
      Object.keys(files)
        .flatMap((name) => {
          if (folder === ".") return [name];
          return name.startsWith(`${folder}/`) ? [name.slice(folder.length + 1)] : [];
        })
        .filter((name) => !name.includes("/")),
    read: (name) => new TextEncoder().encode(files[name]),
  });
  const found = relevantDrift(drifts, {
    root,
    changes: new Map(changes.map((one) => [objectKey(one), one])),
    outputs: [],
  });
  return found.map(({ relevant: is, attributes }) => (is ? (attributes ?? true) : false));
}

const FILES = {
  "main.tf": `
    resource "aws_vpc" "a" {}
    resource "aws_vpc" "b" { cidr_block = module.m.out }
    module "m" {
      source = "./m"
      given  = aws_vpc.a.tags
    }
  `,
  "m/main.tf": `
    variable "given" {}
    locals { name = var.given["Name"] }
    output "out" { value = local.name }
  `,
};

describe("drift", () => {
  it("is relevant in the attributes that lead to a change, through modules too", async () => {
    const before = { tags: fromNative({ Name: "a" }), mtu: Value.number(1) };
    const after = { tags: fromNative({ Name: "b" }), mtu: Value.number(2) };
    const found = drift("aws_vpc.a", before, after);
    const update = change("aws_vpc.b", { action: "update" });
    expect(await relevant(FILES, [found], [update])).toEqual([["tags"]]);
    expect(await relevant(FILES, [found], [change("aws_vpc.b", {})])).toEqual([false]);
  });

  it("is not relevant where an older provider writes nothing in another way", async () => {
    const before = {
      tags: Value.null(TAGS),
      name: Value.null(Type.string),
      on: Value.null(Type.bool),
      rules: fromNative([{ text: "" }]),
    };
    const after = {
      tags: Value.map([], Type.string),
      name: Value.string(""),
      on: Value.bool(false),
      rules: fromNative([{ text: null }]),
    };
    const found = [drift("aws_vpc.a", before, after)];
    const update = change("aws_vpc.b", { action: "update" });
    const files = {
      "main.tf": `${FILES["main.tf"]} resource "aws_vpc" "c" { cidr_block = aws_vpc.a }`,
    };
    const changes = [update, change("aws_vpc.c", { action: "update" })];
    const all = { ...FILES, ...files };
    expect(await relevant(all, found, [...changes, change("aws_vpc.a", {})])).toEqual([false]);
    // Other providers mean what they write.
    const exact = change("aws_vpc.a", { legacyTypeSystem: false });
    expect(await relevant(all, found, [...changes, exact])).toEqual([
      expect.arrayContaining(["tags", "name", "on"]),
    ]);
  });

  it("is relevant where what is gone is used or made anew", async () => {
    const gone = [drift("aws_vpc.a", { tags: Value.null(TAGS) })];
    expect(await relevant(FILES, gone, [change("aws_vpc.a", { action: "create" })])).toEqual([
      true,
    ]);
    expect(await relevant(FILES, gone, [])).toEqual([false]);
  });
});
