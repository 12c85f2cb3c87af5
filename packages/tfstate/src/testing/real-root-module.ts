import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { ArgumentValues } from "../backend/backend-arguments.ts";
import { openBackend } from "../backend/open-backend.ts";
import type { LockRecord, StateBackend } from "../backend/state-backend.ts";
import { parseStateFile } from "../state-file.ts";

/** The reference command. */
export const COMMAND: string = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
export const NO_COMMAND = "there is no terraform command (STACKWRIGHT_TERRAFORM)";

/** A root module with a backend block, used by the real command. */
export interface RootModule {
  readonly directory: string;
  run(...words: readonly string[]): Promise<{ readonly code: number; readonly text: string }>;
  open(values: ArgumentValues): Promise<StateBackend>;
}

export async function rootModule(
  type: string,
  block: string,
  env: NodeJS.ProcessEnv = {},
): Promise<RootModule> {
  const directory = await mkdtemp(join(tmpdir(), "backend-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const config = `terraform {
  backend "${type}" {
${block}
  }
}
resource "terraform_data" "a" {
  input = terraform.workspace
}
`;
  await writeFile(join(directory, "main.tf"), config);
  const all = { PATH: process.env["PATH"] ?? "", HOME: directory, TF_IN_AUTOMATION: "1", ...env };
  return {
    directory,
    // Not the blocking call: a server that the command talks to may run in this process.
    run: async (...words) =>
      new Promise((resolve) => {
        const options = { cwd: directory, env: all, timeout: 60_000 };
        execFile(COMMAND, [...words], options, (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
          resolve({ code, text: stdout + stderr });
        });
      }),
    open: async (values) => openBackend({ type, values }, { directory, env: all }),
  };
}

export function record(): LockRecord {
  return {
    ID: randomUUID(),
    Operation: "stackwright adopt",
    Info: "",
    Who: "ann@build",
    Version: "1",
    Created: new Date().toISOString(),
    Path: "",
  };
}

/** What holds for every backend: layout, lock both ways, and a write that the real command reads. */
export async function provesItself(
  root: RootModule,
  values: ArgumentValues,
  {
    workspaces = true,
    locks = true,
  }: { readonly workspaces?: boolean; readonly locks?: boolean } = {},
): Promise<void> {
  const init = await root.run("init", "-input=false", "-no-color");
  expect(init.code, init.text).toBe(0);
  expect(await root.run("apply", "-auto-approve", "-no-color")).toMatchObject({ code: 0 });
  if (workspaces) {
    expect((await root.run("workspace", "new", "stg")).code).toBe(0);
    const applied = await root.run("apply", "-auto-approve", "-no-color");
    expect(applied.code, applied.text).toBe(0);
    expect((await root.run("workspace", "select", "default")).code).toBe(0);
  }
  await using backend = await root.open(values);
  expect(await backend.workspaces()).toEqual(workspaces ? ["default", "stg"] : ["default"]);
  const bytes = await backend.read("default");
  expect(bytes).toBeDefined();
  const state = parseStateFile(Buffer.from(bytes ?? []).toString("utf8"));
  expect(state.resources.map(({ name }) => name)).toEqual(["a"]);
  expect(await backend.read("no-such-workspace").catch(() => undefined)).toBeUndefined();
  if (workspaces) {
    const other = Buffer.from((await backend.read("stg")) ?? []).toString("utf8");
    expect(other).toContain('"value": "stg"');
  }
  if (locks) {
    const mine = record();
    const held = await backend.lock("default", mine);
    const refused = await root.run("plan", "-input=false", "-no-color");
    expect(refused.code, refused.text).toBe(1);
    expect(refused.text).toContain("acquiring the state lock");
    // The lock of a local file keeps the other command out, and not a second reader of this package.
    if (backend.type !== "local") {
      await using second = await root.open(values);
      await expect(second.lock("default", record())).rejects.toMatchObject({
        code: "TFSTATE_BACKEND_LOCKED",
      });
      if (second.lockHolder !== undefined)
        expect(await second.lockHolder("default")).toContain(mine.ID);
    }
    await held.release();
    if (backend.lockHolder !== undefined)
      expect(await backend.lockHolder("default")).toBeUndefined();
  }
  const text = Buffer.from(bytes ?? [])
    .toString("utf8")
    .replace(`"serial": ${state.serial}`, `"serial": ${state.serial + 5n}`);
  const lock = await backend.lock("default", record());
  await backend.write("default", Buffer.from(text), { lockId: lock.id });
  await lock.release();
  const plan = await root.run("plan", "-detailed-exitcode", "-input=false", "-no-color");
  expect(plan.code, plan.text).toBe(0);
  expect((await root.run("state", "pull")).text).toContain(`"serial": ${state.serial + 5n}`);
}
