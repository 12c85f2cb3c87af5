import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { readTarball } from "@stackwright/provider-source";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { packConfiguration, packWithModules } from "./pack-configuration.ts";

const never = new AbortController().signal;

describe("a packed configuration", () => {
  let folder: string;

  beforeEach(async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "pack-"));
    onTestFinished(() => scratch.remove());
    folder = join(scratch.path, "stack");
    await put("main.tf", "# main");
  });

  const put = async (path: string, text: string): Promise<void> => {
    await mkdir(join(folder, dirname(path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  /** The paths of the archive, as the program tar lists them; the server has to accept it as well. */
  const listed = async (): Promise<readonly string[]> => {
    const { content, files } = await packConfiguration(folder, never);
    const archive = await buffer(content());
    const summary = await readTarball([archive] as unknown as AsyncIterable<Uint8Array>);
    expect(summary.files).toBe(files);
    const file = join(folder, "..", "archive.tar.gz");
    await writeFile(file, archive);
    const { stdout } = await promisify(execFile)("tar", ["-tzf", file]);
    return stdout.trim().split("\n").toSorted();
  };

  it("has the files of the folder without keys, state folders and what the ignore file names", async () => {
    await put("modules/a/main.tf", "# a");
    await put(".stackwright/key", "secret");
    await put(".git/config", "x");
    await put("modules/b/.git", "gitdir: /elsewhere");
    await put(".terraform/providers/p", "x");
    await put(".terraform/modules/m/main.tf", "# m");
    await put("secrets/a.txt", "x");
    await put(".terraformignore", "secrets/\n");
    expect(await listed()).toEqual([
      ".terraform/modules/m/main.tf",
      ".terraformignore",
      "main.tf",
      "modules/a/main.tf",
    ]);
    await put(".stackwrightignore", "/modules/\n");
    expect(await listed()).toEqual([
      ".stackwrightignore",
      ".terraform/modules/m/main.tf",
      ".terraformignore",
      "main.tf",
      "secrets/a.txt",
    ]);
  });

  it("keeps states and files with variables of a shell back, and names them, unless the ignore file includes them", async () => {
    await put("terraform.tfstate", "{}");
    await put("terraform.tfstate.backup", "{}");
    await put("terraform.tfstate.d/live/terraform.tfstate", "{}");
    await put("modules/a/.env", "TOKEN=x");
    await put(".env.live", "TOKEN=x");
    await put("tfstate.tf", "# a file of the configuration");
    await put("ignored.tfstate", "{}");
    await put(".stackwrightignore", "/ignored.tfstate\n");
    expect(await listed()).toEqual([".stackwrightignore", "main.tf", "tfstate.tf"]);
    const packed = await packConfiguration(folder, never);
    expect(packed.withheld).toEqual([
      ".env.live",
      "modules/a/.env",
      "terraform.tfstate",
      "terraform.tfstate.backup",
    ]);
    await put(".stackwrightignore", "!/modules/a/.env\n!/terraform.tfstate\n");
    expect(await listed()).toEqual([
      ".stackwrightignore",
      "main.tf",
      "modules/a/.env",
      "terraform.tfstate",
      "tfstate.tf",
    ]);
  });

  it("follows links inside of the folder, once around a circle, and refuses those that lead out of it", async () => {
    await put("shared/x.tf", "# x");
    await symlink("shared", join(folder, "linked"));
    await symlink("..", join(folder, "shared", "up"));
    const paths = await listed();
    expect(paths).toContain("linked/x.tf");
    expect(paths.some((path) => path.includes("up/shared/up"))).toBe(false);
    await symlink("/etc/hostname", join(folder, "out"));
    await expect(packConfiguration(folder, never)).rejects.toThrow("leads out of the folder");
    await put(".terraformignore", "/out\n");
    await expect(packConfiguration(folder, never)).resolves.toBeDefined();
  });

  it("leaves out what links lead to where that is left out itself", async () => {
    await put(".stackwright/key", "secret");
    await put("docs/a.md", "x");
    await symlink("../.stackwright/key", join(folder, "docs/b.md"));
    await symlink(".stackwright", join(folder, "shared"));
    await put("notes/a", "x");
    await symlink("notes/a", join(folder, "b"));
    await put(".terraformignore", "/notes/\n!notes/c\n");
    expect(await listed()).toEqual([".terraformignore", "docs/a.md", "main.tf"]);
  });

  it("refuses a folder without a configuration", async () => {
    await expect(packConfiguration(join(folder, ".."), never)).rejects.toThrow(
      "has no configuration files",
    );
    await expect(packConfiguration(join(folder, "none"), never)).rejects.toThrow("does not exist");
    expect(await readFile(join(folder, "main.tf"), "utf8")).toBe("# main");
  });
});

describe("a packed configuration of a repository", () => {
  let repository: string;

  beforeEach(async () => {
    const scratch = await mkdtempDisposable(join(tmpdir(), "pack-"));
    onTestFinished(() => scratch.remove());
    repository = join(scratch.path, "repository");
    await put(".git/HEAD", "x");
    await put("stacks/web/main.tf", 'module "net" { source = "../../modules/net" }\n');
    await put("stacks/db/main.tf", "# not packed");
    await put("modules/net/main.tf", 'module "tags" { source = "../tags" }\n');
    await put("modules/net/.env", "SECRET=1");
    await put("modules/tags/main.tf", "# tags");
    await put("modules/other/main.tf", "# not packed");
  });

  const put = async (path: string, text: string): Promise<void> => {
    await mkdir(join(repository, dirname(path)), { recursive: true });
    await writeFile(join(repository, path), text);
  };
  const pack = async (folder: string, above?: string) => {
    const own = join(repository, folder);
    const { root, content, withheld } = await packWithModules(own, above, never);
    const file = join(repository, "..", "archive.tar.gz");
    await writeFile(file, await buffer(content()));
    const { stdout } = await promisify(execFile)("tar", ["-tzf", file]);
    return { root, withheld, paths: stdout.trim().split("\n").toSorted() };
  };

  it("has the modules that are called outside of its folder, and theirs", async () => {
    expect(await pack("stacks/web")).toEqual({
      root: "stacks/web",
      withheld: ["modules/net/.env"],
      paths: ["modules/net/main.tf", "modules/tags/main.tf", "stacks/web/main.tf"],
    });
  });

  it("is the folder alone where no module lies outside", async () => {
    expect(await pack("stacks/db")).toMatchObject({ root: "", paths: ["main.tf"] });
  });

  it("has a module that lies in the folder of another once", async () => {
    await put("modules/main.tf", "# all");
    await put(
      "stacks/web/more.tf",
      'module "all" { source = "../../modules" }\nmodule "gone" { source = "../gone" }\n',
    );
    const { paths } = await pack("stacks/web");
    expect(paths.filter((path) => path === "modules/net/main.tf")).toHaveLength(1);
    expect(paths).toContain("modules/other/main.tf");
  });

  it("has a module above its folder, by the ignore file of each, and each file once", async () => {
    await put("modules/net/main.tf", "");
    await put("modules/net/.terraformignore", "dump.json\n");
    await put("modules/net/examples/a/main.tf", 'module "net" { source = "../.." }\n');
    await put("modules/net/examples/a/.terraformignore", "key.pem\n");
    await put("modules/net/examples/a/key.pem", "secret");
    await put("modules/net/examples/a/dump.json", "{}");
    await put("modules/net/examples/b/dump.json", "{}");
    await put("modules/net/examples/b/main.tf", "");
    expect(await pack("modules/net/examples/a")).toEqual({
      root: "examples/a",
      withheld: [".env"],
      paths: [
        ".terraformignore",
        "examples/a/.terraformignore",
        "examples/a/dump.json",
        "examples/a/main.tf",
        "examples/b/main.tf",
        "main.tf",
      ],
    });
  });

  it("has a module that a link leads to where the link is, with what that calls by its own path", async () => {
    await symlink("net", join(repository, "modules/network"));
    await put("stacks/web/main.tf", 'module "net" { source = "../../modules/network" }\n');
    expect((await pack("stacks/web")).paths).toEqual([
      "modules/network/main.tf",
      "modules/tags/main.tf",
      "stacks/web/main.tf",
    ]);
    // By both paths, it lies at both; a link that leads back ends there.
    await put("stacks/web/more.tf", 'module "same" { source = "../../modules/net" }\n');
    await put("modules/tags/main.tf", 'module "again" { source = "../../loop/modules/tags" }\n');
    await symlink(".", join(repository, "loop"));
    expect((await pack("stacks/web")).paths).toEqual([
      "modules/net/main.tf",
      "modules/network/main.tf",
      "modules/tags/main.tf",
      "stacks/web/main.tf",
      "stacks/web/more.tf",
    ]);
  });

  it("follows a link of the folder to another place of the repository, and to no key", async () => {
    await put("stacks/web/main.tf", 'module "net" { source = "./net" }\n');
    await symlink("../../modules/net", join(repository, "stacks/web/net"));
    await put(".stackwright/key", "secret");
    await symlink("../../.stackwright", join(repository, "stacks/web/keys"));
    await symlink("../../.git/HEAD", join(repository, "stacks/web/head"));
    await put("modules/tags/.terraform/x", "x");
    await symlink("../../modules/tags/.terraform/x", join(repository, "stacks/web/x"));
    await put("modules/net/main.tf", "# net");
    expect(await pack("stacks/web")).toEqual({
      root: "",
      withheld: ["net/.env"],
      paths: ["main.tf", "net/main.tf"],
    });
    await symlink("/etc/hostname", join(repository, "stacks/web/out"));
    await expect(pack("stacks/web")).rejects.toThrow("leads out of the folder");
  });

  it("leaves out what the ignore file names in the place that a link leads to", async () => {
    await put("stacks/web/main.tf", "# web");
    await put("modules/net/.terraformignore", "dump.json\n/own/\n");
    await put("modules/net/main.tf", "# net");
    await put("modules/net/dump.json", "secret");
    await put("modules/net/own/a", "secret");
    await symlink("../../modules/net", join(repository, "stacks/web/net"));
    await symlink("../../modules/net/dump.json", join(repository, "stacks/web/seen"));
    expect((await pack("stacks/web")).paths).toEqual([
      "main.tf",
      "net/.terraformignore",
      "net/main.tf",
    ]);
  });

  it("has all of a folder that is named", async () => {
    const { root, paths } = await pack("stacks/web", repository);
    expect(root).toBe("stacks/web");
    expect(paths).toContain("modules/other/main.tf");
    expect(paths).not.toContain(".git/HEAD");
    await expect(pack("stacks/web", join(repository, "modules"))).rejects.toThrow("is not in");
  });

  it("leaves no repository by a module", async () => {
    await mkdir(join(repository, "..", "elsewhere"));
    await put("stacks/web/out.tf", 'module "out" { source = "../../../elsewhere" }\n');
    await expect(pack("stacks/web")).rejects.toThrow("is outside of the repository");
    await symlink("../../elsewhere", join(repository, "modules/linked"));
    await put("stacks/web/out.tf", 'module "out" { source = "../../modules/linked" }\n');
    await expect(pack("stacks/web")).rejects.toThrow("is outside of the repository");
  });
});
