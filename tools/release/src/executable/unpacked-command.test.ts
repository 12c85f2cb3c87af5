import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { expect, it, vi } from "vitest";
import { FUSE } from "./fuse.ts";
import { launch } from "./unpacked-command.ts";

const DIGEST = "0123456789abcdef0123456789abcdef";
const FILES: Readonly<Record<string, string>> = {
  "bin/stackwright.cjs": "globalThis.ran = process.argv;",
  "dist/command.bundle": "what it runs",
};

vi.mock("node:sea", () => ({
  getAsset: (name: string, encoding?: string) => {
    if (encoding === undefined) return new TextEncoder().encode(FILES[name]).buffer;
    const sizes = Object.entries(FILES).map(([path, text]) => [path, text.length]);
    return JSON.stringify({ digest: DIGEST, sizes: Object.fromEntries(sizes) });
  },
}));

async function start(node = `before ${FUSE}:1 after`) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-unpacked-"));
  const [executable, parent] = [join(scratch.path, "stackwright"), join(scratch.path, "a/b")];
  writeFileSync(executable, node);
  chmodSync(executable, 0o555);
  let written = "";
  const { argv, execPath, exitCode } = process;
  process.execPath = executable;
  vi.stubEnv("STACKWRIGHT_UNPACK_FOLDER", parent);
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    written += String(text);
    return true;
  });
  const become = vi.fn<NonNullable<Parameters<typeof launch>[0]>>();
  return {
    parent,
    folder: join(parent, DIGEST),
    become,
    launched: () => {
      written = "";
      launch(become);
      return written;
    },
    [Symbol.asyncDispose]: async () => {
      vi.restoreAllMocks();
      vi.unstubAllEnvs();
      Object.assign(process, { argv, execPath });
      process.exitCode = exitCode;
      await scratch.remove();
    },
  };
}

it("unpacks what other users can run and cannot change, whatever is set for new files", async () => {
  await using started = await start();
  const { parent, folder, become, launched } = started;
  const umask = process.umask(0o077);
  try {
    expect(launched()).toBe("");
  } finally {
    process.umask(umask);
  }
  const node = join(folder, "bin/node");
  expect(become).toHaveBeenCalledExactlyOnceWith({
    node,
    path: join(folder, "bin/stackwright.cjs"),
    calledAs: basename(process.argv0),
  });
  expect(readFileSync(node, "utf8")).toBe(`before ${FUSE}:0 after`);
  const modes = [parent, folder, join(folder, "dist"), node].map((path) => statSync(path).mode);
  expect(modes.map((mode) => mode & 0o777)).toEqual([0o755, 0o755, 0o755, 0o755]);
  expect(statSync(join(folder, "dist/command.bundle")).mode & 0o777).toBe(0o644);
});

it("runs the command in the same process, with the unpacked Node for what it starts", async () => {
  await using started = await start();
  const { folder } = started;
  const node = join(folder, "bin/node");
  vi.stubEnv("STACKWRIGHT_CALLED_AS", "tofu");
  process.argv = ["/usr/bin/tofu", "/usr/bin/tofu", "plan", "--json"];
  launch();
  expect((globalThis as { readonly ran?: unknown }).ran).toEqual([
    node,
    join(folder, "bin/stackwright.cjs"),
    "plan",
    "--json",
  ]);
  expect(process.execPath).toBe(node);
  expect(process.env["STACKWRIGHT_CALLED_AS"]).toBe("tofu");
});

it("writes what the folder lost, and nothing else", async () => {
  await using started = await start();
  const { folder, become, launched } = started;
  expect(launched()).toBe("");
  const [kept, lost, node] = ["bin/stackwright.cjs", "dist/command.bundle", "bin/node"].map(
    (name) => join(folder, name),
  ) as [string, string, string];
  const before = statSync(kept).ino;
  rmSync(join(folder, "dist"), { recursive: true });
  writeFileSync(node, "");
  expect(launched()).toBe("");
  expect(readFileSync(lost, "utf8")).toBe("what it runs");
  expect(readFileSync(node, "utf8")).toBe(`before ${FUSE}:0 after`);
  expect(statSync(node).mode & 0o777).toBe(0o755);
  expect(statSync(kept).ino).toBe(before);
  expect(readdirSync(join(folder, "bin")).toSorted()).toEqual(["node", "stackwright.cjs"]);
  expect(become).toHaveBeenCalledTimes(2);
});

it("ends where the folder lost files and belongs to others", async () => {
  await using started = await start();
  const { folder, launched } = started;
  expect(launched()).toBe("");
  rmSync(join(folder, "dist"), { recursive: true });
  // Refused to everybody, as a folder of an administrator is to the others.
  writeFileSync(join(folder, "dist"), "");
  expect(launched()).toContain(`${folder} lost files and cannot be completed; remove it`);
});

it("keeps to its own files where another process with its id unpacks, too", async () => {
  await using started = await start();
  const { parent, folder, launched } = started;
  const others = `${folder}.${process.pid}`;
  mkdirSync(others, { recursive: true });
  writeFileSync(join(others, "half"), "");
  expect(launched()).toBe("");
  expect(readdirSync(parent).toSorted()).toEqual([DIGEST, `${DIGEST}.${process.pid}`]);
  expect(existsSync(join(others, "half"))).toBe(true);
});

it("does not become itself", async () => {
  await using started = await start();
  const { folder, become, launched } = started;
  mkdirSync(join(folder, "bin"), { recursive: true });
  writeFileSync(join(folder, "bin/node"), "", { mode: 0o755 });
  process.execPath = join(folder, "bin/node");
  expect(launched()).toContain(`${folder} is not complete; remove it`);
  expect(become).not.toHaveBeenCalled();
});

it.runIf(process.platform === "linux")("ends where no folder can be made", async () => {
  await using started = await start();
  vi.stubEnv("STACKWRIGHT_UNPACK_FOLDER", "/proc/stackwright/executable");
  expect(started.launched()).toContain("mkdir '/proc/stackwright'");
  expect(started.become).not.toHaveBeenCalled();
});

it("refuses a folder that others can change", async () => {
  await using started = await start();
  const { parent, become, launched } = started;
  mkdirSync(parent, { recursive: true });
  chmodSync(parent, 0o777);
  expect(launched()).toContain(`${parent} can be changed by other users`);
  expect(become).not.toHaveBeenCalled();
});
