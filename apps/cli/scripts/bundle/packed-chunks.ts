import { createHash } from "node:crypto";
import { basename } from "node:path";
import { type Metafile, type OutputFile, transform } from "esbuild";

/** The chunks of a build. */
interface Outputs {
  readonly metafile: Metafile;
  readonly outputFiles: readonly OutputFile[];
}

/** What the functions of chunks get, in this order (`bin/run-bundle.cjs`). */
const PARAMETERS =
  "require,builtinOfBundle,module,exports,loadOfBundle,fileOfBundle,__filename,__dirname";
/** Those that no source may have as a name of its own: it would be called in place of the parameter. */
const RESERVED = /\b(?:builtin|load|file)OfBundle\b/;

/** A file with several chunks. */
interface Pack {
  readonly file: string;
  /** Sources of which it has the chunks, with all that these import, as far as earlier packs do not have it. */
  readonly sources: readonly string[];
}

/**
 * Packs the chunks that commands which are used often load into few files. Each is an expression: an object with a function for each
 * chunk. Node takes longer to find, read and link a hundred modules than a small plan takes. Each other chunk is a module in the
 * form of CommonJS with its function. All of them get one another from `bin/run-bundle.cjs`, so that there is one of each.
 */
export async function packChunks(
  { metafile, outputFiles }: Outputs,
  packs: readonly Pack[],
): Promise<ReadonlyMap<string, string>> {
  const outputs = new Map(
    Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]),
  );
  const chunkOf = (source: string): string => {
    const [name] = [...outputs].find(([, { entryPoint }]) => entryPoint === source) ?? [];
    if (name === undefined)
      throw new Error(`${source} is imported by nothing that the command has`);
    return name;
  };
  const packOf = new Map<string, string>();
  const place = (name: string, file: string): void => {
    if (packOf.has(name)) return;
    packOf.set(name, file);
    for (const { path, kind } of outputs.get(name)?.imports ?? []) {
      if (kind === "import-statement" && outputs.has(basename(path))) place(basename(path), file);
    }
  };
  for (const { file, sources } of packs) for (const one of sources) place(chunkOf(one), file);
  const files = new Map<string, string>();
  const members = new Map(packs.map(({ file }) => [file, [] as string[]]));
  for (const { path, text } of outputFiles.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const name = basename(path);
    const made = await asFunction(text, [...outputs.keys()]);
    const pack = members.get(packOf.get(name) ?? "");
    if (pack === undefined) files.set(name.replace(/\.js$/, ".cjs"), `module.exports=${made};\n`);
    else pack.push(`"./${name}":${made}`);
  }
  for (const [file, functions] of members) {
    const content = `({${functions.join(",\n")}})`;
    // The digest in front names the compiled code that belongs to it.
    const digest = createHash("sha256").update(content).digest("hex").slice(0, 32);
    files.set(file, `/*${digest}*/${content}\n`);
  }
  return files;
}

/** A chunk as a function that runs it. */
async function asFunction(text: string, chunks: readonly string[]): Promise<string> {
  const [taken] = RESERVED.exec(text) ?? [];
  if (taken !== undefined)
    throw new Error(`a source has the name ${taken}, which is that of the bundle`);
  const { code } = await transform(text, {
    format: "cjs",
    platform: "node",
    target: "node24",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    // Each character is one byte, in the file and in memory.
    charset: "ascii",
    // The build has warned of what is ours.
    logLevel: "silent",
    define: {
      "import.meta.url": "fileOfBundle",
      "import.meta.dirname": "__dirname",
      "import.meta.filename": "__filename",
    },
  });
  const known = new Set(chunks.map((name) => `"./${name}"`));
  const loads = (name: string): boolean => known.has(name) || !name.endsWith('.js"');
  const body = code
    .trimEnd()
    // An import in a pack itself is one of Node's experiments, and Node says so to the user.
    .replaceAll(/\bimport\(("(?:\.\/|node:)[^"]+")\)/g, (written, name: string) =>
      loads(name) ? `loadOfBundle(${name})` : written,
    )
    // Modules of Node are loaded when something of them is used.
    .replaceAll(
      /\b(import_\w+)=__toESM\(require\(("node:[\w/]+")\)(?:,1)?\)/g,
      "$1=builtinOfBundle($2)",
    )
    .replaceAll(/\b(import_\w+)=require\(("node:[\w/]+")\)/g, "$1=builtinOfBundle($2)")
    // Only chunks import it, and they need no mark of the form that it had.
    .replace(/module\.exports=__toCommonJS\((\w+)\)/, "module.exports=$1");
  return `(${PARAMETERS})=>{${body}\n}`;
}
