import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { expect } from "vitest";
import type { BridgeManifest } from "../bridge/bridge-binding.ts";
import { loadBridgeProgram, packBridgeExecutable } from "../bridge/bridge-program.ts";
import { bundleSchema } from "../bridge/bundled-schema.ts";
import type { FunctionServerOptions } from "../function/function-server.ts";
import { createLifecycleRunner } from "../function/lifecycle-runner.ts";
import { startBridgedFunction, TEST_URN } from "./bridged-function.ts";
import { createToyProvider, createToyWorld, type ToyWorld } from "./toy-provider.ts";

const found = spawnSync("terraform", ["version", "-json"], { encoding: "utf8" });
const version = /"terraform_version":\s*"([^"]+)"/.exec(found.stdout ?? "")?.[1];
/** Why tests with the real command cannot run; undefined where they can. */
export const terraformAbsent =
  found.status !== 0
    ? "the command terraform is not installed"
    : version?.startsWith("1.11.") === true
      ? undefined
      : `terraform ${version} is not the recorded 1.11`;

/** How a command ended. */
interface Ended {
  readonly code: number | null;
  readonly output: string;
}

export interface BridgeSetUp {
  readonly server?: Partial<FunctionServerOptions>;
  /** Where the bridge looks for the function, instead of where it is. */
  readonly url?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Folder of the node that runs the bridge. @default the first in PATH */
  readonly nodeFolder?: string;
}

/** Address of the provider. */
export const SOURCE = "example.com/acme/toy";

/** A folder with a configuration, the bridge as an override, and the toys behind a function. */
export async function setUpBridge(
  cleanup: AsyncDisposableStack,
  resources: string,
  options: BridgeSetUp = {},
) {
  const world: ToyWorld = createToyWorld();
  const runner = createLifecycleRunner({ name: "toy", create: () => createToyProvider(world) });
  const bridged = cleanup.use(
    await startBridgedFunction({ runner, ...(options.server && { server: options.server }) }),
  );
  const scratch = cleanup.use(await mkdtempDisposable(join(tmpdir(), "bridge-")));
  const schema = await bridged.connect().unary("GetSchema", new Uint8Array(), {});
  const manifest: BridgeManifest = {
    address: SOURCE,
    version: "1.0.0",
    functionUrn: TEST_URN,
    endpoint: { kind: "url", url: options.url ?? bridged.server.url },
    networks: ["127.0.0.0/8"],
    schema: Buffer.from(bundleSchema(schema) ?? []).toString("base64"),
  };
  const bin = join(scratch.path, "bin");
  await mkdir(bin);
  const program = join(bin, "terraform-provider-toy");
  await writeFile(program, packBridgeExecutable(await loadBridgeProgram(), manifest), {
    mode: 0o755,
  });
  const overrides = `dev_overrides {\n${JSON.stringify(SOURCE)} = ${JSON.stringify(bin)}\n}`;
  await writeFile(
    join(scratch.path, "rc"),
    `provider_installation {\n${overrides}\ndirect {}\n}\n`,
  );
  const configure = (text: string) =>
    writeFile(
      join(scratch.path, "main.tf"),
      `terraform {
         required_providers {
           toy = { source = ${JSON.stringify(SOURCE)} }
         }
       }
       provider "toy" {
         token = "t0ken-of-the-toys"
       }
       ${text}\n`,
    );
  await configure(resources);
  const env = {
    PATH: [options.nodeFolder ?? [], process.env.PATH ?? ""].flat().join(delimiter),
    HOME: scratch.path,
    TF_CLI_CONFIG_FILE: join(scratch.path, "rc"),
    CHECKPOINT_DISABLE: "1",
    TF_IN_AUTOMATION: "1",
    TF_INPUT: "0",
    STACKWRIGHT_STOP_GRACE_MS: "500",
    ...options.env,
  };
  const start = (...args: string[]): ChildProcess & { done: Promise<Ended> } => {
    const child = spawn("terraform", [...args, "-no-color"], {
      cwd: scratch.path,
      env,
      detached: true,
    });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const done = new Promise<Ended>((resolve) => {
      child.once("close", (code) => resolve({ code, output }));
    });
    return Object.assign(child, { done });
  };
  const run = (...args: string[]) => start(...args).done;
  const ok = async (...args: string[]) => {
    const { code, output } = await run(...args);
    expect(code, output).toBe(0);
    return output;
  };
  const stateText = () => readFile(join(scratch.path, "terraform.tfstate"), "utf8");
  const state = async () =>
    JSON.parse(await stateText()) as {
      resources: { instances: { status?: string; attributes: Record<string, unknown> }[] }[];
    };
  const bridges = () => processesWith(program);
  return {
    world,
    bridged,
    manifest,
    configure,
    run,
    ok,
    start,
    state,
    stateText,
    bridges,
    scratch: scratch.path,
    program,
    env,
  };
}

function processesWith(text: string): number[] {
  const lines = execFileSync("ps", ["-eo", "pid,args"], { encoding: "utf8" }).split("\n");
  return lines
    .filter((line) => line.includes(text) && !line.includes("ps -eo"))
    .map((line) => Number.parseInt(line, 10));
}
