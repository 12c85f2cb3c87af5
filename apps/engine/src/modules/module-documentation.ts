import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { typeExpression } from "@stackwright/cty";
import {
  type Diagnostic,
  loadModule,
  type ModuleConfig,
  selectModuleFiles,
  valueText,
} from "@stackwright/lang";
import { type FieldError, ServerError } from "../domain/server-error.ts";

/** What one folder of a module package has. */
interface DocumentedModule {
  /** Folder in the package; "" for the module itself. */
  readonly path: string;
  readonly readme: string;
  readonly inputs: readonly {
    readonly name: string;
    readonly type: string;
    readonly description: string;
    readonly required: boolean;
    /** As an expression; absent where it is required. */
    readonly default?: string;
    readonly sensitive: boolean;
  }[];
  readonly outputs: readonly {
    readonly name: string;
    readonly description: string;
    readonly sensitive: boolean;
  }[];
  readonly providers: readonly {
    readonly name: string;
    readonly source: string;
    readonly version: string;
  }[];
  readonly resources: readonly string[];
  readonly calls: readonly {
    readonly name: string;
    readonly source: string;
    readonly version: string;
  }[];
}

/** The module, then those of `modules/`, then those of `examples/`. */
export type ModuleDocumentation = readonly DocumentedModule[];

/** Bytes of all configuration files of a package: reading them takes a server's time. */
const MAX_CONFIGURATION_BYTES = 2 * 1024 * 1024;
/** Folders of `modules/` and of `examples/` that are documented. */
const MAX_FOLDERS = 100;
/** Characters of a README that are kept. */
const MAX_README = 100_000;
/** Errors that are reported at once. */
const MAX_ERRORS = 20;

/**
 * Reads an unpacked package: what the module and those in its folders `modules` and `examples` take and give. `unprocessable`, with the
 * places, for one that does not parse or has no configuration at its root.
 */
export async function documentModule(directory: string): Promise<ModuleDocumentation> {
  const paths = [""];
  for (const parent of ["modules", "examples"]) {
    const entries = await readdir(join(directory, parent), { withFileTypes: true }).catch(() => []);
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    paths.push(
      ...folders
        .toSorted()
        .slice(0, MAX_FOLDERS)
        .map((name) => `${parent}/${name}`),
    );
  }
  const documented: DocumentedModule[] = [];
  const problems: FieldError[] = [];
  let bytes = 0;
  for (const path of paths) {
    const folder = join(directory, path);
    const names = await readdir(folder);
    const { primary, override } = selectModuleFiles(names);
    const files = new Map<string, Uint8Array>();
    for (const name of [...primary, ...override]) {
      bytes += (await stat(join(folder, name))).size;
      if (bytes > MAX_CONFIGURATION_BYTES) {
        throw new ServerError(
          "too_large",
          `the configuration files of a module have at most ${MAX_CONFIGURATION_BYTES} bytes together`,
        );
      }
      files.set(name, await readFile(join(folder, name)));
    }
    if (files.size === 0) {
      if (path !== "") continue;
      throw new ServerError("unprocessable", "the root of the archive has no configuration files");
    }
    const { config, diagnostics } = loadModule(files, { prefix: path === "" ? "" : `${path}/` });
    problems.push(...diagnostics.filter(({ severity }) => severity === "error").map(problemOf));
    documented.push(describe(path, config, await readmeOf(folder, names)));
  }
  if (problems.length > 0) {
    throw new ServerError("unprocessable", "the module has errors", {
      errors: problems.slice(0, MAX_ERRORS),
    });
  }
  return documented;
}

function describe(path: string, config: ModuleConfig, readme: string): DocumentedModule {
  const byName = <T extends { readonly name: string }>(list: T[]): T[] =>
    list.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return {
    path,
    readme,
    inputs: byName(
      [...config.variables.values()].map((variable) => ({
        name: variable.name,
        type: typeExpression(variable.constraint.type),
        description: variable.description ?? "",
        required: variable.default === undefined,
        ...(variable.default !== undefined && { default: valueText(variable.default) }),
        sensitive: variable.sensitive,
      })),
    ),
    outputs: byName(
      [...config.outputs.values()].map(({ name, description = "", sensitive }) => ({
        name,
        description,
        sensitive,
      })),
    ),
    providers: byName(
      [...config.requiredProviders.values()].map(({ name, source, version }) => ({
        name,
        source: source?.toString() ?? "",
        version: version?.toString() ?? "",
      })),
    ),
    resources: [...config.resources.keys()].toSorted(),
    calls: byName(
      [...config.modules.values()].map(({ name, source, version }) => ({
        name,
        source,
        version: version?.toString() ?? "",
      })),
    ),
  };
}

async function readmeOf(folder: string, names: readonly string[]): Promise<string> {
  const name = names.find((one) => one.toLowerCase() === "readme.md");
  if (name === undefined) return "";
  const path = join(folder, name);
  const found = await stat(path);
  // UTF-8 has at most four bytes a character.
  if (!found.isFile() || found.size > MAX_README * 4) return "";
  return (await readFile(path, "utf8")).slice(0, MAX_README);
}

function problemOf({ summary, detail, subject }: Diagnostic): FieldError {
  const place = subject?.source.locate(subject.start, subject.end);
  return {
    pointer: place === undefined ? "" : `${place.filename}:${place.start.line}`,
    detail: detail === "" ? summary : `${summary}: ${detail}`,
  };
}
