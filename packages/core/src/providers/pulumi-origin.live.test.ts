import { spawnSync } from "node:child_process";
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import type { PlanOptions } from "../plan/plan.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { builtinOrigin } from "./builtin-origin.ts";
import { pulumiOrigin } from "./pulumi-origin.ts";

/* A Pulumi provider that others' framework makes, as a process, through the engine. */

const LAB = process.env.TEST_TOOL_PULUMI_RESOURCE_LAB ?? "";

it("a Go provider of Pulumi makes, changes, replaces and ends what a template says", {
  timeout: 120_000,
}, async (ctx) => {
  ctx.skip(LAB === "", "TEST_TOOL_PULUMI_RESOURCE_LAB is not set");
  await using scratch = await mkdtempDisposable(join(tmpdir(), "pulumi-lab-"));
  const folder = join(scratch.path, "notes");
  const { state } = createTestState();
  const engine = createEngine({
    origins: [
      builtinOrigin(),
      pulumiOrigin({
        providers: { lab: { command: LAB, env: { PULUMI_HOME: scratch.path } } },
      }),
    ],
  });
  const run = async (note: string, options: PlanOptions = {}) => {
    const text = `
      terraform {
        required_providers {
          lab = { source = "stackwright.local/pulumi/lab" }
        }
      }
      provider "lab" { directory = ${JSON.stringify(folder)} }
      ${note}
      data "lab:index:join" "j" {
        separator = "-"
        parts     = ["a", "b"]
      }
      resource "terraform_data" "after" { input = data.lab_join.j.text }
    `;
    const configuration = await loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(text),
    });
    const given = { state, configuration, variables: new Map() };
    const { plan, diagnostics } = await engine.plan({ ...given, options });
    const problems = diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`);
    if (plan === undefined) throw new Error(problems.join("\n"));
    const result = await engine.apply({ ...given, plan });
    problems.push(...result.diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`));
    const actions = plan.changes
      .filter(({ action, mode }) => action !== "no-op" && mode === "managed")
      .map(({ action, address }) => `${action} ${address}`);
    const { objects } = await state.read();
    const kept = [...objects.values()].map(({ value }) => value?.json).join("\n");
    const secrets = [...objects.values()].flatMap(({ address, value }) =>
      (value?.sensitive ?? []).map((path) => `${address}${path.toString()}`),
    );
    return { problems, actions, status: result.status, kept, secrets };
  };
  const files = async (): Promise<readonly string[]> => {
    const names = await readdir(folder).catch(() => []);
    return Promise.all(names.map(async (name) => readFile(join(folder, name), "utf8")));
  };
  const note = (title: string, text: string, type = "lab_note"): string =>
    `resource "${type}" "n" {\n title = "${title}"\n text = "${text}"\n secret = "hunter2-secret"\n}\n`;

  const made = await run(note("one", "first"));
  expect(made.problems).toEqual([]);
  expect(made.status).toBe("applied");
  expect(made.actions.toSorted()).toEqual(["create lab_note.n", "create terraform_data.after"]);
  expect(made.kept).toContain("a-b");
  // What the provider says is secret is kept as such.
  expect(made.secrets).toEqual(["lab_note.n.secret"]);
  expect(await files()).toEqual([expect.stringContaining("first")]);
  expect(await run(note("one", "first"))).toMatchObject({ problems: [], actions: [] });
  expect(await run(note("one", "first", "lab:index:Note"))).toMatchObject({
    problems: [],
    actions: [],
  });
  expect(await run(note("one", "second", "lab:index:Note"))).toMatchObject({
    problems: [],
    actions: ["update lab_note.n"],
    status: "applied",
  });
  expect(await files()).toEqual([expect.stringContaining("second")]);
  await expect(run(note("one", "second", "lab:index:Notes"))).rejects.toThrow(
    'has no resource type "lab:index:Notes". Did you mean "lab:index:Note"?',
  );
  expect(await run(note("two", "second"))).toMatchObject({
    problems: [],
    actions: ["replace lab_note.n"],
    status: "applied",
  });
  expect(await files()).toHaveLength(1);
  const gone = await run(note("two", "second"), { mode: "destroy" });
  expect(gone).toMatchObject({ problems: [], status: "applied" });
  expect(await files()).toEqual([]);
  expect((await state.read()).objects.size).toBe(0);
});

it("a plug-in that is a program for Go is built and run", { timeout: 240_000 }, async (ctx) => {
  ctx.skip(LAB === "", "TEST_TOOL_PULUMI_RESOURCE_LAB is not set");
  ctx.skip(spawnSync("go", ["version"]).status !== 0, "Go is not installed");
  await using scratch = await mkdtempDisposable(join(tmpdir(), "pulumi-go-"));
  const folder = join(scratch.path, "resource-lab-v1.0.0");
  await mkdir(folder);
  // A program that becomes the provider: Pulumi's SDK takes minutes to build.
  const program = `package main
import ("os"; "syscall")
func main() { panic(syscall.Exec(${JSON.stringify(LAB)}, os.Args, os.Environ())) }
`;
  await writeFile(join(folder, "main.go"), program);
  await writeFile(join(folder, "go.mod"), "module example.com/lab\n\ngo 1.24\n");
  await writeFile(join(folder, "PulumiPlugin.yaml"), "runtime: go\n");
  const origin = pulumiOrigin({
    directories: [scratch.path],
    host: { env: { GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod", GOWORK: "off" } },
  });
  const source = "stackwright.local/pulumi/lab";
  const [opened] = await origin.open({ source, version: "1.0.0", alias: "" });
  await using provider = opened?.provider;
  const { schema } = (await provider?.schema({})) ?? {};
  expect(schema?.resources.has("lab_note")).toBe(true);
});
