import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { spawnCommand } from "../testing/spawned-command.ts";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const PATH = process.env["PATH"] ?? "";

describe("provisioners", { timeout: 120_000 }, () => {
  let cwd: string;
  const run = async (...words: string[]): Promise<CommandResult> =>
    tryCommand(words, { cwd, env: { PATH, OUTER: "outer" } });
  const write = async (text: string): Promise<void> => writeFile(join(cwd, "main.tf"), text);
  const log = async (): Promise<string> => readFile(join(cwd, "log"), "utf8").catch(() => "");
  const statuses = async (): Promise<Record<string, string>> => {
    const { output } = await run("export-state");
    const { resources } = JSON.parse(output) as {
      resources: { type: string; name: string; instances: { status?: string }[] }[];
    };
    return Object.fromEntries(
      resources.map(({ type, name, instances }) => [
        `${type}.${name}`,
        instances.map(({ status = "ready" }) => status).join(),
      ]),
    );
  };

  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), "stackwright-provisioners-"));
  });

  afterEach(async () => {
    await rm(cwd, { recursive: true });
  });

  it("are steps of the plan, run once after the create, and write lines with the address", async () => {
    await mkdir(join(cwd, "sub"));
    await write(`
resource "terraform_data" "a" {
  input = "x"
  provisioner "local-exec" {
    command     = "echo $INNER $OUTER; echo second >&2; echo third; pwd >> ../log"
    working_dir = "sub"
    environment = { INNER = self.input }
  }
  provisioner "local-exec" {
    command     = "print('from ' + 'another interpreter')"
    interpreter = ["python3", "-c"]
    quiet       = true
  }
}
`);
    const plan = await run("plan");
    expect(plan.output).toContain(
      "# (provisioner local-exec runs after it is created: echo $INNER",
    );
    expect(await log()).toBe("");
    const up = await run("up", "--yes");
    expect(up.code, up.output + up.error).toBe(0);
    expect(up.output).toMatch(
      /terraform_data\.a: Provisioning with 'local-exec'\.\.\.\n.*Executing: .*\n.*\(local-exec\): x outer\n.*\(local-exec\): second\n.*\(local-exec\): third\n/,
    );
    expect(up.output).toContain("(local-exec): Executing: Suppressed by quiet=true");
    expect(up.output).toContain("(local-exec): from another interpreter");
    expect(await log()).toBe(`${join(cwd, "sub")}\n`);
    await run("up", "--yes");
    expect(await log()).toBe(`${join(cwd, "sub")}\n`);
    expect(await statuses()).toEqual({ "terraform_data.a": "ready" });
  });

  it("taint the object when one fails, stop its dependents, and continue where that is set", async () => {
    await write(`
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command    = "echo a1 >> log; exit 1"
    on_failure = continue
  }
  provisioner "local-exec" { command = "echo a2 >> log; echo why; exit 7" }
  provisioner "local-exec" { command = "echo never >> log" }
}
resource "terraform_data" "b" { input = terraform_data.a.id }
resource "terraform_data" "c" {}
`);
    const up = await run("up", "--yes");
    expect(up.code).toBe(1);
    expect(up.error).toContain("Warning: local-exec provisioner error");
    expect(up.error.replaceAll(/\s*│?\s+/g, " ")).toContain("exit status 7. Output: why");
    expect(await log()).toBe("a1\na2\n");
    expect(await statuses()).toEqual({
      "terraform_data.a": "tainted",
      "terraform_data.c": "ready",
    });
    await write('resource "terraform_data" "a" {}\nresource "terraform_data" "c" {}\n');
    expect((await run("plan")).output).toContain("terraform_data.a must be replaced");
  });

  it("run before an object is destroyed, which stays where one fails", async () => {
    const text = (status: number): string => `
resource "terraform_data" "a" {
  for_each = toset(["k"])
  input    = "value"
  provisioner "local-exec" {
    when    = destroy
    command = "echo \${each.key} \${self.output} >> log; exit ${status}"
  }
}
`;
    await write(text(3));
    await run("up", "--yes");
    const failed = await run("destroy", "--yes");
    expect(failed.code).toBe(1);
    expect(failed.output).toContain("# (provisioner local-exec runs before it is destroyed");
    expect(await log()).toBe("k value\n");
    expect(await statuses()).toEqual({ "terraform_data.a": "ready" });
    await write(text(0));
    expect((await run("destroy", "--yes")).code).toBe(0);
    expect(await log()).toBe("k value\nk value\n");
  });

  it("run for a removed block, and not for a tainted object", async () => {
    await write(
      'resource "terraform_data" "a" { input = "x" }\nresource "terraform_data" "b" {}\n',
    );
    await run("up", "--yes");
    await run("state", "taint", "--yes", "terraform_data.b");
    const removed = (name: string): string => `removed {
  from = terraform_data.${name}
  provisioner "local-exec" {
    when    = destroy
    command = "echo ${name} \${self.id == null} >> log"
  }
}
`;
    await write(removed("a") + removed("b"));
    const { code, output, error } = await run("up", "--yes");
    expect(code, output + error).toBe(0);
    expect(await log()).toBe("a false\n");
  });

  it("show no output where the configuration is sensitive", async () => {
    await write(`
variable "secret" {
  default   = "canary-5128"
  sensitive = true
}
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "echo \${var.secret} | rev; exit 1" }
}
`);
    const { output, error } = await run("up", "--yes");
    expect(output).toContain("(local-exec): (output suppressed due to sensitive value in config)");
    expect(output + error).not.toContain("canary");
    expect(output + error).not.toContain("8215-yranac");
  });

  it("are planned without their command where it repeats a secret", async () => {
    await write(`
variable "secret" { sensitive = true }
resource "terraform_data" "a" {
  input = var.secret
  provisioner "local-exec" {
    when    = destroy
    command = "true ${"x".repeat(80)} \${self.output}"
  }
}
`);
    const secret = "canary-of-more-than-a-few-characters-5128";
    expect((await run("up", "--yes", `-var=secret=${secret}`)).code).toBe(0);
    for (const words of [
      ["plan", "-destroy", "--out", "kept"],
      ["plan", "-destroy", "--json"],
      ["show", "kept"],
      ["show", "--json", "kept"],
    ]) {
      const given = words[0] === "plan" ? [`-var=secret=${secret}`] : [];
      const { output, error, code } = await run(...words, ...given);
      expect([0, 2], output + error).toContain(code);
      expect(output + error, words.join(" ")).not.toContain("canary");
    }
    expect((await run("show", "kept")).output).toContain("provisioner local-exec runs before it");
  });

  it("are events of the JSON lines", async () => {
    await write(`
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "echo hi" }
}
`);
    const { output } = await run("up", "--yes", "--json");
    const types = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; hook?: { output?: string } })
      .filter(({ type }) => type.startsWith("provision_"));
    expect(types.map(({ type, hook }) => [type, hook?.output])).toEqual([
      ["provision_start", undefined],
      ["provision_progress", 'Executing: ["/bin/sh" "-c" "echo hi"]'],
      ["provision_progress", "hi"],
      ["provision_complete", undefined],
    ]);
  });

  it("leave a tainted object behind when the command is killed, and are shown before they run again", async () => {
    await write(`
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "echo run >> log; sleep 60 & echo $! > pid; wait" }
}
`);
    const env = { PATH };
    await using command = spawnCommand(["up", "--yes"], { cwd, env });
    await command.waitFor(/Provisioning with/);
    await expect.poll(() => existsSync(join(cwd, "pid")), { timeout: 20_000 }).toBe(true);
    await command.stop("SIGKILL");
    process.kill(Number(await readFile(join(cwd, "pid"), "utf8")));
    await rm(join(cwd, "pid"));
    const plan = await run("plan");
    expect(plan.output).toContain("terraform_data.a must be replaced");
    expect(plan.output).toContain("provisioner local-exec runs after it is created");
    expect(await log()).toBe("run\n");
    expect(await statuses()).toEqual({ "terraform_data.a": "tainted" });
  });

  it("are reported when the command is killed before an object is destroyed", async () => {
    await write(`
resource "terraform_data" "a" {
  provisioner "local-exec" {
    when    = destroy
    command = "echo run >> log; sleep 60 & echo $! > pid; wait"
  }
}
`);
    await run("up", "--yes");
    await using command = spawnCommand(["destroy", "--yes"], { cwd, env: { PATH } });
    await command.waitFor(/Provisioning with/);
    await expect.poll(() => existsSync(join(cwd, "pid")), { timeout: 20_000 }).toBe(true);
    await command.stop("SIGKILL");
    process.kill(Number(await readFile(join(cwd, "pid"), "utf8")));
    const plan = await run("plan", "-destroy");
    expect(plan.output + plan.error).toContain("terraform_data.a");
    expect(plan.output).toContain("provisioner local-exec runs before it is destroyed");
    expect(await log()).toBe("run\n");
  });

  it.each([
    ["create", "up", "tainted"],
    ["destroy", "destroy", "ready"],
  ])(
    "do not continue after Ctrl-C where their failures are ignored: %s",
    async (when, word, status) => {
      await write(`
resource "terraform_data" "a" {
  provisioner "local-exec" {
    ${when === "destroy" ? "when = destroy" : ""}
    on_failure = continue
    command    = "echo run >> log; sleep 60 & echo $! > pid; wait"
  }
}
`);
      if (when === "destroy") await run("up", "--yes");
      await using command = spawnCommand([word, "--yes"], { cwd, env: { PATH } });
      await command.waitFor(/Provisioning with/);
      await expect.poll(() => existsSync(join(cwd, "pid")), { timeout: 20_000 }).toBe(true);
      expect(await command.stop("SIGINT")).toBeGreaterThan(0);
      process.kill(Number(await readFile(join(cwd, "pid"), "utf8")));
      expect(await log()).toBe("run\n");
      expect(await statuses()).toEqual({ "terraform_data.a": status });
    },
  );

  it.each([
    ['provisioner "local-exec" {}', 'The argument "command" is required'],
    ['provisioner "wizard" {}', 'No provisioner "wizard" exists'],
    [
      'provisioner "remote-exec" {\n script = "a"\n inline = []\n }',
      "requires exactly one of the arguments",
    ],
    ['provisioner "local-exec" {\n command = self.nothing\n }', "nothing"],
  ])("are checked by validate: %s", async (block, expected) => {
    await write(`resource "terraform_data" "a" {\n  ${block}\n}\n`);
    const { code, output, error } = await run("validate");
    expect(code).toBe(1);
    expect(output + error).toContain(expected);
  });
});
