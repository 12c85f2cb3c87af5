import { mkdir, mkdtempDisposable, readdir, symlink, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

/* Real Pulumi providers in the command: one made with Pulumi's Go framework, and the one that comes with its SDK for Node. */

const LAB = process.env.TEST_TOOL_PULUMI_RESOURCE_LAB ?? "";

/** A home of Pulumi with one installed plug-in, and a folder with a configuration. */
async function setUp(name: string, version: string, install: (path: string) => Promise<void>) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "pulumi-providers-"));
  const home = join(scratch.path, "home");
  const folder = join(home, "plugins", `resource-${name}-v${version}`);
  await mkdir(folder, { recursive: true });
  await install(join(folder, `pulumi-resource-${name}`));
  const cwd = join(scratch.path, "work");
  await mkdir(cwd);
  return {
    scratch,
    notes: join(scratch.path, "notes"),
    write: async (text: string) => writeFile(join(cwd, "main.tf"), text),
    run: async (words: readonly string[], env: NodeJS.ProcessEnv = {}) =>
      tryCommand(words, {
        cwd,
        env: { PATH: process.env.PATH, HOME: scratch.path, PULUMI_HOME: home, ...env },
      }),
    [Symbol.asyncDispose]: () => scratch.remove(),
  };
}

describe("a real Pulumi provider in the command", { timeout: 120_000 }, () => {
  it("is used from Pulumi's home, its log shown, and its secrets in no text", async (ctx) => {
    ctx.skip(LAB === "", "TEST_TOOL_PULUMI_RESOURCE_LAB is not set");
    await using tried = await setUp("lab", "1.0.0", async (path) => symlink(LAB, path));
    const text = (version: string, title: string): string => `
      terraform {
        required_providers {
          lab = {
            source  = "stackwright.local/pulumi/lab"
            version = "${version}"
          }
        }
      }
      provider "lab" { directory = ${JSON.stringify(tried.notes)} }
      variable "secret" {
        sensitive = true
        default   = "hunter2-secret"
      }
      resource "lab_note" "n" {
        title  = "${title}"
        text   = "first"
        secret = var.secret
      }
      output "title" { value = lab_note.n.title }
    `;
    await tried.write(text("~> 1.0", "one"));
    const made = await tried.run(["up", "--yes"], { TF_LOG: "trace" });
    expect(made.code, made.error + made.output).toBe(0);
    expect(await readdir(tried.notes)).toHaveLength(1);
    expect(made.error).toContain('lab: makes "one"\n');
    expect(made.error).toMatch(/^lab: debug: hides /m);
    expect(made.error + made.output).not.toContain("hunter2");
    expect((await tried.run(["plan", "-detailed-exitcode"])).code).toBe(0);
    await tried.write(text("~> 2.0", "one"));
    const refused = await tried.run(["plan"]);
    expect(refused.code).toBe(1);
    expect((refused.error + refused.output).replaceAll(/\s+[│|]?\s*/g, " ")).toContain(
      'No Pulumi provider "lab" matches the version constraint "~> 2.0". Installed: 1.0.0.',
    );
    await tried.write(text("~> 1.0", "two"));
    expect((await tried.run(["up", "--yes"])).code).toBe(0);
    expect((await tried.run(["destroy", "--yes"])).code).toBe(0);
    expect(await readdir(tried.notes)).toEqual([]);
  });

  it("that is Pulumi's dynamic one makes resources of modules in the configuration", async () => {
    // Without an address of an engine it ends at once.
    const main = createRequire(import.meta.resolve("@stackwright/mux")).resolve(
      "@pulumi/pulumi/cmd/dynamic-provider",
    );
    await using tried = await setUp("pulumi-nodejs", "3.260.0", async (path) =>
      writeFile(path, `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`, { mode: 0o755 }),
    );
    const text = (name: string): string => `
      terraform {
        required_providers {
          dynamic = { source = "stackwright.local/pulumi/pulumi-nodejs" }
        }
      }
      resource "terraform_data" "name" { input = "${name}" }
      resource "dynamic_resource" "greeting" {
        source = <<-EOT
          const fs = require("node:fs");
          exports.handler = () => ({
            check: async (_olds, news) => ({
              inputs: news,
              failures: news.name === "nobody" ? [{ property: "name", reason: "cannot be greeted" }] : [],
            }),
            diff: async (_id, olds, news) => ({
              changes: olds.name !== news.name || olds.tone !== news.tone,
              replaces: olds.name !== news.name ? ["name"] : [],
            }),
            create: async (inputs) => {
              const file = inputs.folder + "/" + inputs.name;
              fs.mkdirSync(inputs.folder, { recursive: true });
              fs.writeFileSync(file, "hello");
              return { id: file, outs: { ...inputs, file } };
            },
            delete: async (id) => fs.rmSync(id),
          });
        EOT
        inputs = { name = terraform_data.name.output, folder = ${JSON.stringify(tried.notes)} }
      }
      output "file" { value = dynamic_resource.greeting.outputs.file }
    `;
    await tried.write(text("ann"));
    const made = await tried.run(["up", "--yes"], { TF_LOG: "trace" });
    expect(made.code, made.error + made.output).toBe(0);
    expect(made.output).toContain(`file = ${JSON.stringify(join(tried.notes, "ann"))}`);
    const still = await tried.run(["plan", "-detailed-exitcode"]);
    expect(still.code, still.error + still.output).toBe(0);
    await tried.write(text("bob"));
    const replaced = await tried.run(["up", "--yes"]);
    expect(replaced.code, replaced.error + replaced.output).toBe(0);
    expect(await readdir(tried.notes)).toEqual(["bob"]);
    const rewritten = text("bob").replace('"hello"', '"good day"');
    await tried.write(rewritten);
    expect((await tried.run(["up", "--yes"])).output).toContain("0 added, 1 changed, 0 destroyed");
    expect((await tried.run(["plan", "-detailed-exitcode"])).code).toBe(0);
    await tried.write(text("nobody").replace("terraform_data.name.output", '"nobody"'));
    const refused = await tried.run(["plan"]);
    expect(refused.error + refused.output).toContain("cannot be greeted");
    expect((await tried.run(["destroy", "--yes"])).code).toBe(0);
    expect(await readdir(tried.notes)).toEqual([]);
  });
});
