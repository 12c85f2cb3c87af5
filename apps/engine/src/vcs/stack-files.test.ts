import { beforeEach, describe, expect, it } from "vitest";
import { createGitPlace } from "../testing/git-place.ts";
import { GitRepository } from "./git/git-repository.ts";
import { TreeFiles } from "./git/tree-files.ts";
import { patternMatcher, stackFiles } from "./stack-files.ts";

const signal = new AbortController().signal;

describe("the files of a stack", () => {
  let place: Awaited<ReturnType<typeof createGitPlace>>;

  beforeEach(async () => {
    place = await createGitPlace();
  });

  const filesOf = async (directory: string, paths: readonly string[] = []) => {
    const repository = new GitRepository({
      address: `file://${place.bare}`,
      protocols: "file",
      folder: `${place.folder}/copy.git`,
      env: process.env,
      signal,
    });
    await place.git("push", "--quiet", "--force", "origin", "HEAD:main");
    const head = (await repository.fetch(["refs/heads/main"])).get("refs/heads/main") ?? "";
    const tree = await TreeFiles.open(repository, await repository.treeOf(head));
    const { files, isAffected } = await stackFiles(tree, {
      stack: "s",
      directory,
      paths: [...paths],
    });
    return { paths: files.map(({ path }) => path), isAffected };
  };

  it("are those of its folder and of the modules that it calls, also by other modules", async () => {
    await place.commit({
      "live/a/main.tf": 'module "x" { source = "../../modules/x" }',
      "live/a/terraform.tfstate": "{}",
      "live/a/.terraform/x": "",
      "live/b/main.tf": "",
      "modules/x/main.tf":
        'module "y" { source = "../y/deep" }\nmodule "z" { source = "../../../z" }',
      "modules/y/deep/main.tf.json": "{}",
      "modules/unused/main.tf": "",
    });
    const { paths, isAffected } = await filesOf("live/a/");
    expect(paths).toEqual(["live/a/main.tf", "modules/x/main.tf", "modules/y/deep/main.tf.json"]);
    expect(
      [
        "live/a/gone.tf",
        "modules/y/deep/new.txt",
        "modules/y/x",
        "live/b/main.tf",
        "live/ab/x",
      ].map(isAffected),
    ).toEqual([true, true, false, false, false]);
  });

  it("are chosen further by patterns, of which the last one that matches decides", async () => {
    await place.commit({
      "a/main.tf": "",
      "a/notes.md": "",
      "shared/x.json": "{}",
      "shared/y.json": "{}",
    });
    const { paths, isAffected } = await filesOf("a", ["a/**", "shared/x.json", "!**/*.md"]);
    expect(paths).toEqual(["a/main.tf", "a/notes.md", "shared/x.json"]);
    expect(["a/main.tf", "a/notes.md", "shared/x.json", "shared/y.json"].map(isAffected)).toEqual([
      true,
      false,
      true,
      false,
    ]);
    const matches = patternMatcher(["*.tf", "!b.tf"]);
    expect(["a.tf", "b.tf", "c/a.tf"].map(matches)).toEqual([true, false, undefined]);
  });

  it("are those that links lead to, inside of the repository", async () => {
    await place.commit({ "shared/common.tf": "# common", "a/main.tf": "", "shared/d/x.tf": "" });
    await place.git("config", "core.symlinks", "true");
    const { symlink } = await import("node:fs/promises");
    await symlink("../shared/common.tf", `${place.work}/a/common.tf`);
    await symlink("../shared/d", `${place.work}/a/d`);
    await place.commit({});
    const { paths, isAffected } = await filesOf("a");
    expect(paths).toEqual(["a/common.tf", "a/d/x.tf", "a/main.tf"]);
    expect(isAffected("shared/common.tf")).toBe(true);
    await symlink("/etc/passwd", `${place.work}/a/out`);
    await place.commit({});
    await expect(filesOf("a")).rejects.toThrow("leads out of the repository");
    await place.git("rm", "--quiet", "a/out");
    await symlink("round", `${place.work}/a/round`);
    await place.commit({});
    await expect(filesOf("a")).rejects.toThrow("too many links");
  });

  it("are refused where there are none, or where the folder is not of the repository", async () => {
    await place.commit({ "a/main.tf": "" });
    await expect(filesOf("b")).rejects.toThrow("no configuration files");
    await expect(filesOf("../a")).rejects.toThrow("outside of the repository");
  });

  it("are refused before they fill the memory: large modules, and links that multiply files", async () => {
    await place.commit({ "a/main.tf": `#${" ".repeat(16 * 1024 * 1024)}` });
    await expect(filesOf("a")).rejects.toThrow("the largest is a/main.tf");
    const files = Object.fromEntries(Array.from({ length: 400 }, (_, at) => [`d/${at}`, ""]));
    await place.commit({ "a/main.tf": "", ...files });
    await place.git("config", "core.symlinks", "true");
    const { symlink } = await import("node:fs/promises");
    for (let at = 0; at < 251; at += 1) await symlink("../d", `${place.work}/a/l${at}`);
    await place.commit({});
    await expect(filesOf("a")).rejects.toThrow("more than 100000 files");
  });
});
