import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const hasCommand = spawnSync(COMMAND, ["version"]).status === 0;
const PROGRAM = join(import.meta.dirname, "../../bin/stackwright.mjs");
const ENV = { PATH: process.env["PATH"] ?? "", TF_IN_AUTOMATION: "1" };

const config = (count: number, value: string): string => `
variable "value" { default = "${value}" }
resource "terraform_data" "a" {
  count = ${count}
  input = "\${terraform.workspace}-\${var.value}-\${count.index}"
}
output "first" { value = terraform_data.a[0].output }
`;

interface Root {
  readonly directory: string;
  terraform(...words: readonly string[]): Promise<{ readonly code: number; readonly text: string }>;
  stackwright(...words: readonly string[]): Promise<CommandResult>;
  write(text: string): Promise<void>;
}

async function rootIn(directory: string, text: string): Promise<Root> {
  await mkdir(join(directory, ".git"), { recursive: true });
  const write = async (content: string): Promise<void> =>
    writeFile(join(directory, "main.tf"), content);
  await write(text);
  return {
    directory,
    write,
    terraform: async (...words) =>
      new Promise((resolve) => {
        const options = { cwd: directory, env: { ...ENV, HOME: directory }, timeout: 60_000 };
        execFile(COMMAND, [...words], options, (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
          resolve({ code, text: stdout + stderr });
        });
      }),
    stackwright: async (...words) => tryCommand(words, { cwd: directory, env: ENV }),
  };
}

async function scratch(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "adopt-live-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** A root module that the real command has applied. */
async function applied(text: string): Promise<Root> {
  const root = await rootIn(await scratch(), text);
  for (const words of [["init"], ["apply", "-auto-approve"]]) {
    const { code, text: said } = await root.terraform(...words, "-no-color");
    expect(code, said).toBe(0);
  }
  return root;
}

describe("adopting a state of the real command", { timeout: 300_000 }, () => {
  beforeEach((context) => {
    context.skip(!hasCommand, "there is no terraform command (STACKWRIGHT_TERRAFORM)");
  });

  it("takes all workspaces, with the plan of the real command", async () => {
    const root = await applied(config(2, "v"));
    expect((await root.terraform("workspace", "new", "stg")).code).toBe(0);
    expect((await root.terraform("apply", "-auto-approve", "-var=value=w")).code).toBe(0);
    await writeFile(join(root.directory, "stg.tfvars"), 'value = "w"\n');
    expect((await root.terraform("workspace", "select", "default")).code).toBe(0);
    const adopted = await root.stackwright("adopt", "--yes", "--json", "--verify", COMMAND);
    expect(adopted.code, adopted.output + adopted.error).toBe(0);
    const { roots } = JSON.parse(adopted.output) as {
      roots: { workspaces: { workspace: string; verdict: string; comparison: object }[] }[];
    };
    expect(roots[0]?.workspaces).toMatchObject([
      { workspace: "default", verdict: "adopted", comparison: { differences: [] } },
      { workspace: "stg", verdict: "adopted", comparison: { differences: [] } },
    ]);
    const file = ["-var-file", "stg.tfvars"];
    expect((await root.stackwright("plan", "-detailed-exitcode")).code).toBe(0);
    expect(
      (await root.stackwright("plan", "-detailed-exitcode", "--stack", "stg", ...file)).code,
    ).toBe(0);
    // The marker keeps the real command from creating everything a second time.
    const refused = await root.terraform("plan", "-no-color");
    expect(refused.code).toBe(1);
    expect(refused.text).toMatch(/version 99|newer version|99\.0\.0/);
  });

  it("shows the holder of the lock where a command runs, and adopts once it has ended", async () => {
    const root = await applied(config(1, "v"));
    const child = spawn(COMMAND, ["console"], {
      cwd: root.directory,
      env: { ...ENV, HOME: root.directory },
      stdio: ["pipe", "ignore", "ignore"],
    });
    const lock = join(root.directory, ".terraform.tfstate.lock.info");
    while (!existsSync(lock)) await new Promise((resolve) => setTimeout(resolve, 50));
    const refused = await root.stackwright("adopt", "--yes");
    child.stdin.end();
    await once(child, "exit");
    expect(refused.code).toBe(1);
    expect(refused.output).toContain("held by");
    expect((await root.stackwright("adopt", "--yes")).code).toBe(0);
  });

  it("comes back through the mirror after applies and a kill, with an empty plan of the real command", async () => {
    const root = await applied(config(4, "v0"));
    const adopted = await root.stackwright("adopt", "--yes", "--mirror");
    expect(adopted.code, adopted.output).toBe(0);
    const path = join(root.directory, "terraform.tfstate");
    let serial = serialOf(await readFile(path, "utf8"));
    for (const [count, value] of [
      [6, "v1"],
      [3, "v2"],
      [8, "v3"],
    ] as const) {
      await root.write(config(count, value));
      const { code, error } = await root.stackwright("up", "-y");
      expect(code, error).toBe(0);
      const next = serialOf(await readFile(path, "utf8"));
      expect(next).toBeGreaterThan(serial);
      serial = next;
      expect((await root.terraform("plan", "-detailed-exitcode", "-no-color")).code).toBe(0);
    }
    await root.write(config(80, "v4"));
    const child = spawn(process.execPath, [PROGRAM, "up", "-y", "-parallelism=1"], {
      cwd: root.directory,
      env: { ...ENV, HOME: root.directory },
      stdio: ["ignore", "pipe", "ignore"],
    });
    let output = "";
    child.stdout.on("data", (part: Buffer) => {
      output += part.toString("utf8");
      if ((output.match(/Created|created|done/gi)?.length ?? 0) > 5) child.kill("SIGKILL");
    });
    const [, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
    expect(signal, output).toBe("SIGKILL");
    const again = await root.stackwright("up", "-y");
    expect(again.code, again.output + again.error).toBe(0);
    await rm(join(root.directory, ".stackwright"), { recursive: true });
    const plan = await root.terraform("plan", "-detailed-exitcode", "-no-color");
    expect(plan.code, plan.text).toBe(0);
    expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({ version: 4 });
  });

  it("keeps the state where the mirror fails, and writes it with the next run", async () => {
    const root = await applied(config(1, "v0"));
    expect((await root.stackwright("adopt", "--yes", "--mirror")).code).toBe(0);
    const path = join(root.directory, "terraform.tfstate");
    const text = await readFile(path, "utf8");
    // Another command wrote a larger serial.
    await writeFile(path, text.replace(/"serial": \d+/, '"serial": 900'));
    await root.write(config(2, "v1"));
    const up = await root.stackwright("up", "-y");
    expect(up.code).toBe(0);
    expect(up.error).toContain("another command wrote it");
    await writeFile(path, text);
    expect((await root.stackwright("up", "-y")).code).toBe(0);
    expect((await root.terraform("plan", "-detailed-exitcode", "-no-color")).code).toBe(0);
  });

  it("plans beside the real command after the state was adopted", async () => {
    const root = await applied(config(1, "v0"));
    expect((await root.terraform("workspace", "new", "stg")).code).toBe(0);
    expect((await root.terraform("apply", "-auto-approve")).code).toBe(0);
    expect((await root.terraform("workspace", "select", "default")).code).toBe(0);
    expect((await root.stackwright("adopt", "--yes")).code).toBe(0);
    await root.write(config(2, "v1"));
    const same = /The plan of \S+ 1\.\d+\.\d+ is the same: 3 objects and outputs compared/;
    const { code, output, error } = await root.stackwright("plan", "--compare", COMMAND);
    expect(code, error).toBe(0);
    expect(output).toMatch(same);
    // The name of another stack is that of the workspace on both sides.
    const other = await root.stackwright("plan", "--stack", "stg", "--compare", COMMAND);
    expect(other.code, other.output + other.error).toBe(0);
    expect(other.output).toContain("stg-v1-0");
    expect(other.output).toMatch(same);
  });

  it("comes back by hand-back and by export-state", async () => {
    const root = await applied(config(2, "v0"));
    const copy = await scratch();
    await cp(root.directory, copy, { recursive: true });
    expect((await root.stackwright("adopt", "--yes")).code).toBe(0);
    await root.write(config(3, "v1"));
    expect((await root.stackwright("up", "-y")).code).toBe(0);
    const exported = (await root.stackwright("export-state")).output;
    const other = await rootIn(copy, config(3, "v1"));
    await writeFile(join(copy, "exported.json"), exported);
    const pushed = await other.terraform("state", "push", "exported.json");
    expect(pushed.code, pushed.text).toBe(0);
    expect((await other.terraform("plan", "-detailed-exitcode", "-no-color")).code).toBe(0);

    const back = await root.stackwright("hand-back", "--yes");
    expect(back.code, back.error).toBe(0);
    const plan = await root.terraform("plan", "-detailed-exitcode", "-no-color");
    expect(plan.code, plan.text).toBe(0);
    const refused = await root.stackwright("up", "-y");
    expect(refused.code).toBe(1);
    expect(refused.error).toContain("handed back");
    expect((await root.stackwright("adopt", "--yes")).code).toBe(0);
    expect((await root.stackwright("plan", "-detailed-exitcode")).code).toBe(0);
  });

  it("reports on a repository of root modules, and does only what is left the next time", async () => {
    const top = await scratch();
    const first = await applied(config(1, "v"));
    await mkdir(join(top, ".git"));
    const names = Array.from({ length: 50 }, (_, index) => `stacks/s${index}`);
    for (const name of names) {
      await mkdir(join(top, name), { recursive: true });
      const state = await readFile(join(first.directory, "terraform.tfstate"), "utf8");
      // Each has a lineage of its own.
      const lineage = `00000000-0000-4000-8000-${names.indexOf(name).toString().padStart(12, "0")}`;
      await writeFile(
        join(top, name, "terraform.tfstate"),
        state.replace(/"lineage": "[^"]+"/, `"lineage": "${lineage}"`),
      );
      await writeFile(join(top, name, "main.tf"), config(name === "stacks/s3" ? 2 : 1, "v"));
    }
    await mkdir(join(top, "modules/m"), { recursive: true });
    await writeFile(join(top, "modules/m/main.tf"), config(1, "v"));
    const run = async (...words: readonly string[]) => tryCommand(words, { cwd: top, env: ENV });
    const one = await run("adopt", "--all", "--yes", "--json", "--report", "report.json");
    expect(one.code, one.error).toBe(2);
    const report = JSON.parse(await readFile(join(top, "report.json"), "utf8")) as {
      summary: object;
      roots: unknown[];
    };
    expect(report.roots).toHaveLength(50);
    expect(report.summary).toMatchObject({ adopted: 49, changes: 1, failed: 0 });
    await writeFile(join(top, "stacks/s3/main.tf"), config(1, "v"));
    const two = await run("adopt", "--all", "--yes", "--json");
    expect(two.code).toBe(0);
    expect(JSON.parse(two.output)).toMatchObject({ summary: { adopted: 1, already: 49 } });
  });
});

function serialOf(text: string): number {
  return (JSON.parse(text) as { readonly serial: number }).serial;
}
