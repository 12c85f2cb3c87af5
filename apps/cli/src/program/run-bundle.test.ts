import { execFile } from "node:child_process";
import {
  chmod,
  mkdir,
  mkdtempDisposable,
  readdir,
  readFile,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const RUN_BUNDLE = fileURLToPath(new URL("../../bin/run-bundle.cjs", import.meta.url));
const START = `if (process.env.HOME) process.getuid = undefined; const { runBundle } = require(process.env.RUN_BUNDLE); runBundle(process.env.FOLDER, process.env.COMPILED);`;
const PARAMETERS = "require,builtin,module,exports,load,fileOfBundle,__filename,__dirname";
const DIGESTS = { "start.bundle": "0".repeat(32), "command.bundle": "1".repeat(32) } as const;

/** Two packs and a single chunk, as the build writes them: each says what it does, in this order. */
async function bundle() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "run-bundle-"));
  const [folder, compiled] = [join(scratch.path, "dist"), join(scratch.path, "compiled")];
  await mkdir(folder);
  const chunk = (body: string) => `(${PARAMETERS})=>{"use strict";${body}\n}`;
  const pack = async (
    file: keyof typeof DIGESTS,
    chunks: Readonly<Record<string, string>>,
  ): Promise<void> => {
    const members = Object.entries(chunks).map(([name, body]) => `"./${name}":${chunk(body)}`);
    await writeFile(join(folder, file), `/*${DIGESTS[file]}*/({${members.join(",")}})\n`);
  };
  await pack("start.bundle", {
    "main.js": `const early=require("./early.js");const fs=builtin("node:fs");const child=builtin("node:child_process");
      early.say("main "+typeof fs.default.readFileSync+" "+typeof fs.readFileSync+" "+typeof child.default.spawn+" "+typeof child.spawn);
      load("./late.js").then((late)=>late.go())`,
    "early.js": `exports.count=0;exports.say=(text)=>{exports.count+=1;console.log(text)};`,
  });
  await pack("command.bundle", {
    "late.js": `const{say}=require("./early.js");exports.go=()=>{say("late");load("./single.js").then((single)=>single.go())};`,
  });
  await writeFile(
    join(folder, "single.cjs"),
    `module.exports=${chunk(`exports.go=()=>console.log("single",require("./early.js").count);`)};\n`,
  );
  const run = async (
    word = "plan",
    place = compiled,
    more: NodeJS.ProcessEnv = {},
  ): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, ["-e", START, "x", word], {
      env: { RUN_BUNDLE, FOLDER: folder, COMPILED: place, ...more },
      timeout: 30_000,
    });
    return stdout;
  };
  const kept = join(compiled, "command");
  return {
    run,
    kept,
    home: scratch.path,
    files: async () => (await readdir(kept)).toSorted(),
    [Symbol.asyncDispose]: async () => scratch.remove(),
  };
}

const TEXT = "main function function function function\nlate\nsingle 2\n";

it("runs each chunk once, from packs and from files of its own", async () => {
  await using command = await bundle();
  expect(await command.run()).toBe(TEXT);
  expect(await command.run()).toBe(TEXT);
});

it("keeps compiled code for the user alone, apart for commands that are used often", async () => {
  await using command = await bundle();
  await command.run("plan");
  await command.run("version");
  await command.run("serve");
  await command.run("runs");
  const files = await command.files();
  const names = ["others", "plan", "version"];
  expect(files).toEqual(
    Object.values(DIGESTS).flatMap((digest) =>
      names.map((name) => `${digest}-${process.version}-${process.arch}-${name}.code`),
    ),
  );
  const { mode } = await stat(join(command.kept, files[0] ?? ""));
  expect(mode & 0o777).toBe(0o600);
});

it("compares the code that it keeps less often once runs have added nothing", async () => {
  await using command = await bundle();
  await command.run();
  const age = async () => {
    const names = await command.files();
    const facts = await Promise.all(names.map(async (name) => stat(join(command.kept, name))));
    return Math.min(...facts.map(({ mtimeMs }) => Date.now() - mtimeMs));
  };
  expect(await age()).toBeLessThan(1_800_000);
  for (let run = 0; run < 2; run += 1) expect(await command.run()).toBe(TEXT);
  expect(await age()).toBeGreaterThan(3_600_000);
});

it("runs without code that is damaged, or that others may have written", async () => {
  await using command = await bundle();
  await command.run();
  const [name = ""] = await command.files();
  const path = join(command.kept, name);
  const whole = await readFile(path);
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.alloc(whole.length),
    whole.subarray(0, whole.length >> 1),
    Buffer.concat([whole, Buffer.alloc(8)]),
  ]) {
    await writeFile(path, bytes);
    expect(await command.run()).toBe(TEXT);
    // What could not be used was made anew.
    expect((await readFile(path)).length).toBeGreaterThan(whole.length >> 1);
  }
  await chmod(path, 0o666);
  expect(await command.run()).toBe(TEXT);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

it("runs without code of which a bit has changed", async () => {
  await using command = await bundle();
  await command.run();
  const [name = ""] = await command.files();
  const path = join(command.kept, name);
  const whole = await readFile(path);
  // Within what V8 compares, and behind that, where it compares nothing.
  for (const part of [0.3, 0.6, 0.95]) {
    const flipped = Buffer.from(whole);
    const at = Math.floor(whole.length * part);
    flipped[at] = (flipped[at] ?? 0) ^ 0x10;
    await writeFile(path, flipped);
    expect(await command.run()).toBe(TEXT);
    expect((await readFile(path)).equals(flipped)).toBe(false);
  }
});

it("keeps code in the folder of the user where users have no numbers, and uses none from elsewhere", async () => {
  await using command = await bundle();
  const place = join(command.kept, "..");
  const inode = async () => {
    const [name = ""] = await command.files();
    return (await stat(join(command.kept, name))).ino;
  };
  const ours = { HOME: command.home };
  await command.run("plan", place, ours);
  const first = await inode();
  // What can be used is not written again.
  expect(await command.run("plan", place, ours)).toBe(TEXT);
  expect(await inode()).toBe(first);
  const other = { HOME: join(command.home, "dist") };
  expect(await command.run("plan", place, other)).toBe(TEXT);
  expect(await inode()).not.toBe(first);
});

it("runs where the system has no place for compiled code", async () => {
  await using command = await bundle();
  expect(await command.run("show", "/proc/nothing/compiled")).toBe(TEXT);
});

it("runs where a file is in the place of the folder of compiled code", async () => {
  await using command = await bundle();
  await mkdir(join(command.kept, ".."), { recursive: true });
  await writeFile(command.kept, "");
  expect(await command.run()).toBe(TEXT);
  expect(await readFile(command.kept, "utf8")).toBe("");
});
