import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { Version } from "@stackwright/provider-source";
import { sortedSchema } from "@stackwright/tfplugin";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { type AnsweredSchema, installedOrigin } from "./installed-origin.ts";

const program = (name: string): string =>
  process.env[`TEST_TOOL_TERRAFORM_PROVIDER_${name.toUpperCase()}`] ?? "";

describe("installed Terraform providers", () => {
  it("make and unmake real files, random values and what depends on them", {
    timeout: 120_000,
  }, async (ctx) => {
    for (const name of ["random", "local", "null"]) {
      ctx.skip(
        program(name) === "",
        `TEST_TOOL_TERRAFORM_PROVIDER_${name.toUpperCase()} is not set`,
      );
    }
    const directory = await mkdtemp(join(tmpdir(), "installed-"));
    const source = (name: string) => `registry.terraform.io/hashicorp/${name}`;
    const providers = new Map(
      ["random", "local", "null"].map((name) => [
        source(name),
        { version: undefined, executable: program(name) },
      ]),
    );
    const { state } = createTestState();
    const engine = createEngine({ origins: [installedOrigin({ providers })] });
    const run = async (text: string, destroy = false) => {
      const files = {
        ...EMPTY_BUNDLE,
        names: () => ["main.tf"],
        read: () => new TextEncoder().encode(text),
      };
      const configuration = await loadConfiguration(files);
      const common = { state, configuration, variables: new Map() };
      const made = await engine.plan({
        ...common,
        ...(destroy && { options: { mode: "destroy" as const } }),
      });
      expect(made.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
      if (made.plan === undefined) throw new Error("there is no plan");
      const result = await engine.apply({ ...common, plan: made.plan });
      expect(result.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(result.status).toBe("applied");
      return made.plan.changes
        .filter(({ action }) => action !== "no-op")
        .map(({ action, address }) => `${action} ${address}`);
    };
    const text = (length: number): string => `
      terraform {
        required_providers {
          random = { source = "hashicorp/random" }
          local  = { source = "hashicorp/local" }
          null   = { source = "hashicorp/null" }
        }
      }
      resource "random_password" "p" { length = ${length} }
      resource "local_file" "f" {
        filename = "${directory}/out"
        content  = sha256(random_password.p.result)
      }
      resource "null_resource" "n" {
        triggers = { file = local_file.f.id }
      }
      output "length" { value = nonsensitive(length(random_password.p.result)) }
    `;
    try {
      expect(await run(text(12))).toEqual([
        "create random_password.p",
        "create local_file.f",
        "create null_resource.n",
      ]);
      const first = await readFile(join(directory, "out"), "utf8");
      expect(first).toMatch(/^[0-9a-f]{64}$/);
      expect(await run(text(12))).toEqual([]);
      expect(await run(text(13))).toEqual([
        "replace random_password.p",
        "replace local_file.f",
        "replace null_resource.n",
      ]);
      expect(await readFile(join(directory, "out"), "utf8")).not.toBe(first);
      const { outputs } = await state.read();
      expect(outputs.get("length")?.json).toBe("13");
      expect(await run(text(13), true)).toHaveLength(3);
      await expect(stat(join(directory, "out"))).rejects.toMatchObject({ code: "ENOENT" });
      expect((await state.read()).objects.size).toBe(0);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  });

  it("tell what their schemas are, in the same bytes once sorted, unless the program is being developed", {
    timeout: 120_000,
  }, async (ctx) => {
    ctx.skip(program("random") === "", "TEST_TOOL_TERRAFORM_PROVIDER_RANDOM is not set");
    const source = "registry.terraform.io/hashicorp/random";
    const told: AnsweredSchema[] = [];
    const ask = async (digest?: string, environment = {}): Promise<void> => {
      const origin = installedOrigin({
        providers: new Map([
          [
            source,
            {
              version: Version.parse("3.0.0"),
              executable: program("random"),
              ...(digest !== undefined && { digest }),
            },
          ],
        ]),
        // A schema that experiments of an environment may have changed is not told.
        launch: { env: { PATH: "/usr/bin:/bin", ...environment } },
        onSchema: (answered) => told.push(answered),
      });
      const [{ provider }] = await origin.open({ source, version: "3.0.0", alias: "" });
      try {
        await provider.schema({});
        await provider.schema({});
      } finally {
        await provider.close();
      }
    };
    await ask("h1:one");
    await ask("h1:one");
    expect(told).toMatchObject([
      { source, version: "3.0.0" },
      { source, version: "3.0.0" },
    ]);
    const [first, second] = told.map(({ schema }) => sortedSchema(schema));
    expect(Buffer.compare(first ?? Buffer.of(1), second ?? Buffer.of(2))).toBe(0);
    await ask();
    expect(told).toHaveLength(2);
  });
});
