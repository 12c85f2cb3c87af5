// Runs the packed chunks of the command with the code that V8 compiled of them in earlier runs. Node's own cache keeps of a file what
// the first command compiled that loads it, and nothing that later ones add; here each command that is used often has its own
// file for each pack, which is written anew when a run compiled much that is not in it.
"use strict";
const fs = require("node:fs");
const { createRequire, enableCompileCache } = require("node:module");
const paths = require("node:path");
const process = require("node:process");
const { Script, constants } = require("node:vm");

/** In this order. */
const PACKS = ["start.bundle", "command.bundle"];
const OFTEN_USED = new Set([
  "apply",
  "destroy",
  "fmt",
  "init",
  "plan",
  "up",
  "validate",
  "version",
]);
// A pack begins with the digest of what follows, in a comment.
const DIGEST = /^\/\*([0-9a-f]{16,64})\*\//;
const CHUNK = /^\.\/[^/]+\.js$/;
/** Modules of Node that take long to load, and that few commands use. */
const LAZY = new Set(
  "child_process,crypto,dns,http,http2,https,net,readline,readline/promises,sqlite,tls,worker_threads,zlib"
    .split(",")
    .map((name) => `node:${name}`),
);
const MAGIC = 0x53574333;
const HEADER_BYTES = 16;
/** How much more than what is kept has to be compiled, so that it is kept as well. */
const GROWTH = 1.05;
const UNUSED_MS = 60 * 86_400_000;
/** How long after it was written kept code is compared with each run; later with one run in so many. A run that adds nothing takes half of that. */
const YOUNG_MS = 3_600_000;
const COMPARED_RUNS = 16;

/**
 * Runs the command from its folder.
 *
 * @param compiled folder of compiled code; undefined keeps none
 */
exports.runBundle = function runBundle(folder, compiled) {
  new Chunks(folder, compiled).get("./main.js");
};

/** The chunks of the command, each run once, when it is first asked for. */
class Chunks {
  constructor(folder, compiled) {
    this.folder = folder;
    this.compiled = compiled;
    this.file = paths.join(folder, PACKS[0]);
    this.url = require("node:url").pathToFileURL(paths.join(folder, "command.js")).href;
    this.packs = [];
    this.done = new Map();
    this.builtins = new Map();
    this.others = createRequire(this.file);
    this.require = (name) => (CHUNK.test(name) ? this.get(name) : this.others(name));
    this.builtin = (name) => this.namespaceOf(name);
    this.load = async (name) => (CHUNK.test(name) ? this.get(name) : this.importOf(name));
  }

  /** A module of Node, or a file that is no chunk. */
  async importOf(name) {
    if (!name.startsWith("./")) return import(name);
    return import(require("node:url").pathToFileURL(paths.join(this.folder, name)).href);
  }

  get(name) {
    const known = this.done.get(name);
    if (known !== undefined) return known.exports;
    const module = { exports: {} };
    this.done.set(name, module);
    const run = this.functionOf(name);
    const { require, builtin, load, url, file, folder } = this;
    run(require, builtin, module, module.exports, load, url, file, folder);
    // V8 takes an object with many members for a table, in which each access is a search, unless it is a prototype.
    Object.create(module.exports);
    return module.exports;
  }

  functionOf(name) {
    for (const [index, file] of PACKS.entries()) {
      this.packs[index] ??= readPack(paths.join(this.folder, file), this.compiled);
      const found = this.packs[index][name];
      if (found !== undefined) return found;
    }
    // Single chunks are modules, whose code Node keeps.
    if (this.compiled) keepCompiled(this.compiled);
    return this.others(name.replace(/js$/, "cjs"));
  }

  /** What an import of a module of Node gives. */
  namespaceOf(name) {
    let namespace = this.builtins.get(name);
    if (namespace !== undefined) return namespace;
    if (LAZY.has(name)) {
      let loaded;
      const get = (_, member) => {
        loaded ??= this.others(name);
        return member === "default" ? loaded : loaded[member];
      };
      namespace = new Proxy({}, { get });
    } else {
      const loaded = this.others(name);
      namespace = Object.create(loaded, { default: { value: loaded } });
    }
    this.builtins.set(name, namespace);
    return namespace;
  }
}

function readPack(file, compiled) {
  const source = fs.readFileSync(file, "latin1");
  const path = compiled && compiledFile(source, compiled);
  const kept = path && readKept(path);
  const script = new Script(source, {
    filename: file,
    cachedData: kept?.code,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  if (path) {
    const isUsed = kept !== undefined && script.cachedDataRejected !== true;
    // To ask V8 for its counts loads a module, which takes a millisecond.
    if (isUsed && kept.ageMs > YOUNG_MS && Math.random() * COMPARED_RUNS > 1) {
      return script.runInThisContext();
    }
    // Nothing is waited for after a command that was to stop.
    process.once("exit", (code) => {
      if (code < 128) keep(script, path, isUsed ? kept.compiledBytes : 0);
    });
  }
  return script.runInThisContext();
}

function compiledFile(source, folder) {
  const digest = DIGEST.exec(source.slice(0, 80))?.[1];
  if (digest === undefined) return undefined;
  const word = process.argv.slice(2).find((one) => !one.startsWith("-"));
  const name = OFTEN_USED.has(word) ? word : "others";
  return paths.join(folder, "command", `${digest}-${process.version}-${process.arch}-${name}.code`);
}

/**
 * Code that this user, and no other, may have written, as it was written: V8 compares its own version and flags, and the length of the
 * source, and runs whatever else it is given.
 */
function readKept(path) {
  let file;
  try {
    file = fs.openSync(path, "r");
    const facts = fs.fstatSync(file);
    if (!isOwn(path, facts) || facts.size <= HEADER_BYTES) return undefined;
    const bytes = fs.readFileSync(file);
    if (bytes.readUInt32LE(0) !== MAGIC || bytes.readUInt32LE(4) !== bytes.length) return undefined;
    const code = bytes.subarray(HEADER_BYTES);
    if (bytes.readUInt32LE(12) !== checksumOf(code)) return undefined;
    return {
      code,
      compiledBytes: bytes.readUInt32LE(8),
      ageMs: Date.now() - facts.mtimeMs,
    };
  } catch {
    return undefined;
  } finally {
    if (file !== undefined) fs.closeSync(file);
  }
}

/** Whether only this user can have written a file. Windows gives users no numbers: there it is one in the folder of the user. */
function isOwn(path, { uid, mode }) {
  if (process.getuid !== undefined) return uid === process.getuid() && (mode & 0o022) === 0;
  const home = fs.realpathSync(require("node:os").homedir());
  const within = paths.relative(home, fs.realpathSync(path));
  return !within.startsWith("..") && !paths.isAbsolute(within);
}

function checksumOf(bytes) {
  return require("node:zlib").crc32(bytes);
}

function keep(script, path, keptBytes) {
  const partial = `${path}.${process.pid}.tmp`;
  try {
    const compiledBytes = require("node:v8").getHeapCodeStatistics().bytecode_and_metadata_size;
    if (compiledBytes < keptBytes * GROWTH) {
      const { atime, mtimeMs } = fs.statSync(path);
      const isYoung = Date.now() - mtimeMs <= YOUNG_MS;
      if (isYoung) fs.utimesSync(path, atime, new Date(mtimeMs - YOUNG_MS / 2));
      return;
    }
    const code = script.createCachedData();
    const header = Buffer.alloc(HEADER_BYTES);
    header.writeUInt32LE(MAGIC, 0);
    header.writeUInt32LE(HEADER_BYTES + code.length, 4);
    header.writeUInt32LE(compiledBytes, 8);
    header.writeUInt32LE(checksumOf(code), 12);
    const folder = paths.join(path, "..");
    makeFolder(folder);
    // Whole, or not there at all, also after a loss of power.
    const file = fs.openSync(partial, "wx", 0o600);
    try {
      fs.writevSync(file, [header, code]);
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
    fs.renameSync(partial, path);
    for (const name of fs.readdirSync(folder)) {
      const { mtimeMs } = fs.statSync(paths.join(folder, name));
      if (Date.now() - mtimeMs > UNUSED_MS) fs.rmSync(paths.join(folder, name));
    }
  } catch {
    // No place for it, or another process removes the same: the next run tries again.
    try {
      fs.rmSync(partial, { force: true });
    } catch {
      // It is not there.
    }
  }
}

/** Lets Node keep the compiled code of modules in a folder; false where none can be made: Node itself tries without end in /proc. */
function keepCompiled(folder) {
  try {
    makeFolder(folder);
  } catch {
    return false;
  }
  enableCompileCache?.(folder);
  return true;
}
exports.keepCompiled = keepCompiled;

/** Makes a folder with those above it. That of Node does not end where the system answers that there is no such place, as in /proc. */
function makeFolder(path) {
  if (fs.existsSync(path)) return;
  const parent = paths.join(path, "..");
  if (parent !== path) makeFolder(parent);
  try {
    fs.mkdirSync(path, 0o700);
  } catch (error) {
    if (!fs.existsSync(path)) throw error;
  }
}
