import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { computed, createProvider, defineResource, required, types } from "@stackwright/mux/kit";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine, type Engine } from "../engine.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { builtinOrigin, inProcessOrigin } from "./builtin-origin.ts";
import { cocorpcOrigin } from "./cocorpc-origin.ts";
import { parseJoinedProviders } from "./joined-file.ts";
import { joinedOrigin } from "./joined-origin.ts";
import { ProviderInstancePool } from "./provider-instance-pool.ts";
import { pulumiOrigin } from "./pulumi-origin.ts";

const programOf = (name: string): string =>
  fileURLToPath(new URL(`../testing/programs/${name}.ts`, import.meta.url));

const PROPERTIES = { label: { type: "string" }, size: { type: "number" } };
const DISK_SCHEMA = JSON.stringify({
  name: "disk",
  resources: {
    "disk:volume:Volume": {
      inputProperties: PROPERTIES,
      requiredInputs: ["label", "size"],
      properties: { ...PROPERTIES, path: { type: "string" } },
      required: ["label", "size", "path"],
    },
  },
});

/** A provider in this process whose one type says what it was configured with. */
const signed = (type: string, argument: string) => () =>
  createProvider({
    config: { [argument]: required(types.string) },
    configure: (config) => String((config as Record<string, unknown>)[argument]),
    resources: {
      [type]: defineResource({
        attributes: { text: required(types.string), signature: computed(types.string) },
        create: ({ text }, { client }: { client: string }) => ({ signature: `${text} ${client}` }),
        delete: () => undefined,
      }),
    },
  });

interface Entry {
  readonly programs: readonly Readonly<Record<string, string>>[];
  readonly conflicts?: string;
  readonly owners?: Readonly<Record<string, string>>;
}

const SOURCE = "example.com/acme/all";

/** An engine whose provider `all` is made as the entry says. */
async function withJoined(
  entry: Entry,
  work: (
    engine: Engine,
    folder: string,
    entryOf: (next: Entry) => Promise<Engine>,
  ) => Promise<void>,
): Promise<void> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "joined-"));
  await using pools = new AsyncDisposableStack();
  const origins = [
    inProcessOrigin("in process", {
      "example.com/acme/red": signed("paint_red", "red"),
      "example.com/acme/blue": signed("paint_blue", "blue"),
      "example.com/acme/other": signed("paint_red", "red"),
    }),
    pulumiOrigin({
      providers: { shelf: { command: process.execPath, args: [programOf("shelf-provider")] } },
    }),
    cocorpcOrigin({
      providers: {
        disk: {
          command: process.execPath,
          args: [programOf("disk-2017"), join(scratch.path, "disk")],
          schema: DISK_SCHEMA,
        },
      },
    }),
  ];
  const engineOf = async (given: Entry): Promise<Engine> => {
    const text = JSON.stringify({ providers: { [SOURCE]: given } });
    const providers = await parseJoinedProviders(Buffer.from(text));
    const pool = pools.use(new ProviderInstancePool());
    return createEngine({
      origins: [builtinOrigin(), pool.keep(joinedOrigin({ providers, origins }))],
    });
  };
  await work(await engineOf(entry), scratch.path, engineOf);
}

const HEAD = `terraform {
  required_providers {
    all = { source = "${SOURCE}" }
  }
}
`;

async function configurationOf(text: string) {
  return loadConfiguration({
    ...EMPTY_BUNDLE,
    names: () => ["main.tf"],
    read: () => new TextEncoder().encode(HEAD + text),
  });
}

const PULUMI = { source: "stackwright.local/pulumi/shelf" };
const DISK = { source: "stackwright.local/cocorpc/disk" };
const RED = { source: "example.com/acme/red" };
const BLUE = { source: "example.com/acme/blue" };
const OTHER = { source: "example.com/acme/other" };

async function programsOf(engine: Engine) {
  const [opened] = await engine.catalog.open({ source: SOURCE, version: "", alias: "" });
  await using _provider = opened.provider;
  return Object.fromEntries(opened.programs?.resources ?? []);
}

describe("a provider that is made of several programs", { timeout: 60_000 }, () => {
  it("plans, applies and destroys types of three protocols under one configuration", async () =>
    withJoined({ programs: [RED, PULUMI, DISK, BLUE] }, async (engine, folder) => {
      const { state } = createTestState();
      const text = `
        provider "all" {
          red  = "with red"
          blue = "with blue"
        }
        resource "shelf_shelf_book" "b" {
          provider = all
          title    = "Emma"
          pages    = 300
        }
        resource "disk:volume:Volume" "v" {
          provider = all
          label    = "a"
          size     = 1
        }
        resource "paint_red" "r" {
          provider = all
          text     = shelf_shelf_book.b.slug
        }
        resource "paint_blue" "b" {
          provider = all
          text     = disk_volume_volume.v.label
        }
        output "all" { value = [paint_red.r.signature, paint_blue.b.signature] }
      `;
      const configuration = await configurationOf(text);
      const run = async (mode: "normal" | "destroy") => {
        const given = { state, configuration, variables: new Map() };
        const { plan, diagnostics } = await engine.plan({ ...given, options: { mode } });
        expect(diagnostics).toEqual([]);
        if (plan === undefined) throw new Error("there is no plan");
        const { diagnostics: problems } = await engine.apply({ ...given, plan });
        expect(problems).toEqual([]);
        return plan.changes.map(({ action, address }) => `${action} ${address}`).toSorted();
      };
      const addresses = [
        "disk_volume_volume.v",
        "paint_blue.b",
        "paint_red.r",
        "shelf_shelf_book.b",
      ];
      expect(await run("normal")).toEqual(addresses.map((address) => `create ${address}`));
      expect((await state.read()).outputs.get("all")?.json).toBe(
        '["emma-300 with red","a with blue"]',
      );
      expect(await run("normal")).toEqual(addresses.map((address) => `no-op ${address}`));
      expect(await run("destroy")).toEqual(addresses.map((address) => `delete ${address}`));
      expect((await readFile(join(folder, "disk", "calls"), "utf8")).trim().split("\n")).toEqual([
        "create a 1",
        "delete a",
      ]);
    }));

  it("says which program serves which type", async () =>
    withJoined({ programs: [RED, { ...PULUMI, name: "books" }, DISK] }, async (engine) => {
      expect(await programsOf(engine)).toMatchObject({
        paint_red: "red",
        shelf_shelf_book: "books",
        disk_volume_volume: "disk",
      });
    }));

  it("is refused where two programs have one type, until something says which of them serves it", async () =>
    withJoined({ programs: [RED, OTHER] }, async (engine, _folder, entryOf) => {
      await expect(programsOf(engine)).rejects.toThrow(
        /Duplicate resource: paint_red is implemented by red, other\.\nName the program .* under "owners" in stackwright\.providers\.json/,
      );
      const programs = [RED, OTHER];
      expect(await programsOf(await entryOf({ programs, conflicts: "first" }))).toEqual({
        paint_red: "red",
      });
      expect(await programsOf(await entryOf({ programs, conflicts: "last" }))).toEqual({
        paint_red: "other",
      });
      const owners = { paint_red: "other" };
      expect(await programsOf(await entryOf({ programs, owners }))).toEqual({ paint_red: "other" });
    }));

  it("is refused where two Pulumi programs have one type, until something says which of them serves it", async () =>
    withJoined(
      {
        programs: [
          { ...PULUMI, name: "one" },
          { ...PULUMI, name: "two" },
        ],
      },
      async (engine, _folder, entryOf) => {
        await expect(programsOf(engine)).rejects.toThrow(/shelf:index:shelf_book.*"owners"/s);
        const programs = [
          { ...PULUMI, name: "one" },
          { ...PULUMI, name: "two" },
        ];
        const owners = { shelf_shelf_book: "two" };
        expect(await programsOf(await entryOf({ programs, owners }))).toMatchObject({
          shelf_shelf_book: "two",
        });
      },
    ));

  it("is refused where an owner does not have the type", async () =>
    withJoined({ programs: [RED, BLUE], owners: { paint_red: "blue" } }, async (engine) => {
      await expect(programsOf(engine)).rejects.toThrow(
        "paint_red is given to blue, which does not implement it.",
      );
    }));

  it("names the program that is not available", async () =>
    withJoined({ programs: [RED, { source: "example.com/acme/none" }] }, async (engine) => {
      await expect(programsOf(engine)).rejects.toThrow(
        'the program "none" of example.com/acme/all is not available',
      );
    }));

  it("has no version, and says where versions are constrained", async () =>
    withJoined({ programs: [RED] }, async (engine) => {
      const configuration = await loadConfiguration({
        ...EMPTY_BUNDLE,
        names: () => ["main.tf"],
        read: () =>
          new TextEncoder().encode(
            `terraform {\n  required_providers {\n    all = {\n      source  = "${SOURCE}"\n      version = "1.0"\n    }\n  }\n}\n`,
          ),
      });
      const { diagnostics } = await engine.plan({
        state: createTestState().state,
        configuration,
        variables: new Map(),
      });
      expect(diagnostics.map(({ detail }) => detail)).toEqual([
        expect.stringContaining("Constrain the programs in stackwright.providers.json instead."),
      ]);
    }));

  it("refuses a plan that was made with other programs", async () =>
    withJoined({ programs: [RED] }, async (engine, _folder, entryOf) => {
      const { state } = createTestState();
      const text =
        'provider "all" { red = "r" }\nresource "paint_red" "r" {\n  provider = all\n  text = "a"\n}\n';
      const configuration = await configurationOf(text);
      const given = { state, configuration, variables: new Map() };
      const { plan } = await engine.plan(given);
      if (plan === undefined) throw new Error("there is no plan");
      const other = await entryOf({ programs: [OTHER] });
      await expect(other.apply({ ...given, plan })).rejects.toMatchObject({
        code: "ENGINE_PROVIDER_CHANGED",
        message: expect.stringContaining("the programs that it is made of") as string,
      });
      expect((await engine.apply({ ...given, plan })).status).toBe("applied");
    }));
});
