import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it } from "vitest";
import { discoverTools, type Tool, toolVariable } from "./tool.ts";

/** What makes a Terraform provider believe that Terraform started it; the same for all of them. */
const COOKIE = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";

/** Providers that know no protocol but 6; the others answer with 5 when both are offered. */
const PROTOCOL_6 = [
  "terraform-provider-lab",
  "terraform-provider-scaffolding",
  "terraform-provider-tfe",
];

/** How a program is started, and its first line of output. */
interface Start {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly line: unknown;
}

/** Undefined for a program whose output its own users test. */
function startOf({ name, version }: Tool): Start | undefined {
  if (name === "etcd") return { args: ["--version"], line: `etcd Version: ${version}` };
  if (name === "opa") return { args: ["version"], line: `Version: ${version}` };
  if (name === "opentofu") return { args: ["version"], line: `OpenTofu v${version}` };
  if (name.startsWith("pulumi-resource-")) {
    return { args: ["127.0.0.1:1"], line: expect.stringMatching(/^\d+$/) };
  }
  if (name.startsWith("terraform-provider-")) {
    const protocol = PROTOCOL_6.includes(name) ? 6 : 5;
    return {
      args: [],
      env: { TF_PLUGIN_MAGIC_COOKIE: COOKIE, PLUGIN_PROTOCOL_VERSIONS: "5,6" },
      line: expect.stringMatching(new RegExp(`^1\\|${protocol}\\|unix\\|/.+\\|grpc\\|?$`)),
    };
  }
  return undefined;
}

// What links but does not run would otherwise show first in the tests that need it, far from the
// pin that is at fault.
describe.each(discoverTools())("$name $version", (tool) => {
  it("starts", async (context) => {
    const path = process.env[toolVariable(tool.name)];
    context.skip(path === undefined, `${toolVariable(tool.name)} is not set`);
    const start = startOf(tool);
    if (start) expect(await firstLine(path!, start)).toEqual(start.line);
  });
});

/** Starts the program, takes its first line, and ends it with everything that it started. */
async function firstLine(path: string, { args, env }: Start): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "stackwright-program-"));
  const child = spawn(path, args, {
    detached: true,
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, TMPDIR: folder, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  try {
    const signal = AbortSignal.timeout(60_000);
    for await (const line of createInterface({ input: child.stdout, signal })) return line;
    throw new Error(`${path} ended without a line`);
  } finally {
    try {
      process.kill(-child.pid!, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
    await exited;
    rmSync(folder, { recursive: true, force: true });
  }
}
