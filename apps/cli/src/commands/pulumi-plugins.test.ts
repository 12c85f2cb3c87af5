import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { TEST_PROGRAMS } from "@stackwright/core/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const PROGRAM = TEST_PROGRAMS.chattyProvider;

const template = (constraint: string): string => `
terraform {
  required_providers {
    chatty = {
      source  = "stackwright.local/pulumi/chatty"
      ${constraint === "" ? "" : `version = "${constraint}"`}
    }
  }
}

variable "secret" {
  sensitive = true
  default   = "hunter2-secret"
}

resource "chatty_chatty_note" "n" {
  text = var.secret
}

output "made_by" {
  value = chatty_chatty_note.n.made_by
}
`;

/** Writes the program as one version. */
async function install(folder: string, version: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const script = `#!/bin/sh\nCHATTY_VERSION=${version} exec "${process.execPath}" "${PROGRAM}" "$@"\n`;
  await writeFile(join(folder, "pulumi-resource-chatty"), script, { mode: 0o755 });
}

async function setUp(versions: readonly string[]) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "pulumi-plugins-"));
  const home = join(scratch.path, "pulumi home");
  for (const version of versions) {
    await install(join(home, "plugins", `resource-chatty-v${version}`), version);
  }
  const cwd = join(scratch.path, "work");
  await mkdir(cwd);
  const run = async (words: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    tryCommand(words, {
      cwd,
      env: { PATH: process.env.PATH, HOME: scratch.path, PULUMI_HOME: home, ...env },
    });
  const write = async (constraint: string) => writeFile(join(cwd, "main.tf"), template(constraint));
  const up = async (constraint: string, env?: NodeJS.ProcessEnv) => {
    await write(constraint);
    const result = await run(["up", "--yes"], env);
    const madeBy = await run(["output", "-raw", "made_by"], env);
    return { ...result, madeBy: madeBy.output };
  };
  return { cwd, home, scratch, up, run, write, [Symbol.asyncDispose]: () => scratch.remove() };
}

/* Plug-ins as the Pulumi command installs them. */

describe("a Pulumi provider of the command", { timeout: 120_000 }, () => {
  it("is found in Pulumi's home, in the newest version that the constraint allows", async () => {
    await using tried = await setUp(["1.9.0", "1.10.0", "2.0.0", "3.0.0-beta.1", "1.99.0"]);
    await writeFile(join(tried.home, "plugins", "resource-chatty-v1.99.0.partial"), "");
    const made = await tried.up("~> 1.0");
    expect(made).toMatchObject({ code: 0, madeBy: "1.10.0" });
    await tried.run(["destroy", "--yes"]);
    for (const constraint of [">= 1.0", ""]) {
      expect(await tried.up(constraint)).toMatchObject({ code: 0, madeBy: "2.0.0" });
      await tried.run(["destroy", "--yes"]);
    }
    expect(await tried.up("3.0.0-beta.1")).toMatchObject({ code: 0, madeBy: "3.0.0-beta.1" });
  });

  it("is refused where no version is allowed, with what is installed", async () => {
    await using tried = await setUp(["1.9.0"]);
    const { code, error, output } = await tried.up("~> 2.0");
    expect(code).toBe(1);
    const said = (error + output).replaceAll(/\s+[│|]?\s*/g, " ");
    expect(said).toContain('No Pulumi provider "chatty" matches the version constraint "~> 2.0".');
    expect(said).toContain("Installed: 1.9.0.");
    expect(said).toContain("pulumi plugin install resource chatty VERSION");
  });

  it("is asked for its version where it is a program by itself, and something constrains it", async () => {
    await using tried = await setUp([]);
    const folder = join(tried.scratch.path, "own");
    await install(folder, "4.5.6");
    const env = { STACKWRIGHT_PULUMI_PLUGINS: folder };
    expect(await tried.up("~> 4.5", env)).toMatchObject({ code: 0, madeBy: "4.5.6" });
    expect((await tried.up("~> 5.0", env)).code).toBe(1);
    expect(await tried.up("", env)).toMatchObject({ code: 0 });
  });

  it("calls its engine: what it logs is on standard error, without secrets", async () => {
    await using tried = await setUp(["1.0.0"]);
    const { code, error, output } = await tried.up("");
    expect(code, output + error).toBe(0);
    expect(error).toContain("chatty: makes ");
    expect(error).toContain("chatty: warning: \\u001b[2Jink is\nchatty: warning: low\n");
    expect(error).not.toContain("dips the pen");
    expect(error).not.toContain("writes");
    expect(output + error).not.toContain("hunter2");
    await tried.run(["destroy", "--yes"]);
    const loud = await tried.up("", { STACKWRIGHT_DEBUG: "1" });
    expect(loud.error).toContain("chatty: debug: dips the pen\n");
    expect(loud.error).toContain("chatty: debug: writes ");
    expect(loud.output + loud.error).not.toContain("hunter2");
    // The settings of the log of Terraform providers count for it as well.
    await tried.run(["destroy", "--yes"]);
    const debug = await tried.up("", { TF_LOG: "trace", TF_LOG_PROVIDER: "debug" });
    expect(debug.error).toContain("chatty: debug: dips the pen\n");
    await tried.run(["destroy", "--yes"]);
    const warnings = await tried.up("", { TF_LOG: "warn" });
    expect(warnings.error).toContain("chatty: warning: ");
    expect(warnings.error).not.toContain("chatty: makes ");
  });

  it("is one that runs already, where PULUMI_DEBUG_PROVIDERS names its port: nothing is installed or ended", async () => {
    await using tried = await setUp([]);
    const child = spawn(process.execPath, [TEST_PROGRAMS.shelfProvider], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const [port] = (await once(createInterface(child.stdout), "line")) as [string];
    const env = { PULUMI_DEBUG_PROVIDERS: `shelf:${port}` };
    // No server is there: an installation would fail.
    const plugins = { "stackwright.local/pulumi/shelf": { server: "./none" } };
    const file = join(tried.cwd, "stackwright.providers.json");
    await writeFile(file, JSON.stringify({ plugins }));
    const text = `
      terraform {
        required_providers {
          shelf = {
            source  = "stackwright.local/pulumi/shelf"
            version = "~> 7.0"
          }
        }
      }
      resource "shelf_shelf_book" "b" {
        title = "Emma"
        pages = 300
      }
      output "slug" { value = shelf_shelf_book.b.slug }
    `;
    await writeFile(join(tried.cwd, "main.tf"), text);
    for (const words of [["init"], ["up", "--yes"], ["plan", "-detailed-exitcode"]]) {
      const done = await tried.run(words, env);
      expect(done.code, `${words.join(" ")}: ${done.output}${done.error}`).toBe(0);
    }
    expect((await tried.run(["output", "-raw", "slug"], env)).output).toBe("emma-300");
    expect(existsSync(join(tried.cwd, ".terraform.lock.hcl"))).toBe(false);
    expect(child.exitCode).toBe(null);
    expect((await tried.run(["destroy", "--yes"], env)).code).toBe(0);
    const wrong = await tried.run(["plan"], { PULUMI_DEBUG_PROVIDERS: "shelf" });
    expect(wrong.code).toBe(1);
    expect(wrong.error).toContain('PULUMI_DEBUG_PROVIDERS cannot be used: "shelf" is not of the');
    const without = await tried.run(["plan"]);
    expect(without.code).toBe(1);
  });
});
