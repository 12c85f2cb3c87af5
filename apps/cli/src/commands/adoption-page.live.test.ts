import { spawnSync } from "node:child_process";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { runInteractively } from "../testing/interactive-command.ts";
import { pageBlocks } from "../testing/page-blocks.ts";
import { createPageFolder } from "../testing/page-folder.ts";

// apps/cli/docs/adoption.md as a reader follows it with states of terraform: its commands as they are written there.

const PAGE = "apps/cli/docs/adoption.md";
const LAUNCHER = join(import.meta.dirname, "../../bin/stackwright");
const MAIN = 'resource "terraform_data" "a" { input = "kept" }\n';

describe("the page about adoption", { timeout: 180_000 }, () => {
  beforeEach((context) => {
    for (const [program, word] of [
      ["terraform", "version"],
      ["openssl", "version"],
    ] as const) {
      context.skip(spawnSync(program, [word]).status !== 0, `${program} cannot be run here`);
    }
  });

  /** The folder of a reader, the blocks of the page, and root modules whose states terraform made. */
  async function begin(roots: readonly string[], main = MAIN) {
    const page = await createPageFolder({ CHECKPOINT_DISABLE: "1", TF_CLI_ARGS_plan: "-no-color" });
    const blocks = await pageBlocks(PAGE, "sh");
    expect(blocks).toHaveLength(5);
    const [one = "", many = "", link = "", wrapper = "", back = ""] = blocks;
    for (const root of roots) {
      const directory = join(page.folder, root);
      await mkdir(directory, { recursive: true });
      await writeFile(join(directory, "main.tf"), main);
      await page.shell("terraform init && terraform apply -auto-approve", directory);
    }
    return { ...page, one, many, link, wrapper, back };
  }

  it("leads from a state of terraform to an empty plan, and back to terraform", async () => {
    const { folder, env, shell, one, back } = await begin(["app"]);
    const cwd = join(folder, "app");
    /** Answers the question of a line of the page. */
    const agree = async (line: string): Promise<string> => {
      const words = (line.split(" #")[0] ?? "").trim().split(" ").slice(1);
      const command = runInteractively(words, { cwd, env });
      await command.waitFor(/yes/);
      command.type("yes");
      expect(await command.ended, command.text()).toBe(0);
      return command.text();
    };
    const [dryRun = "", adopt = "", plan = ""] = one.split("\n");
    expect(await shell(`{\n${plan}\n} 2>&1 || test $? = 1`, cwd)).toContain(
      "ENGINE_STATE_NOT_ADOPTED",
    );
    expect(await shell(dryRun, cwd)).toContain("1 object, 0 outputs; the plan is empty.");
    expect(await agree(adopt)).toContain('Adopted as the stack "default": 1 object');
    expect(await shell(plan, cwd)).toContain("No changes.");
    const [handBack = "", terraform = ""] = back.split("\n");
    const refused = await shell(`{\n${terraform}\n} 2>&1 || test $? = 1`, cwd);
    expect(refused).toContain("adopted-by-stackwright");
    expect(await agree(handBack)).toContain("Handed back to file terraform.tfstate");
    expect(await shell(terraform, cwd)).toContain("No changes.");
  });

  it("leads many root modules into one store", async () => {
    const backend = 'terraform {\n  backend "local" {}\n}\n';
    const roots = ["repository/envs/prod", "repository/envs/staging"];
    const { folder, shell, many } = await begin(roots, backend + MAIN);
    const output = await shell(many, join(folder, "repository"));
    expect(output).toContain("2 root modules: 2 adoptable.");
    expect(output).toContain("2 root modules: 2 adopted.");
    expect(output.match(/No changes\./g)).toHaveLength(3);
  });

  it("leads to a command by the name of terraform", async () => {
    const { folder, shell, link, wrapper } = await begin([]);
    await rm(join(folder, "bin/stackwright"));
    await symlink(LAUNCHER, join(folder, "bin/stackwright"));
    const path = "export PATH=$HOME/.local/bin:$PATH\n";
    const lines = /^Terraform v1\.\d+\.\d+\n(?:.*\n)*?Stackwright v/;
    expect(await shell(path + link)).toMatch(lines);

    const wrapped = join(folder, ".local/bin/terraform");
    await rm(wrapped);
    expect(wrapper).toContain("/path/to/stackwright");
    await writeFile(wrapped, wrapper.replace("/path/to/stackwright", LAUNCHER), { mode: 0o755 });
    expect(await shell(`${path}terraform version`)).toMatch(lines);
  });
});
