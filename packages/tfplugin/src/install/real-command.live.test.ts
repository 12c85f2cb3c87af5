import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import {
  LOCK_FILE_NAME,
  LockFile,
  ProviderAddress,
  readLockFile,
  VersionConstraints,
  writeArchive,
  writeLockFile,
} from "@stackwright/provider-source";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { findTerraform } from "../testing/terraform-command.ts";
import { loadCliConfiguration } from "./cli-configuration.ts";
import { type InstallResult, installProviders } from "./installer.ts";
import { filesOf, LoopbackRegistry } from "./loopback-registry.ts";

/* The same sources, the same configuration file: the command's `init` and ours leave the same lock file behind. */

const found = findTerraform();
const run = promisify(execFile);

const REQUIRED = {
  thing: { source: "registry.example.com/acme/thing", version: "~> 1.0, != 1.2.0" },
  tool: { source: "registry.example.com/acme/tool", version: ">= 0.1.0" },
} as const;

const OFFERS = ["linux_amd64", "darwin_arm64"].flatMap((platform) => [
  ...["1.0.0", "1.1.0", "1.2.0", "2.0.0"].map((version) => ({
    version,
    source: REQUIRED.thing.source,
    platform,
  })),
  { version: "0.3.0", source: REQUIRED.tool.source, platform },
]);

beforeEach((ctx) => {
  ctx.skip("absent" in found, "absent" in found ? found.absent : "");
  ctx.skip(process.platform !== "linux" || process.arch !== "x64", "packages are for linux_amd64");
});

async function setUp(settings: (root: string) => string) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "init-"));
  onTestFinished(() => scratch.remove());
  const root = scratch.path;
  const rc = join(root, "rc");
  await writeFile(rc, settings(root));
  const env = { HOME: root, TF_CLI_CONFIG_FILE: rc, CHECKPOINT_DISABLE: "1", TF_INPUT: "0" };

  async function folderOf(name: string): Promise<string> {
    const folder = join(root, name);
    await mkdir(folder, { recursive: true });
    const entries = Object.entries(REQUIRED).map(
      ([local, { source, version }]) =>
        `    ${local} = { source = "${source}", version = "${version}" }\n`,
    );
    await writeFile(
      join(folder, "main.tf"),
      `terraform {\n  required_providers {\n${entries.join("")}  }\n}\n`,
    );
    return folder;
  }

  async function theirs(...args: string[]): Promise<string> {
    const folder = await folderOf("theirs");
    const command = "command" in found ? found.command : "";
    const options = { cwd: folder, env: { ...env, PATH: process.env.PATH ?? "" } };
    const { stdout } = await run(command, ["init", "-no-color", ...args], options);
    return stdout;
  }

  async function ours(upgrade = false): Promise<InstallResult> {
    const folder = await folderOf("ours");
    const file = join(folder, LOCK_FILE_NAME);
    const result = await installProviders({
      requirements: Object.values(REQUIRED).map(({ source, version }) => ({
        address: ProviderAddress.parse(source),
        constraints: VersionConstraints.parse(version),
      })),
      lock: (await readLockFile(file))?.locks ?? LockFile.empty,
      directory: ".terraform/providers",
      cwd: folder,
      env,
      configuration: await loadCliConfiguration({ env, cwd: folder }),
      upgrade,
    });
    await writeLockFile(file, result.lock);
    return result;
  }

  const lockOf = (name: string) => readFile(join(root, name, LOCK_FILE_NAME), "utf8");
  const installed = async (name: string) =>
    (await readdir(join(root, name, ".terraform/providers"), { recursive: true })).toSorted();
  return { root, theirs, ours, lockOf, installed };
}

describe("init of the command, and ours", () => {
  it("agree on what a signed registry has", async () => {
    await using registry = await LoopbackRegistry.start(OFFERS);
    const { theirs, ours, lockOf, installed, root } = await setUp(() =>
      registry.cliConfiguration("registry.example.com"),
    );
    const output = await theirs();
    const { providers } = await ours();
    expect(await lockOf("ours")).toBe(await lockOf("theirs"));
    expect(await installed("ours")).toEqual(await installed("theirs"));
    const keys = [...providers.values()].map(({ authentication }) =>
      authentication?.kind === "signed" ? authentication.keyId : "none",
    );
    for (const key of keys) expect(output).toContain(key);

    // Each goes on with what the other wrote, and has nothing to change in it.
    await rm(join(root, "theirs/.terraform"), { recursive: true });
    await writeFile(join(root, "theirs", LOCK_FILE_NAME), await lockOf("ours"));
    await theirs("-lockfile=readonly");
    const again = await ours();
    expect([...again.providers.values()].map(({ origin }) => origin)).toEqual([
      "present",
      "present",
    ]);
  });

  it("agree on upgrades", async () => {
    await using registry = await LoopbackRegistry.start(OFFERS);
    const { theirs, ours, lockOf, root } = await setUp(() =>
      registry.cliConfiguration("registry.example.com"),
    );
    await theirs();
    const old = (await lockOf("theirs"))
      .replaceAll('"1.1.0"', '"1.0.0"')
      .replaceAll(/\n {2}hashes = \[[^\]]*\]/g, "");
    for (const name of ["theirs", "ours"]) {
      await mkdir(join(root, name), { recursive: true });
      await writeFile(join(root, name, LOCK_FILE_NAME), old);
    }
    await theirs("-upgrade");
    await ours(true);
    expect(await lockOf("ours")).toBe(await lockOf("theirs"));
    expect(await lockOf("ours")).toContain('"1.1.0"');
  });

  it.each(["packed", "unpacked"])("agree on a folder with %s packages", async (form) => {
    const { theirs, ours, lockOf, root } = await setUp(
      (folder) => `provider_installation {\n  filesystem_mirror { path = "${folder}/mirror" }\n}\n`,
    );
    for (const { source, version, platform } of OFFERS) {
      const type = source.split("/").at(-1) ?? "";
      const base = join(root, "mirror", source);
      if (form === "packed") {
        const path = join(base, `terraform-provider-${type}_${version}_${platform}.zip`);
        await mkdir(dirname(path), { recursive: true });
        await writeArchive(path, filesOf({ source, version }));
        continue;
      }
      for (const { path, content } of filesOf({ source, version })) {
        const file = join(base, version, platform, path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, content as Uint8Array, { mode: 0o755 });
      }
    }
    await theirs();
    await ours();
    expect(await lockOf("ours")).toBe(await lockOf("theirs"));
  });

  it("refuse the same packages", async () => {
    await using registry = await LoopbackRegistry.start(OFFERS);
    const { theirs, ours, root } = await setUp(() =>
      registry.cliConfiguration("registry.example.com"),
    );
    await theirs();
    await ours();
    for (const name of ["theirs", "ours"])
      await rm(join(root, name, ".terraform"), { recursive: true });
    await registry.republish(filesOf({ source: REQUIRED.thing.source, version: "9.9.9" }));
    await expect(theirs()).rejects.toMatchObject({
      stderr: expect.stringMatching(/match any of the\s+checksums/),
    });
    await expect(ours()).rejects.toMatchObject({ code: "TFPLUGIN_CHECKSUM_MISMATCH" });

    registry.faults.wrongKey = true;
    for (const name of ["theirs", "ours"]) await rm(join(root, name, LOCK_FILE_NAME));
    await expect(theirs()).rejects.toMatchObject({ stderr: expect.stringContaining("signature") });
    await expect(ours()).rejects.toMatchObject({ code: "TFPLUGIN_SIGNATURE_INVALID" });
  });
});

describe("over https, with an authority of one's own", () => {
  async function setUpTls(
    settings: (registry: LoopbackRegistry) => string,
    source: (registry: LoopbackRegistry) => string,
  ) {
    const scratch = await mkdtempDisposable(join(tmpdir(), "init-"));
    onTestFinished(() => scratch.remove());
    const made = createSelfSignedIdentity({ name: "localhost" });
    const certificate = String(made.certificate);
    const registry = await LoopbackRegistry.start(OFFERS, {
      certificate,
      privateKey: String(made.privateKey),
    });
    onTestFinished(() => registry[Symbol.asyncDispose]());
    const ca = join(scratch.path, "ca.pem");
    const rc = join(scratch.path, "rc");
    await writeFile(ca, certificate);
    await writeFile(rc, settings(registry));
    const env = {
      PATH: process.env.PATH ?? "",
      HOME: scratch.path,
      TF_CLI_CONFIG_FILE: rc,
      CHECKPOINT_DISABLE: "1",
      SSL_CERT_FILE: ca,
      NODE_EXTRA_CA_CERTS: ca,
    };
    const required = `thing = { source = "${source(registry)}", version = "~> 1.0" }`;
    const init = async (name: string, command: string, args: readonly string[]) => {
      const cwd = join(scratch.path, name);
      await mkdir(cwd);
      await writeFile(
        join(cwd, "main.tf"),
        `terraform {\n  required_providers { ${required} }\n}\n`,
      );
      await run(command, [...args], { cwd, env });
      return readFile(join(cwd, LOCK_FILE_NAME), "utf8");
    };
    const theirs = await init("theirs", "command" in found ? found.command : "", ["init"]);
    const theirRequests = registry.requests.splice(0);
    const program = join(import.meta.dirname, "../testing/programs/init.ts");
    const ours = await init("ours", process.execPath, [program, source(registry), "~> 1.0"]);
    return { theirs, ours, theirRequests, ourRequests: registry.requests };
  }

  it("the registry of a host is discovered as the command discovers it", async () => {
    const { theirs, ours, theirRequests, ourRequests } = await setUpTls(
      () => "",
      ({ host }) => `${host}/acme/thing`,
    );
    expect(ours).toBe(theirs);
    const paths = (requests: typeof ourRequests) => [...new Set(requests.map(({ url }) => url))];
    expect(paths(ourRequests)).toEqual(paths(theirRequests));
    expect(paths(ourRequests)[0]).toBe("/.well-known/terraform.json");
  });

  it("a mirror gives the same", async () => {
    const { theirs, ours, ourRequests, theirRequests } = await setUpTls(
      ({ url }) => `provider_installation {\n  network_mirror { url = "${url}mirror/" }\n}\n`,
      () => REQUIRED.thing.source,
    );
    expect(ours).toBe(theirs);
    const paths = (requests: typeof ourRequests) => [...new Set(requests.map(({ url }) => url))];
    expect(paths(ourRequests)).toEqual(paths(theirRequests));
  });
});
