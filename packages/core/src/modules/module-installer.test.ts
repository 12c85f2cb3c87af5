import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createDirectoryFiles, type LoadedTree, loadModuleTree } from "@stackwright/lang";
import { describe, expect, it, onTestFinished } from "vitest";
import { type InstalledModules, type InstallMode, ModuleInstaller } from "./module-installer.ts";
import { ModuleLock } from "./module-lock.ts";
import { PackageFetcher } from "./package-fetcher.ts";

const PATH_OUTPUT = 'output "p" { value = path.module }\n';

class Place {
  readonly root = mkdtempSync(join(tmpdir(), "modules-"));
  readonly work = join(this.root, "work");
  readonly cache = join(this.root, "cache");
  lock = ModuleLock.empty;
  hosts = new Map<string, ReadonlyMap<string, string>>();
  tokens = new Map<string, string>();

  constructor() {
    onTestFinished(() => rmSync(this.root, { recursive: true }));
    mkdirSync(this.work);
  }

  write(path: string, text: string): string {
    const place = join(this.root, path);
    mkdirSync(dirname(place), { recursive: true });
    writeFileSync(place, text);
    return place;
  }

  call(source: string, more = ""): void {
    this.write(
      "work/main.tf",
      `module "m" {\n  source = ${JSON.stringify(source)}\n  ${more}\n}\n`,
    );
  }

  run(program: string, words: readonly string[], cwd: string): string {
    return execFileSync(program, words, { cwd, encoding: "utf8", stdio: "pipe" }).trim();
  }

  repository(files: Readonly<Record<string, string>>, name = "repo"): string {
    for (const [path, text] of Object.entries(files)) this.write(`${name}/${path}`, text);
    const cwd = join(this.root, name);
    this.run("git", ["init", "--quiet", "--initial-branch=main"], cwd);
    return this.commit(name);
  }

  commit(name = "repo"): string {
    const cwd = join(this.root, name);
    this.run("git", ["add", "--all"], cwd);
    const user = ["-c", "user.name=t", "-c", "user.email=t@h.test"];
    this.run("git", [...user, "commit", "--quiet", "--message=change"], cwd);
    return this.run("git", ["rev-parse", "HEAD"], cwd);
  }

  async install(
    options: { readonly mode?: InstallMode; readonly offline?: boolean } = {},
  ): Promise<LoadedTree & InstalledModules> {
    const files = createDirectoryFiles(this.work, {
      machine: { workingDirectory: this.work, home: this.root },
    });
    const packages = new ModuleInstaller({
      files,
      directory: this.work,
      dataFolder: ".terraform",
      mode: options.mode ?? "missing",
      lock: this.lock,
      fetcher: async () =>
        PackageFetcher.open({
          cache: this.cache,
          env: { HOME: this.root, PATH: process.env["PATH"] },
          configuration: { hosts: this.hosts, tokens: this.tokens },
          signal: new AbortController().signal,
          offline: options.offline ?? false,
          limits: { maxBytes: 2_000_000, maxFiles: 50 },
        }),
    });
    const tree = await loadModuleTree(files, { packages });
    const result = await packages.finish(tree.root, tree.diagnostics.length === 0);
    this.lock = result.lock;
    return { ...tree, ...result };
  }

  /** What is wrong, in one text. */
  async problem(): Promise<string> {
    const { diagnostics } = await this.install();
    return diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`).join("\n");
  }

  removeInstalled(): void {
    rmSync(join(this.work, ".terraform"), { recursive: true, force: true });
  }
}

type Answer = (
  request: IncomingMessage,
) => { status?: number; headers?: Record<string, string>; body?: string | Buffer } | undefined;

/** A server on loopback; what it does not answer is not there. */
async function serve(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    const { status = 200, headers = {}, body = "" } = answer(request) ?? { status: 404 };
    response.writeHead(status, headers).end(body);
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const JSON_TYPE = { "content-type": "application/json" };

describe("git", () => {
  it("installs a folder of a tag, with modules beside it, and keeps the commit", async () => {
    const place = new Place();
    const commit = place.repository({
      "sub/main.tf": `module "s" { source = "../sib" }\n${PATH_OUTPUT}`,
      "sib/main.tf": PATH_OUTPUT,
    });
    place.run("git", ["tag", "v1"], join(place.root, "repo"));
    place.call(`git::file://${place.root}/repo//sub?ref=v1`);
    const { modules, diagnostics, lock } = await place.install();
    expect(diagnostics).toEqual([]);
    expect(modules.map(({ key, dir }) => `${key} ${dir}`)).toEqual([
      " .",
      "m .terraform/modules/m/sub",
      "m.s .terraform/modules/m/sib",
    ]);
    expect(lock.entries()[0]).toMatchObject({ commit, hash: expect.stringMatching(/^h1:/) });
    expect(readdirSync(join(place.work, ".terraform/modules")).toSorted()).toEqual([
      "m",
      "modules.json",
    ]);
    expect(existsSync(join(place.work, ".terraform/modules/m/.git"))).toBe(false);
  });

  it("keeps the commit of a branch that moves until it is upgraded", async () => {
    const place = new Place();
    const first = place.repository({ "main.tf": PATH_OUTPUT });
    place.call(`git::file://${place.root}/repo?ref=main`);
    await place.install();
    place.write("repo/new.tf", "");
    const second = place.commit();
    place.removeInstalled();
    rmSync(place.cache, { recursive: true });
    expect((await place.install()).lock.entries()[0]?.commit).toBe(first);
    expect(existsSync(join(place.work, ".terraform/modules/m/new.tf"))).toBe(false);
    expect((await place.install({ mode: "upgrade" })).lock.entries()[0]?.commit).toBe(second);
    expect(existsSync(join(place.work, ".terraform/modules/m/new.tf"))).toBe(true);
  });

  it("takes commits and short commits", async () => {
    const place = new Place();
    const commit = place.repository({ "main.tf": PATH_OUTPUT });
    place.write("repo/later.tf", "");
    place.commit();
    for (const ref of [commit, commit.slice(0, 8)]) {
      place.call(`git::file://${place.root}/repo?ref=${ref}`);
      const { lock, diagnostics } = await place.install();
      expect([diagnostics, lock.entries()[0]?.commit]).toEqual([[], commit]);
    }
  });

  it.each([
    ["?ref=none", 'no branch, tag or commit "none"'],
    ["?ref=--upload-pack=x", "must not begin with a dash"],
    ["/none.git", "Failed to download module"],
    ["//none", "Failed to expand subdir globs"],
  ])("says what is wrong with %s", async (rest, message) => {
    const place = new Place();
    place.repository({ "main.tf": PATH_OUTPUT });
    place.call(`git::file://${place.root}/repo${rest}`);
    expect(await place.problem()).toContain(message);
    expect(existsSync(join(place.work, ".terraform/modules/m"))).toBe(false);
  });

  it("refuses a repository with a link that leads out of it, and starts no program of an address", async () => {
    const place = new Place();
    mkdirSync(join(place.root, "repo"));
    symlinkSync("/etc/hostname", join(place.root, "repo/leak.txt"));
    place.repository({ "main.tf": PATH_OUTPUT });
    place.call(`git::file://${place.root}/repo`);
    expect(await place.problem()).toContain('the link "leak.txt" leads out of it');
    place.call(`git::ext::sh -c touch%20${place.root}/started`);
    expect(await place.problem()).toContain("Invalid module source address");
    expect(existsSync(join(place.root, "started"))).toBe(false);
  });
});

describe("archives", () => {
  /** Packs the folder `files` of a place. */
  function pack(place: Place, name: string, flags: string): Buffer {
    place.run(
      "tar",
      [flags, join(place.root, name), "-C", join(place.root, "files"), "."],
      place.root,
    );
    return readFileSync(join(place.root, name));
  }

  it.each([
    ["a.tar.gz", "-czf"],
    ["a.tgz", "-czf"],
    ["a.tar.bz2", "-cjf"],
    ["a.tar.xz", "-cJf"],
  ])("unpacks %s with a checksum and a folder by pattern", async (name, flags) => {
    const place = new Place();
    place.write("files/top-1/modules/net/main.tf", PATH_OUTPUT);
    place.write(`files/top-1/${"long".repeat(40)}/x.txt`, "x".repeat(70_000));
    symlinkSync("modules/net", join(place.root, "files/top-1/link"));
    const body = pack(place, name, flags);
    const url = await serve(({ url: path }) => (path === `/${name}` ? { body } : undefined));
    const sum = createHash("sha256").update(body).digest("hex");
    place.call(`${url}/${name}//*/modules/n*?checksum=sha256:${sum}`);
    const { modules, diagnostics } = await place.install();
    expect(diagnostics).toEqual([]);
    expect(modules[1]?.dir).toBe(".terraform/modules/m/top-1/modules/net");
    expect(
      readFileSync(join(place.work, `.terraform/modules/m/top-1/${"long".repeat(40)}/x.txt`))
        .length,
    ).toBe(70_000);
    place.call(`${url}/${name}?checksum=sha256:${"0".repeat(64)}`);
    expect(await place.problem()).toContain("its sha256 is");
  });

  it("follows addresses in headers and pages, and makes their folder the package", async () => {
    const place = new Place();
    place.write("files/sub/main.tf", 'module "s" { source = "../sib" }');
    place.write("files/sib/main.tf", PATH_OUTPUT);
    const body = pack(place, "a.tgz", "-czf");
    const url = await serve(({ url: path = "" }) => {
      if (path.startsWith("/page?")) {
        return { body: '<head><meta name="terraform-get" content="/header"></head>' };
      }
      if (path.startsWith("/header?")) return { headers: { "x-terraform-get": "/a.tgz//sub" } };
      if (path.startsWith("/local?")) {
        return { headers: { "x-terraform-get": `file://${place.root}/local` } };
      }
      if (path.startsWith("/git?")) {
        return { headers: { "x-terraform-get": `git::file://${place.root}/local` } };
      }
      if (path.startsWith("/loop?")) return { headers: { "x-terraform-get": "/loop" } };
      if (path === "/a.tgz") return { body };
      return { body: "nothing" };
    });
    place.call(`${url}/page`);
    expect(await place.problem()).toContain("Local module path escapes module package");
    place.call(`${url}/loop`);
    expect(await place.problem()).toContain("more than 10 addresses");
    place.write("local/main.tf", PATH_OUTPUT);
    for (const local of ["local", "git"]) {
      place.call(`${url}/${local}`);
      expect(await place.problem()).toContain("it sends to");
    }
    place.call(`${url}/none`);
    expect(await place.problem()).toContain("No source URL was returned");
  });

  it.each([
    ["a path out of it", ["--transform=s,^,../,", "-P"], "leads out of it"],
    ["an absolute path", ["--transform=s,^,/tmp/,", "-P"], "leads out of it"],
    ["a link out of it", [], "leads out of it"],
    ["more than the limit", [], "more than 2000000 bytes"],
  ])("refuses %s", async (what, flags, message) => {
    const place = new Place();
    place.write("files/main.tf", PATH_OUTPUT);
    if (what === "a link out of it") symlinkSync("../../x", join(place.root, "files/l"));
    if (what.startsWith("more")) place.write("files/big", "0".repeat(3_000_000));
    const names = readdirSync(join(place.root, "files"));
    place.run("tar", ["-czf", "a.tgz", ...flags, "-C", "files", ...names], place.root);
    const body = readFileSync(join(place.root, "a.tgz"));
    const url = await serve(() => ({ body }));
    place.call(`${url}/a.tgz`);
    expect(await place.problem()).toContain(message);
    expect(existsSync(join(place.work, ".terraform/modules/m"))).toBe(false);
  });

  it("installs what the cache has without a network, and refuses what became another package", async () => {
    const place = new Place();
    place.write("files/main.tf", PATH_OUTPUT);
    let body = pack(place, "a.tgz", "-czf");
    const url = await serve(() => ({ body }));
    place.call(`${url}/a.tgz`);
    await place.install();
    place.removeInstalled();
    expect((await place.install({ offline: true })).diagnostics).toEqual([]);
    place.write("files/evil.tf", "");
    body = pack(place, "a.tgz", "-czf");
    place.removeInstalled();
    rmSync(place.cache, { recursive: true });
    expect(await place.problem()).toContain("the lock file has h1:");
    expect((await place.install({ mode: "upgrade" })).diagnostics).toEqual([]);
  });

  it("fetches again what was changed in the cache", async () => {
    const place = new Place();
    place.write("files/main.tf", PATH_OUTPUT);
    const body = pack(place, "a.tgz", "-czf");
    const url = await serve(() => ({ body }));
    place.call(`${url}/a.tgz`);
    await place.install();
    place.removeInstalled();
    const [name = ""] = readdirSync(join(place.cache, "packages"));
    writeFileSync(join(place.cache, "packages", name, "main.tf"), "changed");
    expect((await place.install()).diagnostics).toEqual([]);
    expect(readFileSync(join(place.work, ".terraform/modules/m/main.tf"), "utf8")).toBe(
      PATH_OUTPUT,
    );
  });
});

describe("registries", () => {
  /** A registry of one module whose versions are archives; it asks for a token. */
  async function registry(
    place: Place,
    versions: string[],
    withdrawn: string[] = [],
  ): Promise<{ readonly paths: string[] }> {
    place.write("files/sub/main.tf", PATH_OUTPUT);
    place.run("tar", ["-czf", "a.tgz", "-C", "files", "."], place.root);
    const body = readFileSync(join(place.root, "a.tgz"));
    const paths: string[] = [];
    const url = await serve(({ url: path = "", headers }) => {
      const { authorization = "none" } = headers;
      paths.push(`${path} ${authorization}`);
      if (path === "/a.tgz") return { body };
      if (authorization !== "Bearer secret") return { status: 401 };
      if (path === "/v1/ns/net/aws/versions") {
        const modules = [{ versions: versions.map((version) => ({ version })) }];
        return { headers: JSON_TYPE, body: JSON.stringify({ modules }) };
      }
      if (withdrawn.some((version) => path.includes(`/${version}/`))) {
        const errors = ["version 1.2.0 was withdrawn: opens port 22"];
        return { status: 410, headers: JSON_TYPE, body: JSON.stringify({ errors }) };
      }
      if (path.endsWith("/download")) {
        return { status: 204, headers: { "x-terraform-get": "/a.tgz//sub?archive=tar.gz" } };
      }
      return undefined;
    });
    place.hosts.set("mods.test", new Map([["modules.v1", `${url}/v1/`]]));
    place.tokens.set("mods.test", "secret");
    return { paths };
  }

  it("installs the newest version that is allowed and keeps it until it is upgraded", async () => {
    const place = new Place();
    const versions = ["1.0.0", "1.2.0", "2.0.0", "3.0.0-beta1"];
    const { paths } = await registry(place, versions);
    place.call("mods.test/ns/net/aws", 'version = "~> 1.0"');
    const { modules, diagnostics } = await place.install();
    expect(diagnostics).toEqual([]);
    expect(modules[1]).toEqual({
      key: "m",
      source: "mods.test/ns/net/aws",
      version: "1.2.0",
      dir: ".terraform/modules/m/sub",
    });
    expect(paths).toEqual([
      "/v1/ns/net/aws/versions Bearer secret",
      "/v1/ns/net/aws/1.2.0/download Bearer secret",
      "/a.tgz none",
    ]);
    versions.push("1.3.0");
    place.removeInstalled();
    expect((await place.install({ offline: true })).modules[1]?.version).toBe("1.2.0");
    expect((await place.install({ mode: "upgrade" })).modules[1]?.version).toBe("1.3.0");
    place.call("mods.test/ns/net/aws", 'version = "3.0.0-beta1"');
    expect((await place.install()).modules[1]?.version).toBe("3.0.0-beta1");
  });

  it.each([
    ["ns/net/aws", 'version = "> 9"', "Unresolvable module version constraint"],
    ["ns/none/aws", "", "Module not found"],
    ["ns/net/aws//none", "", "Failed to expand subdir globs"],
  ])("says what is wrong with %s %s", async (source, version, summary) => {
    const place = new Place();
    await registry(place, ["1.0.0"]);
    place.call(`mods.test/${source}`, version);
    expect(await place.problem()).toContain(summary);
  });

  it("says why a version that the lock file names is there no longer, and takes another", async () => {
    const place = new Place();
    const versions = ["1.0.0", "1.2.0"];
    const withdrawn: string[] = [];
    await registry(place, versions, withdrawn);
    place.call("mods.test/ns/net/aws");
    expect((await place.install()).modules[1]?.version).toBe("1.2.0");
    withdrawn.push(...versions.splice(1));
    place.removeInstalled();
    rmSync(place.cache, { recursive: true });
    expect(await place.problem()).toContain("version 1.2.0 was withdrawn: opens port 22");
    expect((await place.install({ mode: "upgrade" })).modules[1]?.version).toBe("1.0.0");
  });

  it("names the registry that refuses or has no service", async () => {
    const place = new Place();
    await registry(place, []);
    place.call("mods.test/ns/net/aws");
    expect(await place.problem()).toContain("Module has no versions");
    place.tokens.clear();
    // The service is at another host than the module, whose credentials count.
    expect(await place.problem()).toContain(
      "mods.test wants credentials, and none are known for it",
    );
    place.hosts.set("mods.test", new Map());
    expect(await place.problem()).toContain("does not offer a registry of modules");
  });
});

it("uses what the reference command installed, without a network", async () => {
  const place = new Place();
  place.write("work/.terraform/modules/m/sub/main.tf", PATH_OUTPUT);
  const record = {
    Key: "m",
    Source: "git::https://h.invalid/r.git//sub?ref=v1",
    Dir: ".terraform/modules/m/sub",
  };
  place.write("work/.terraform/modules/modules.json", JSON.stringify({ Modules: [record] }));
  place.call("git::https://h.invalid/r.git//sub?ref=v1");
  const { diagnostics, root } = await place.install({ mode: "never" });
  expect(diagnostics).toEqual([]);
  expect(root.children.get("m")?.folder).toBe(".terraform/modules/m/sub");
  place.call("git::https://h.invalid/r.git//sub?ref=v2");
  expect((await place.install({ mode: "never" })).diagnostics).toMatchObject([
    { summary: "Module not installed", detail: expect.stringContaining("stackwright init") },
  ]);
});

it("shows no credentials of an address anywhere", async () => {
  const place = new Place();
  place.repository({ "main.tf": PATH_OUTPUT });
  place.call(`git::file://${place.root}/repo?sshkey=CANARY`);
  const { modules, lock, diagnostics } = await place.install();
  expect(diagnostics).toEqual([]);
  expect(JSON.stringify(modules) + lock.toString()).not.toContain("CANARY");
  place.call("git::https://me:CANARY@127.0.0.1:1/r.git");
  expect(await place.problem()).not.toContain("CANARY");
});

it("installs in one folder and one cache from many sides at once", async () => {
  const place = new Place();
  place.repository({ "main.tf": PATH_OUTPUT, "a.txt": "a".repeat(10_000) });
  const calls = Array.from(
    { length: 10 },
    (_, at) => `module "m${at}" { source = "git::file://${place.root}/repo" }`,
  );
  place.write("work/main.tf", calls.join("\n"));
  const results = await Promise.all(Array.from({ length: 4 }, async () => place.install()));
  for (const { diagnostics, modules } of results) {
    expect(diagnostics).toEqual([]);
    expect(modules).toHaveLength(11);
  }
  expect(readdirSync(join(place.work, ".terraform/modules"))).toHaveLength(11);
  expect(readdirSync(join(place.cache, "packages"))).toHaveLength(1);
  expect(readdirSync(place.cache).toSorted()).toEqual([".incoming", "packages"]);
  expect(readdirSync(join(place.cache, ".incoming"))).toEqual([]);
});

it("reads the lock file that it writes, and names the line where it is damaged", () => {
  const lock = ModuleLock.of([
    { address: "h.test/a/b/c", constraints: "~> 1.0", version: "1.2.0", hash: "h1:x=" },
    { address: "git::https://h.test/r.git?ref=v1", commit: "abc", hash: "h1:y=" },
  ]);
  expect(ModuleLock.parse(lock.toString()).entries()).toEqual(lock.entries());
  expect(lock.toString()).toContain('module "h.test/a/b/c" {\n  constraints = "~> 1.0"\n');
  expect(() => ModuleLock.parse(`${lock.toString()}<<<<<<< ours\n`)).toThrow(":14: the lock file");
});
