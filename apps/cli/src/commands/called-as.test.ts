import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const LAUNCHER = join(import.meta.dirname, "../../bin/stackwright");
const PATH = process.env["PATH"] ?? "";
const call = promisify(execFile);

async function scratch(): Promise<string> {
  const folder = await mkdtempDisposable(join(tmpdir(), "called-as-"));
  onTestFinished(() => folder.remove());
  return folder.path;
}

/** A folder of programs: links to this command by their names, and scripts. */
async function programs(
  directory: string,
  links: readonly string[],
  scripts: Readonly<Record<string, string>> = {},
): Promise<string> {
  const folder = join(directory, "programs");
  await mkdir(folder, { recursive: true });
  for (const name of links) await symlink(LAUNCHER, join(folder, name));
  for (const [name, text] of Object.entries(scripts)) {
    await writeFile(join(folder, name), `#!/bin/sh\n${text}\n`);
    await chmod(join(folder, name), 0o755);
  }
  return folder;
}

const OBJECT = 'resource "terraform_data" "a" { input = 1 }\n';

describe("under the name of a reference command", () => {
  it.each([
    ["terraform", /^Terraform v1\.11\.4\nStackwright v\d+\.\d+\.\d+\non \w+_\w+, Node\.js/],
    ["tofu", /^OpenTofu v1\.12\.\d+\nStackwright v\d+\.\d+\.\d+\non \w+_\w+, Node\.js/],
    ["infra", /^Stackwright v\d+\.\d+\.\d+\non \w+_\w+, Node\.js/],
  ])("a link %s shows the version first that callers look for", async (name, pattern) => {
    const directory = await scratch();
    const folder = await programs(directory, [name]);
    const env = { PATH, HOME: directory };
    for (const word of ["version", "-version"]) {
      const { stdout } = await call(join(folder, name), [word], { cwd: directory, env });
      expect(stdout).toMatch(pattern);
    }
    const { stdout } = await call(join(folder, name), ["version", "-json"], {
      cwd: directory,
      env,
    });
    const shown = name === "tofu" ? /^1\.12\./ : /^1\.11\.4$/;
    expect(JSON.parse(stdout)).toMatchObject({
      terraform_version: expect.stringMatching(shown) as string,
      terraform_outdated: false,
      stackwright_version: expect.any(String) as string,
    });
  });

  it("a wrapper chooses the name by a variable, which programs that the command starts do not get", async () => {
    const directory = await scratch();
    await programs(directory, [], {
      wrapped: `STACKWRIGHT_CALLED_AS=terraform exec "${LAUNCHER}" "$@"`,
    });
    const text = `resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "echo [$STACKWRIGHT_CALLED_AS] > seen; ${LAUNCHER} version > inner"
  }
}
`;
    await writeFile(join(directory, "main.tf"), text);
    const { stdout } = await call(
      join(directory, "programs/wrapped"),
      ["apply", "-auto-approve", "-no-color"],
      { cwd: directory, env: { PATH, HOME: directory } },
    );
    expect(stdout).toContain("Apply complete");
    const { stdout: seen } = await call("cat", ["seen", "inner"], { cwd: directory });
    expect(seen).toMatch(/^\[\]\nStackwright v/);
  });

  it("a local-exec calls the link: it applies another root module and reads its output", async () => {
    const directory = await scratch();
    const folder = await programs(directory, ["terraform"]);
    const env = { PATH: `${folder}${delimiter}${PATH}`, HOME: directory };
    const other = join(directory, "other");
    await mkdir(other);
    await writeFile(join(other, "main.tf"), `${OBJECT}output "o" { value = "from other" }\n`);
    const command =
      "cd other && terraform apply -auto-approve && terraform output -raw o > ../seen";
    await writeFile(
      join(directory, "main.tf"),
      `resource "terraform_data" "a" {\n  provisioner "local-exec" { command = ${JSON.stringify(command)} }\n}\n`,
    );
    await call("terraform", ["apply", "-auto-approve"], { cwd: directory, env });
    const { stdout } = await call("cat", ["seen"], { cwd: directory });
    expect(stdout).toBe("from other");
  });

  it("reads the approval from a pipe, as scripts give it, and asks nothing about a refresh", async () => {
    const cwd = await scratch();
    await writeFile(join(cwd, "main.tf"), OBJECT);
    const calledAs = "terraform" as const;
    const refused = await tryCommand(["apply"], { cwd, calledAs, input: "no\n" });
    expect(refused.code).toBe(1);
    expect(refused.output).toContain("Nothing was done.");
    expect((await tryCommand(["apply"], { cwd, calledAs, input: "" })).code).toBe(1);
    for (const options of [{ env: { TF_INPUT: "0" } }, {}]) {
      const words = options.env === undefined ? ["apply", "-input=false"] : ["apply"];
      const unasked = await tryCommand(words, { cwd, calledAs, input: "yes\n", ...options });
      expect(unasked.code).toBe(1);
      expect(unasked.error).toContain("Approval is required");
    }
    expect((await tryCommand(["apply"], { cwd, input: "yes\n" })).error).toContain("Approval");
    expect((await tryCommand(["apply"], { cwd, calledAs, input: "yes\n" })).code).toBe(0);
    expect((await tryCommand(["refresh"], { cwd, calledAs })).code).toBe(0);
  });

  it("shows its help by that name", async () => {
    const { output } = await tryCommand(["-help"], { calledAs: "tofu" });
    expect(output).toMatch(/^Usage: tofu /);
  });
});

describe("the reference command that plans are compared with", () => {
  const REAL = `case "$1" in version) echo '{"terraform_version":"1.11.4"}';; *) echo reached >&2; exit 9;; esac`;

  async function compare(command: string, env: NodeJS.ProcessEnv, cwd: string) {
    return tryCommand(["plan", "-compare", command], { cwd, env });
  }

  it("is never this command under its name, by a link or by a wrapper", async () => {
    const cwd = await scratch();
    await writeFile(join(cwd, "main.tf"), OBJECT);
    const folder = await programs(cwd, ["terraform"], {
      tofu: `STACKWRIGHT_CALLED_AS=tofu exec "${LAUNCHER}" "$@"`,
    });
    const env = { PATH: `${folder}${delimiter}/usr/bin${delimiter}/bin`, HOME: cwd };
    for (const command of ["terraform", "tofu", join(folder, "terraform")]) {
      const { code, error } = await compare(command, env, cwd);
      expect(code).toBe(1);
      expect(error).toMatch(/is Stackwright under that name/);
      expect(error).toContain("Name the path of the real command");
    }
    expect((await compare("nosuch", env, cwd)).error).toContain(
      'There is no program "nosuch" in PATH.',
    );
  });

  it("is the next one in PATH behind a link to this command", async () => {
    const cwd = await scratch();
    await writeFile(join(cwd, "main.tf"), OBJECT);
    const folder = await programs(cwd, ["terraform"]);
    const real = await programs(await scratch(), [], { terraform: REAL });
    const env = { PATH: `${folder}${delimiter}${real}${delimiter}/bin`, HOME: cwd };
    const { code, error } = await compare("terraform", env, cwd);
    expect(code).toBe(1);
    expect(error).toContain("reached");
    // A backend without a reader of its own is read through the same program.
    const backend = 'terraform {\n  backend "consul" {}\n}\n';
    await writeFile(join(cwd, "main.tf"), `${OBJECT}${backend}`);
    const adopted = await tryCommand(["adopt", "-dry-run", "-pull"], { cwd, env });
    expect(adopted.code).toBe(1);
    expect(adopted.error + adopted.output).toContain("reached");
  });
});
