import { readFileSync } from "node:fs";
import { join } from "node:path";
import { formatStateFile } from "@stackwright/tfstate";
import { assert, describe, expect, it } from "vitest";
import { objectKey } from "../state/state-object.ts";
import { createTestState, TEST_STACK } from "../testing/state-fixture.ts";
import { exportState } from "./export-state.ts";
import { importState } from "./import-state.ts";
import { readStateFile } from "./read-state-file.ts";

// Written by Terraform 1.11.4: modules with keys, counts, a tainted and a deposed object, private bytes, numbers beyond
// double precision, sensitive paths, outputs, results of checks.
const TEXT = readFileSync(
  join(import.meta.dirname, "../../fixtures/tfstate/objects.tfstate"),
  "utf8",
);

/** Takes a state file over into a store and gives what is read back from it. */
async function throughStore(text: string) {
  const file = readStateFile(text);
  const { changes, outputs } = importState(file);
  const { state } = createTestState();
  await using hold = await state.acquire();
  const writer = await hold.begin({ run: "01J9ZC00000000000000000RVN", base: 0n });
  await Promise.all(changes.map((change) => writer.write(change)));
  await writer.finish({ outputs });
  return { file, snapshot: await state.read() };
}

describe("a state file", () => {
  it("is written as it was read, byte by byte", () => {
    expect(formatStateFile(readStateFile(TEXT))).toBe(TEXT);
  });

  it("comes through a store, byte by byte", async () => {
    const { file, snapshot } = await throughStore(TEXT);
    const { serial, lineage, terraformVersion, checkResults } = file;
    const exported = exportState(TEST_STACK, snapshot, {
      serial,
      lineage,
      terraformVersion,
      checkResults,
    });
    expect(formatStateFile(exported)).toBe(TEXT);
  });

  it("has its own line and the state's revision where nothing is said", async () => {
    const { snapshot } = await throughStore(TEXT);
    const one = exportState(TEST_STACK, snapshot);
    const other = exportState({ ...TEST_STACK, project: "other" }, snapshot);
    expect(one.serial).toBe(2n);
    expect(one.lineage).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(one.lineage).not.toBe(other.lineage);
  });

  it("has one result for the conditions of a resource in all instances of its module", async () => {
    const { snapshot } = await throughStore(TEXT);
    const checks = [0, 1].map((index) => ({
      address: `module.m[${index}].terraform_data.r["x"]`,
      kind: "precondition" as const,
      index: 0,
      status: "pass" as const,
    }));
    const text = formatStateFile(exportState(TEST_STACK, { ...snapshot, checks }));
    const { check_results: results } = JSON.parse(text) as {
      check_results: readonly {
        config_addr: string;
        objects: readonly { object_addr: string }[];
      }[];
    };
    expect(
      results.map(({ config_addr, objects }) => [
        config_addr,
        objects.map(({ object_addr }) => object_addr),
      ]),
    ).toEqual([["module.m.terraform_data.r", checks.map(({ address }) => address)]]);
  });

  it("keeps what matters of each object", async () => {
    const { snapshot } = await throughStore(TEXT);
    const { objects } = snapshot;
    expect(objects.get("terraform_data.counted[1]")?.phase).toBe("tainted");
    const deposed = objects.get(
      objectKey({ address: "terraform_data.counted[2]", deposed: "00a1b2c3" }),
    );
    expect(Buffer.from(deposed?.privateBytes ?? []).toString()).toBe('{"schema_version":"1"}');
    expect([...(objects.get("terraform_data.counted[2]")?.privateBytes ?? [])]).toEqual([
      0, 1, 2, 255,
    ]);
    const inner = objects.get('module.m["k2"].terraform_data.inner');
    expect(inner?.value?.json).toContain('"big":90071992547409931234.5');
    expect(inner?.dependencies.map(({ address }) => address)).toEqual([
      "terraform_data.counted",
      "terraform_data.each",
      "terraform_data.one",
    ]);
    const one = objects.get("terraform_data.one");
    expect(one?.value?.sensitive.map(String)).toEqual([".triggers_replace[0]", ".input"]);
    expect(one?.createBeforeDestroy).toBe(true);
    expect(objects.get('module.m["k1"].data.terraform_remote_state.x')?.mode).toBe("data");
    expect(objects.get('terraform_data.each["q\\"x"]')?.provider).toEqual({
      source: "terraform.io/builtin/terraform",
      version: "",
      alias: "",
    });
  });

  it("names what is not settled instead of leaving it out", async () => {
    const { snapshot } = await throughStore(TEXT);
    const objects = new Map(snapshot.objects);
    const one = objects.get("terraform_data.one");
    assert(one !== undefined);
    objects.set("terraform_data.one", { ...one, phase: "updating" });
    expect(() => exportState(TEST_STACK, { ...snapshot, objects })).toThrow(
      expect.objectContaining({
        code: "ENGINE_SURGERY_INVALID",
        details: { addresses: ["terraform_data.one (updating)"] },
      }),
    );
  });

  const minimal = (members: string) =>
    `{"version":4,"terraform_version":"1","serial":1,"lineage":"l"${members}}`;
  const resource = (
    instance: string,
    provider = 'provider[\\"registry.terraform.io/hashicorp/null\\"]',
  ) =>
    minimal(
      `,"resources":[{"mode":"managed","type":"t","name":"n","provider":"${provider}","instances":[${instance}]}]`,
    );

  it("is accepted with what old releases leave out", () => {
    const state = readStateFile(resource('{"schema_version":0,"attributes":{}}'));
    expect(importState(state).changes[0]?.content.value).toEqual({
      schemaVersion: 0,
      json: "{}",
      sensitive: [],
    });
  });

  it.each([
    ["no JSON", "{"],
    ["text behind the end", `${minimal("")} x`],
    ["a control character in a string", minimal(',"resources":"\u0001"')],
    ["another version", '{"version":3}'],
    ["an unknown member", minimal(',"extra":1')],
    ["a member twice", minimal(',"serial":2')],
    ["a trailing comma", '{"version":4,}'],
    ["flat attributes", resource('{"schema_version":0,"attributes_flat":{}}')],
    ["a key that is no key", resource('{"index_key":1.5,"schema_version":0,"attributes":{}}')],
    ["no attributes", resource('{"schema_version":0}')],
    ["no provider", resource('{"schema_version":0,"attributes":{}}', "x.y")],
    [
      "a path of another kind",
      resource('{"schema_version":0,"attributes":{},"sensitive_attributes":[[{"type":"splat"}]]}'),
    ],
  ])("is refused with %s", (_title, text) => {
    expect(() => importState(readStateFile(text))).toThrow(
      expect.objectContaining({ code: "ENGINE_STATE_FILE_INVALID" }),
    );
  });

  it("knows providers of modules and with aliases", async () => {
    const provider = 'module.net.module.a.provider[\\"registry.terraform.io/hashicorp/aws\\"].west';
    const text = resource('{"schema_version":1,"attributes":{"id":"x"}}', provider);
    const { snapshot } = await throughStore(text);
    expect(snapshot.objects.get("t.n")?.provider.alias).toBe("module.net.module.a.west");
    const exported = exportState(TEST_STACK, snapshot);
    expect(exported.resources[0]?.provider).toBe(JSON.parse(`"${provider}"`));
  });
});
