import { spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findSshServer, type SshServer, startSshServer } from "@stackwright/core/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";

const sshd = findSshServer();

describe("provisioners over SSH", { timeout: 180_000 }, () => {
  let server: SshServer;

  beforeAll(async () => {
    if (sshd !== undefined) server = await startSshServer(sshd);
  }, 60_000);

  afterAll(async () => {
    if (sshd !== undefined) await server[Symbol.asyncDispose]();
  });

  beforeEach((context) => {
    context.skip(sshd === undefined, "there is no sshd (TEST_SSHD)");
  });

  async function folder(): Promise<string> {
    const cwd = await mkdtemp(join(tmpdir(), "remote-provisioners-"));
    onTestFinished(() => rm(cwd, { recursive: true, force: true }));
    await writeFile(join(cwd, "key"), server.privateKey, { mode: 0o600 });
    return cwd;
  }

  const connection = (more = "", host = "127.0.0.1"): string => `  connection {
    host        = "${host}"
    port        = ${server.port}
    user        = "${server.user}"
    private_key = file("key")
    agent       = false
    ${more}
  }
`;

  async function apply(cwd: string, body: string): Promise<CommandResult> {
    await writeFile(join(cwd, "main.tf"), `resource "terraform_data" "a" {\n${body}}\n`);
    return tryCommand(["up", "--yes"], { cwd, env: { PATH: process.env["PATH"], HOME: cwd } });
  }

  it("runs lines and scripts on the host, and shows what they write", async () => {
    const cwd = await folder();
    await writeFile(join(cwd, "s.sh"), "#!/bin/bash\necho script ${BASH_VERSION:+bash}\n");
    const { code, output, error } = await apply(
      cwd,
      `${connection(`host_key = "${server.hostKey}"`)}
  provisioner "remote-exec" {
    inline = ["cd ${cwd}", "echo inline \${self.id != null} > out", "echo said; echo wrong >&2"]
  }
  provisioner "remote-exec" { script = "s.sh" }
`,
    );
    expect(code, output + error).toBe(0);
    expect(output).toContain("terraform_data.a (remote-exec): said\n");
    expect(output).toContain("terraform_data.a (remote-exec): wrong\n");
    expect(output).toContain("terraform_data.a (remote-exec): script bash\n");
    expect(await readFile(join(cwd, "out"), "utf8")).toBe("inline true\n");
  });

  it("copies texts, files and folders", async () => {
    const cwd = await folder();
    await mkdir(join(cwd, "tree", "deep"), { recursive: true });
    await writeFile(join(cwd, "tree", "deep", "f"), "deep");
    await writeFile(join(cwd, "tool"), "#!/bin/sh\n");
    await chmod(join(cwd, "tool"), 0o755);
    const { code, output, error } = await apply(
      cwd,
      `${connection()}
  provisioner "file" {
    content     = "text \${self.id != null}"
    destination = "${cwd}/text"
  }
  provisioner "file" {
    source      = "tool"
    destination = "${cwd}/copied"
  }
  provisioner "file" {
    source      = "tree/"
    destination = "${cwd}/contents"
  }
  provisioner "file" {
    source      = "tree"
    destination = "${cwd}/whole"
  }
`,
    );
    expect(code, output + error).toBe(0);
    expect(await readFile(join(cwd, "text"), "utf8")).toBe("text true");
    expect((await stat(join(cwd, "copied"))).mode & 0o777).toBe(0o755);
    expect(await readFile(join(cwd, "contents/deep/f"), "utf8")).toBe("deep");
    expect(await readFile(join(cwd, "whole/tree/deep/f"), "utf8")).toBe("deep");
  });

  it("taints the object when a command of the host fails", async () => {
    const cwd = await folder();
    const { code, error } = await apply(
      cwd,
      `${connection()}  provisioner "remote-exec" { inline = ["exit 9"] }\n`,
    );
    expect(code).toBe(1);
    expect(error).toContain("exited with status 9");
    const state = await tryCommand(["export-state"], { cwd, env: { HOME: cwd } });
    expect(state.output).toContain('"status": "tainted"');
  });

  it("authenticates with a password, and says when it is wrong", async (context) => {
    const { passwordUser } = server;
    context.skip(passwordUser === undefined, "only root can run sshd with passwords");
    if (passwordUser === undefined) return;
    const cwd = await folder();
    const body = (password: string): string => `  connection {
    host     = "127.0.0.1"
    port     = ${server.port}
    user     = "${passwordUser.user}"
    password = "${password}"
    agent    = false
    timeout  = "3s"
  }
  provisioner "remote-exec" { inline = ["echo in"] }
`;
    const wrong = await apply(cwd, body("wrong"));
    expect(wrong.code).toBe(1);
    expect(wrong.error).toContain("authentication methods failed");
    const right = await apply(cwd, body(passwordUser.password));
    expect(right.code, right.output + right.error).toBe(0);
    expect(right.output).toContain("(remote-exec): in\n");
  });

  it("reaches a host through a bastion, by a connection of the provisioner", async () => {
    const cwd = await folder();
    const bastion = `bastion_host = "127.0.0.1"
    bastion_port = ${server.port}
    bastion_host_key = "${server.hostKey}"`;
    const { code, output, error } = await apply(
      cwd,
      `${connection('timeout = "1s"', "203.0.113.1")}
  provisioner "remote-exec" {
    inline = ["echo $SSH_CONNECTION > ${cwd}/out"]
    connection {
      host = "localhost"
      timeout = "30s"
      ${bastion}
    }
  }
`,
    );
    expect(code, output + error).toBe(0);
    expect(output).toContain("through 127.0.0.1");
    expect(await readFile(join(cwd, "out"), "utf8")).toContain(String(server.port));
  });

  it.each([
    [
      "another host key",
      () =>
        'host_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPMB0bdWQ2T0Fd1pW3dQp4Jv5aCZ1lq7zE5wq2YyVQxk"',
      /not the one in\s+│?\s*host_key/,
    ],
    ["winrm", () => 'type = "winrm"', /"winrm"/],
    ["a proxy", () => 'proxy_host = "p"', /proxy_host/],
    ["a certificate", () => 'certificate = "c"', /certificate/],
  ])("refuses %s at once", async (_name, more, expected) => {
    const cwd = await folder();
    const { code, error } = await apply(
      cwd,
      `${connection(more())}  provisioner "remote-exec" { inline = ["touch ${cwd}/never"] }\n`,
    );
    expect(code).toBe(1);
    expect(error).toMatch(expected);
    await expect(stat(join(cwd, "never"))).rejects.toThrow();
  });

  it("gives up after the timeout, with the reason", async () => {
    const cwd = await folder();
    const body = connection('timeout = "2s"').replace(`${server.port}`, "1");
    const { code, error } = await apply(
      cwd,
      `${body}  provisioner "remote-exec" { inline = ["true"] }\n`,
    );
    expect(code).toBe(1);
    expect(error).toContain("ECONNREFUSED");
  });

  it("does on the host what the real command does", async (context) => {
    const version = spawnSync(COMMAND, ["version"], { encoding: "utf8" });
    context.skip(version.status !== 0, "there is no terraform command (STACKWRIGHT_TERRAFORM)");
    const trees = [];
    for (const isOurs of [false, true]) {
      const cwd = await folder();
      await mkdir(join(cwd, "tree", "deep"), { recursive: true });
      await mkdir(join(cwd, "to", "a"), { recursive: true });
      await mkdir(join(cwd, "to", "b"), { recursive: true });
      await writeFile(join(cwd, "tree", "deep", "f"), "deep");
      const body = `${connection()}
  provisioner "file" {
    source      = "tree"
    destination = "${cwd}/to/a"
  }
  provisioner "file" {
    source      = "tree/"
    destination = "${cwd}/to/b"
  }
  provisioner "file" {
    content     = "c"
    destination = "${cwd}/to/c"
  }
  provisioner "remote-exec" { inline = ["cd ${cwd}/to", "echo $((1+1)) > n", "false", "echo on > on"] }
  provisioner "remote-exec" { inline = ["set -e", "false", "touch ${cwd}/to/never"] }
`;
      if (isOurs) expect((await apply(cwd, body)).code).toBe(1);
      else {
        await writeFile(join(cwd, "main.tf"), `resource "terraform_data" "a" {\n${body}}\n`);
        const options = { cwd, encoding: "utf8", timeout: 100_000 } as const;
        spawnSync(COMMAND, ["init"], options);
        const { status, stdout } = spawnSync(COMMAND, ["apply", "-auto-approve"], options);
        expect(status, stdout).toBe(1);
        expect(stdout).toContain("Provisioning with 'remote-exec'");
      }
      const { stdout } = spawnSync("sh", ["-c", "cd to && find . | sort && cat n c on"], {
        cwd,
        encoding: "utf8",
      });
      trees.push(stdout);
    }
    expect(trees[1]).toBe(trees[0]);
    expect(trees[0]).toContain("./a/tree/deep/f");
  });
});
