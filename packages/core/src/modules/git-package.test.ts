import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { fetchGit } from "./git-package.ts";

async function place() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "git-package-"));
  onTestFinished(() => scratch.remove());
  const at = (name: string): string => join(scratch.path, name);
  mkdirSync(at("target"));
  const git = (name: string, ...words: readonly string[]): string => {
    const user = ["-c", "user.name=t", "-c", "user.email=t@h.test"];
    const allowed = ["-c", "protocol.file.allow=always"];
    const options = { cwd: at(name), encoding: "utf8", stdio: "pipe" } as const;
    return execFileSync("git", [...user, ...allowed, ...words], options).trim();
  };
  const repository = (name: string, file: string, content: string | Buffer): void => {
    mkdirSync(at(name));
    git(name, "init", "--quiet", "--initial-branch=main");
    writeFileSync(join(at(name), file), content);
    git(name, "add", "--all");
    git(name, "commit", "--quiet", "--message=change");
  };
  return { at, git, repository };
}

it("has the files of submodules, and nothing of git", async () => {
  const { at, git, repository } = await place();
  repository("inner", "inner.tf", "# inner");
  repository("outer", "outer.tf", "# outer");
  git("outer", "submodule", "--quiet", "add", at("inner"), "sub");
  git("outer", "commit", "--quiet", "--message=submodule");
  // By itself git takes no submodule from a folder.
  const allowed = { key: "protocol.file.allow", value: "always" };
  const env = {
    ...process.env,
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: allowed.key,
    GIT_CONFIG_VALUE_0: allowed.value,
  };
  const url = `file://${at("outer")}`;
  const commit = await fetchGit({ url, env, signal: undefined }, at("target"));
  expect(commit).toBe(git("outer", "rev-parse", "HEAD"));
  expect(existsSync(at("target/outer.tf"))).toBe(true);
  expect(existsSync(at("target/sub/inner.tf"))).toBe(true);
  expect(existsSync(at("target/.git"))).toBe(false);
  expect(existsSync(at("target/sub/.git"))).toBe(false);
});

it("takes no submodule from an address that is refused, also not one of a submodule", async () => {
  const { at, git, repository } = await place();
  repository("deep", "deep.tf", "# deep");
  repository("inner", "inner.tf", "# inner");
  repository("outer", "outer.tf", "# outer");
  git("inner", "submodule", "--quiet", "add", at("deep"), "sub");
  git("inner", "commit", "--quiet", "--message=submodule");
  // A relative address is known where it is written out.
  git("outer", "submodule", "--quiet", "add", "../inner", "sub");
  git("outer", "commit", "--quiet", "--message=submodule");
  const env = {
    ...process.env,
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "protocol.file.allow",
    GIT_CONFIG_VALUE_0: "always",
  };
  const asked: string[] = [];
  const fetched = async (target: string, refused: string) => {
    mkdirSync(at(target), { recursive: true });
    const refuse = (url: string) => {
      asked.push(url);
      return url.endsWith(refused) ? `nothing is fetched from ${refused}` : undefined;
    };
    return fetchGit({ url: `file://${at("outer")}`, env, signal: undefined, refuse }, at(target));
  };
  await expect(fetched("first", "/inner")).rejects.toThrow("nothing is fetched from /inner");
  expect(asked).toEqual([`file://${at("inner")}`]);
  expect(existsSync(at("first/sub/inner.tf"))).toBe(false);
  await expect(fetched("second", "/deep")).rejects.toThrow("nothing is fetched from /deep");
  expect(existsSync(at("second/sub/sub/deep.tf"))).toBe(false);
  await fetched("third", "/none");
  expect(existsSync(at("third/sub/sub/deep.tf"))).toBe(true);
});

it("refuses a repository that is larger than the limit", async () => {
  const { at, repository } = await place();
  repository("repo", "large.bin", randomBytes(300_000));
  const request = { url: `file://${at("repo")}`, env: process.env, signal: undefined };
  const fetched = fetchGit({ ...request, maxBytes: 100_000 }, at("target"));
  await expect(fetched).rejects.toThrow("git has written more than 200000 bytes");
});

it("ends git while it still writes more than the limit", { timeout: 20_000 }, async () => {
  const { at } = await place();
  mkdirSync(at("bin"));
  const script =
    '#!/bin/sh\ncase "$*" in *fetch*) ;; *) exit 0 ;; esac\nwhile :; do head -c 100000 /dev/zero >> data; sleep 0.05; done\n';
  writeFileSync(at("bin/git"), script, { mode: 0o755 });
  const env = { PATH: `${at("bin")}:${process.env["PATH"]}` };
  const request = { url: "https://git.test/endless", env, signal: undefined };
  await expect(fetchGit({ ...request, maxBytes: 500_000 }, at("target"))).rejects.toThrow(
    "git has written more than 1000000 bytes",
  );
});
