import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  appendFile,
  mkdir,
  mkdtempDisposable,
  readdir,
  readFile,
  rm,
  writeFile,
} from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { TEST_PROGRAMS } from "@stackwright/core/testing";
import { Platform, packTarball } from "@stackwright/provider-source";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

/* Plug-ins from a server on this machine, in the layout of Pulumi's plug-in servers. */

const SOURCE = "stackwright.local/pulumi/chatty";
const { os, arch } = Platform.ofNode();
const archiveName = (version: string) => `pulumi-resource-chatty-v${version}-${os}-${arch}.tar.gz`;
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");

const script = (version: string) =>
  `#!/bin/sh\nCHATTY_VERSION=${version} exec "${process.execPath}" "${TEST_PROGRAMS.chattyProvider}" "$@"\n`;

async function pack(files: Readonly<Record<string, string>>): Promise<Buffer> {
  const entries = Object.entries(files).map(([path, text]) => ({
    path,
    executable: path.startsWith("pulumi-resource"),
    size: Buffer.byteLength(text),
    async *content() {
      yield Buffer.from(text);
    },
  }));
  const parts: Uint8Array[] = [];
  for await (const part of packTarball(entries)) parts.push(part);
  return Buffer.concat(parts);
}

const plugin = async (version: string) =>
  pack({ "pulumi-resource-chatty": script(version), LICENSE: "free\n" });

/** An archive with one entry of a type, as no well-behaved packer makes it. */
function rawTarball(name: string, type: string, target = ""): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write("0000755\0", 100);
  header.write("00000000000\0", 124);
  header.write("00000000000\0", 136);
  header.write("        ", 148);
  header.write(type, 156);
  header.write(target, 157);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return gzipSync(Buffer.concat([header, Buffer.alloc(1024)]));
}

const template = (version: string) => `
terraform {
  required_providers {
    chatty = {
      source  = "${SOURCE}"
      ${version === "" ? "" : `version = "${version}"`}
    }
  }
}
resource "chatty_chatty_note" "n" {
  text = "hello"
}
output "made_by" {
  value = chatty_chatty_note.n.made_by
}
`;

async function setUp(archives: Readonly<Record<string, Buffer>>) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "plugin-install-"));
  const served = new Map(Object.entries(archives));
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    const { pathname } = new URL(request.url ?? "", "http://localhost");
    const body = served.get(pathname.split("/").at(-1) ?? "");
    response.writeHead(body === undefined ? 404 : 200);
    response.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const home = join(scratch.path, "home");
  const folder = async (name: string, version: string, entry: object = {}) => {
    const cwd = join(scratch.path, name);
    await mkdir(cwd, { recursive: true });
    await writeFile(join(cwd, "main.tf"), template(version));
    const plugins = { [SOURCE]: { server: `${url}/\${NAME}/v\${VERSION}/`, ...entry } };
    await writeFile(join(cwd, "stackwright.providers.json"), JSON.stringify({ plugins }));
    const env = { PATH: process.env.PATH, HOME: scratch.path, PULUMI_HOME: home };
    return {
      cwd,
      lockFile: join(cwd, ".terraform.lock.hcl"),
      run: async (words: readonly string[], more: NodeJS.ProcessEnv = {}) =>
        tryCommand(words, { cwd, env: { ...env, ...more } }),
    };
  };
  return {
    folder,
    home,
    plugins: join(home, "plugins"),
    requests,
    url,
    served,
    scratch,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await scratch.remove();
    },
  };
}

const flat = (text: string) => text.replaceAll(/\s+[│|]?\s*/g, " ");

describe("plug-ins of a server", { timeout: 120_000 }, () => {
  it("are installed as Pulumi does, locked, and used; what is there is only checked", async () => {
    const archive = await plugin("1.2.0");
    await using tried = await setUp({ [archiveName("1.2.0")]: archive });
    const one = await tried.folder("one", "1.2.0", {
      checksums: { [`${os}-${arch}`]: sha256(archive) },
    });
    const made = await one.run(["init"]);
    expect(made, made.error).toMatchObject({ code: 0 });
    expect(made.output).toContain("Installed the plug-in chatty 1.2.0 in ");
    expect(tried.requests).toEqual([`/chatty/v1.2.0/${archiveName("1.2.0")}`]);
    expect(await readdir(tried.plugins)).toEqual(["resource-chatty-v1.2.0"]);
    expect((await readdir(join(tried.plugins, "resource-chatty-v1.2.0"))).toSorted()).toEqual([
      "LICENSE",
      "pulumi-resource-chatty",
    ]);
    const lock = await readFile(one.lockFile, "utf8");
    expect(lock).toContain(`provider "${SOURCE}" {\n  version     = "1.2.0"`);
    expect(lock).toContain(`"zh:${sha256(archive)}"`);
    const up = await one.run(["up", "--yes"]);
    expect(up, up.error).toMatchObject({ code: 0 });
    expect((await one.run(["output", "-raw", "made_by"])).output).toBe("1.2.0");
    expect((await one.run(["providers"])).output).toContain("plug-in chatty: 1.2.0 from http");
    expect((await one.run(["init", "-lockfile=readonly"])).code).toBe(0);
    expect(tried.requests.length).toBe(1);
    expect(await readFile(one.lockFile, "utf8")).toBe(lock);
  });

  it("are chosen by the lock file, by an exact version, or as the newest of a folder", async () => {
    await using tried = await setUp({});
    const offline = join(tried.scratch.path, "offline");
    await mkdir(offline);
    for (const version of ["1.0.0", "1.2.0"]) {
      await writeFile(join(offline, archiveName(version)), await plugin(version));
    }
    const open = await tried.folder("one", "~> 1.0");
    const refused = await open.run(["init"]);
    expect(refused.code).toBe(1);
    expect(flat(refused.error)).toContain('Require one exact version, such as version = "1.2.0".');
    const env = { STACKWRIGHT_PULUMI_SERVER: offline };
    expect((await open.run(["init"], env)).code).toBe(0);
    expect(await readFile(open.lockFile, "utf8")).toContain('version     = "1.2.0"');
    await writeFile(join(offline, archiveName("1.3.0")), await plugin("1.3.0"));
    await open.run(["init"], env);
    expect(await readFile(open.lockFile, "utf8")).toContain('version     = "1.2.0"');
    expect((await open.run(["init", "-upgrade", "-lockfile=readonly"], env)).code).toBe(1);
    expect((await open.run(["init", "-upgrade"], env)).code).toBe(0);
    expect(await readFile(open.lockFile, "utf8")).toContain('version     = "1.3.0"');
    await tried.folder("one", "1.0.0");
    const locked = await open.run(["init"], env);
    expect(locked.code).toBe(1);
    expect(flat(locked.error)).toContain("stackwright init -upgrade");
    expect(tried.requests).toEqual([]);
  });

  it("are chosen from a list of versions, which is asked again for an upgrade alone", async () => {
    const listed = (...versions: readonly string[]) => Buffer.from(JSON.stringify({ versions }));
    await using tried = await setUp({
      [archiveName("1.2.0")]: await plugin("1.2.0"),
      [archiveName("1.3.0")]: await plugin("1.3.0"),
      "versions.json": listed("1.0.0", "1.2.0", "2.0.0"),
    });
    const one = await tried.folder("one", "~> 1.0", { versions: `${tried.url}/versions.json` });
    expect(await one.run(["init"])).toMatchObject({ code: 0 });
    expect(await readFile(one.lockFile, "utf8")).toContain('version     = "1.2.0"');
    tried.served.set("versions.json", listed("1.3.0"));
    const up = await one.run(["up", "--yes"]);
    expect(up, up.error).toMatchObject({ code: 0 });
    expect((await one.run(["output", "-raw", "made_by"])).output).toBe("1.2.0");
    expect(await one.run(["init", "-upgrade"])).toMatchObject({ code: 0 });
    expect(await readFile(one.lockFile, "utf8")).toContain('version     = "1.3.0"');
    tried.served.delete("versions.json");
    const gone = await one.run(["init", "-upgrade"]);
    expect(flat(gone.error)).toContain(`the versions of the plug-in ${SOURCE} cannot be read from`);
  });

  it("are refused where the checksum or the lock file says another, also in their folder", async () => {
    const archive = await plugin("1.2.0");
    await using tried = await setUp({ [archiveName("1.2.0")]: archive });
    const wrong = await tried.folder("wrong", "1.2.0", {
      checksums: { [`${os}-${arch}`]: "0".repeat(64) },
    });
    const refused = await wrong.run(["init"]);
    expect(refused.code).toBe(1);
    expect(flat(refused.error)).toContain("and the checksum says zh:000");
    expect(await readdir(tried.plugins)).toEqual([]);
    const one = await tried.folder("one", "1.2.0");
    expect((await one.run(["init"])).code).toBe(0);
    const program = join(tried.plugins, "resource-chatty-v1.2.0", "pulumi-resource-chatty");
    await appendFile(program, "# changed\n");
    const changed = await one.run(["plan"]);
    expect(changed.code).toBe(1);
    expect(flat(changed.error)).toContain("has none of the hashes in the lock file");
    // What another configuration left there is no reason to pass over a checksum.
    const hex = createHash("sha256").update(archive).digest("hex");
    const checksums = { [`${os}-${arch}`]: hex };
    const pinned = await tried.folder("pinned", "1.2.0", { checksums });
    expect(await pinned.run(["init"])).toMatchObject({ code: 0 });
    expect(await readFile(program, "utf8")).not.toContain("# changed");
    expect((await one.run(["plan"])).code).toBe(0);
    await rm(join(tried.plugins, "resource-chatty-v1.2.0"), { recursive: true });
    tried.served.set(archiveName("1.2.0"), await pack({ "pulumi-resource-chatty": "#!/bin/sh\n" }));
    const other = await one.run(["init"]);
    expect(flat(other.error)).toContain("its archive has none of the hashes in the lock file");
    expect(await readdir(tried.plugins)).toEqual([]);
  });

  it.each([
    ["a link", () => rawTarball("pulumi-resource-chatty", "2", "/bin/sh")],
    ["a hard link", () => rawTarball("pulumi-resource-chatty", "1", "../../x")],
    ["a path that leads out", () => rawTarball("../../outside", "0")],
    ["an absolute path", () => rawTarball("/tmp/outside", "0")],
    ["no program", () => rawTarball("README", "0")],
    ["garbage", () => Buffer.from("<html>sign in</html>")],
  ])("are refused as archives with %s, and nothing is left behind", async (_what, archive) => {
    await using tried = await setUp({ [archiveName("1.2.0")]: archive() });
    const one = await tried.folder("one", "1.2.0");
    const refused = await one.run(["init"]);
    expect(refused.code).toBe(1);
    expect(flat(refused.error)).toContain(`the plug-in ${SOURCE} 1.2.0 cannot be installed`);
    expect(await readdir(tried.plugins)).toEqual([]);
    expect(await readdir(tried.scratch.path)).not.toContain("outside");
  });

  it.each([
    ["github://acme/chatty", "one of GitHub is github://api.github.com/OWNER/REPOSITORY"],
    ["ftp://plugins.example.com", "servers have an https: URL or are a folder"],
    ["http://plugins.example.com", "its server must have an https: URL"],
  ])("are refused from %s", async (server, why) => {
    await using tried = await setUp({});
    const one = await tried.folder("one", "1.2.0", { server });
    expect(flat((await one.run(["init"])).error)).toContain(why);
  });

  it("are installed once by several commands at the same time, and over what a crash left", async () => {
    await using tried = await setUp({ [archiveName("1.2.0")]: await plugin("1.2.0") });
    const left = join(tried.plugins, "resource-chatty-v1.2.0");
    await mkdir(left, { recursive: true });
    await writeFile(join(left, "half"), "");
    await writeFile(`${left}.partial`, "");
    const folders = await Promise.all(
      ["a", "b", "c", "d"].map(async (name) => tried.folder(name, "1.2.0")),
    );
    const results = await Promise.all(folders.map(async ({ run }) => run(["init"])));
    expect(results.map(({ code, error }) => [code, error])).toEqual(results.map(() => [0, ""]));
    expect(await readdir(tried.plugins)).toEqual(["resource-chatty-v1.2.0"]);
    expect(await readdir(left)).toContain("pulumi-resource-chatty");
    const locks = await Promise.all(
      folders.map(async ({ lockFile }) => readFile(lockFile, "utf8")),
    );
    const h1 = locks.map((text) => /"h1:[^"]+"/.exec(text)?.[0]);
    expect(new Set(h1).size).toBe(1);
  });

  it("may be programs for Node, as PulumiPlugin.yaml says", async () => {
    const main = `import ${JSON.stringify(TEST_PROGRAMS.chattyProvider)};\n`;
    const archive = await pack({
      "PulumiPlugin.yaml": "runtime: nodejs\n",
      "package.json": JSON.stringify({ type: "module", main: "main.js" }),
      "main.js": main,
    });
    await using tried = await setUp({ [archiveName("1.2.0")]: archive });
    const one = await tried.folder("one", "1.2.0");
    const up = await one.run(["up", "--yes"]);
    expect(up, up.error).toMatchObject({ code: 0 });
    expect((await one.run(["output", "-raw", "made_by"])).output).toBe("0.0.1");
  });

  it("are asked for their schema once for each version, and not read again for a plan", async () => {
    await using tried = await setUp({});
    const log = join(tried.scratch.path, "starts");
    const counted = script("1.2.0").replace("\n", `\necho started >>"${log}"\n`);
    tried.served.set(archiveName("1.2.0"), await pack({ "pulumi-resource-chatty": counted }));
    const one = await tried.folder("one", "1.2.0");
    const starts = async () => (await readFile(log, "utf8").catch(() => "")).split("\n").length - 1;
    expect(await one.run(["init"])).toMatchObject({ code: 0 });
    const first = await one.run(["validate"]);
    expect(first, first.error).toMatchObject({ code: 0 });
    expect(await starts()).toBe(1);
    expect(await one.run(["validate"])).toMatchObject({ code: 0 });
    const schema = await one.run(["providers", "schema", "-json"]);
    expect(schema.output).toContain("chatty_chatty_note");
    expect(await starts()).toBe(1);
    expect(await one.run(["up", "--yes"])).toMatchObject({ code: 0 });
    expect(await starts()).toBe(2);
    // Without the folder each command asks.
    await one.run(["validate"], { STACKWRIGHT_SCHEMA_CACHE: "off" });
    expect(await starts()).toBe(3);
    // What was changed is refused before anything is taken from what is kept.
    const program = join(tried.plugins, "resource-chatty-v1.2.0", "pulumi-resource-chatty");
    await appendFile(program, "# changed\n");
    const refused = await one.run(["plan"]);
    expect(flat(refused.error)).toContain("has none of the hashes in the lock file");
    expect(await starts()).toBe(3);
  });
});
