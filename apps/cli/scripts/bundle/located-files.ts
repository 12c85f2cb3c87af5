import { readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import type { OnLoadResult, Plugin } from "esbuild";

/** How a file finds another one in the bundle, whose modules all lie in one folder. */
interface Located {
  /** Replacements of text; each must occur. */
  readonly replace?: readonly (readonly [from: string, to: string])[];
}

/** Beside every chunk, as it is beside the module in the sources. */
const BESIDE: Located = {};
/** What is loaded when it is first used stays in the bundle. */
const loads = (...names: readonly string[]): Located => ({
  replace: names.map((name) => [`load("${name}")`, `require("${name}")`] as const),
});

/** Stores that the renewal thread opens by the names of their modules (`packages/core/src/store/open-store.ts`). */
const STORES = ["postgres", "etcd", "remote"].map((name) => `@stackwright/storage/${name}`);

/** An import by a name that is known when it runs, of modules that are in the bundle. */
function importsOneOf(names: readonly string[], name: string): string {
  const members = names.map((one) => `"${one}":()=>import("${one}")`);
  return `({${members.join(",")}})[${name}]()`;
}

/**
 * The sources that name files by their own place. One that is missing here fails the build: its file might not be where it looks.
 */
const LOCATED: Readonly<Record<string, Located>> = {
  "apps/cli/src/command-version.ts": BESIDE,
  // The bundler is that of the user's project.
  "apps/cli/src/provider-kit/bundle-module.ts": BESIDE,
  "apps/cli/src/session/reference-command.ts": { replace: [["`../../bin/", "`../bin/"]] },
  "apps/cli/src/terminal/text-width.ts": loads("string-width", "cli-truncate"),
  "apps/console/src/console-files.ts": BESIDE,
  "apps/console/src/help-files.ts": BESIDE,
  "apps/engine/src/executor/executor-child.ts": BESIDE,
  "apps/engine/src/executor/kubernetes/run-pod.ts": {
    replace: [["`../child-main", "`./child-main"]],
  },
  "apps/engine/src/plan-rendering/plan-renderer.ts": BESIDE,
  "apps/engine/src/policy/policy-runner.ts": BESIDE,
  "packages/fg-bridge/src/bridge/bridge-program.ts": BESIDE,
  "packages/fg-bridge/src/package/start-program.ts": BESIDE,
  "packages/lang/src/function/yaml-decode.ts": loads("yaml"),
  "packages/storage/src/blob/sqlite-blobs.ts": BESIDE,
  "packages/storage/src/engine/postgres/migrate.ts": {
    replace: [['"../../../drizzle"', '"./drizzle"']],
  },
  "packages/storage/src/engine/sqlite/worker-client.ts": BESIDE,
  "packages/storage/src/lease/renewal-thread.ts": {
    replace: [["import(source.module)", importsOneOf(STORES, "source.module")]],
  },
  "packages/storage/src/lease/thread-renewer.ts": BESIDE,
};

/** What the command begins with. */
export const COMMAND = "apps/cli/src/main.ts";

/**
 * What is imported when commands that are used often run, by the file that has it; `bin/run-bundle.cjs` reads them in this order,
 * and what commands load besides from files of its own.
 */
export const PACKS: readonly { readonly file: string; readonly sources: readonly string[] }[] = [
  { file: "start.bundle", sources: [COMMAND, "apps/cli/src/commands/version.ts"] },
  {
    file: "command.bundle",
    sources: [
      "apps/cli/src/commands/fmt.ts",
      "apps/cli/src/commands/init.ts",
      "apps/cli/src/commands/plan.ts",
      "apps/cli/src/commands/up.ts",
      "apps/cli/src/commands/validate.ts",
      "packages/storage/src/engine/sqlite.ts",
      "packages/storage/src/engine/sqlite/inline-client.ts",
      "packages/storage/src/blob/index.ts",
      "packages/tfplugin/src/install/index.ts",
      "packages/tfplugin/src/launch/index.ts",
    ],
  },
];

/** What runs beside the command, by the name under which the modules above look for it. */
export const ENTRIES: Readonly<Record<string, string>> = {
  index: "apps/cli/src/index.ts",
  "child-main": "apps/engine/src/executor/child-main.ts",
  "plan-renderer-thread": "apps/engine/src/plan-rendering/plan-renderer-thread.ts",
  "policy-thread": "apps/engine/src/policy/policy-thread.ts",
  "renewal-thread": "packages/storage/src/lease/renewal-thread.ts",
  "sqlite-blob-worker": "packages/storage/src/blob/sqlite-blob-worker.ts",
};

/** A thread of each command that writes: one file, which it starts sooner from than from chunks that it shares. */
export const ALONE: Readonly<Record<string, string>> = {
  worker: "packages/storage/src/engine/sqlite/worker.ts",
};

/** Files that are read by their place, with the name that they have in the bundle. Other packages have built the first four. */
export const FILES: Readonly<Record<string, string>> = {
  "apps/console/dist/help": "help",
  "apps/console/dist/site": "site",
  "packages/fg-bridge/dist/bridge/bridge-provider.cjs": "bridge-provider.cjs",
  "packages/fg-bridge/dist/package/function-start.cjs": "function-start.cjs",
  "packages/storage/drizzle": "drizzle",
  "packages/tfplugin/node_modules/openpgp/LICENSE": "openpgp/LICENSE",
  "packages/tfplugin/node_modules/openpgp/dist/node/openpgp.min.mjs": "openpgp/openpgp.min.mjs",
};

/**
 * What is loaded from its file as it was published: the license of openpgp, the LGPL, lets users replace it.
 */
const APART: Readonly<Record<string, string>> = { openpgp: "./openpgp/openpgp.min.mjs" };

/** What looks for a file, or imports by a name that only the run knows. */
const NAMES_FILES =
  /\bimport\.meta\.(?:url|dirname|filename|resolve)\b|(?:await|return|=>)\s+import\(\s*[^\s"`]/;

/** Makes the sources of the table find their files in the bundles. */
export class LocatedFiles {
  readonly #root: string;
  readonly #open = new Set(Object.keys(LOCATED));

  constructor(root: string) {
    this.#root = root;
  }

  plugin(): Plugin {
    return {
      name: "located-files",
      setup: (bundle) => {
        bundle.onResolve({ filter: /^[a-z0-9-]+$/ }, ({ path }) => {
          const apart = APART[path];
          return apart === undefined ? undefined : { path: apart, external: true };
        });
        bundle.onLoad({ filter: /\/(?:apps|packages)\/[^/]+\/src\/.*\.ts$/ }, ({ path }) =>
          this.#load(path),
        );
      },
    };
  }

  /** Throws where a source of the table is in none of the bundles. */
  requireAll(): void {
    if (this.#open.size > 0)
      throw new Error(`no longer in the bundle: ${[...this.#open].join(", ")}`);
  }

  async #load(path: string): Promise<OnLoadResult | undefined> {
    const name = relative(this.#root, path).replaceAll("\\", "/");
    const located = LOCATED[name];
    let contents = await readFile(path, "utf8");
    if (located === undefined) {
      if (!NAMES_FILES.test(contents)) return undefined;
      throw new Error(
        `${name} names files by its own place: ${join("apps/cli/scripts/bundle", "located-files.ts")} has to say how it finds them in the bundle`,
      );
    }
    this.#open.delete(name);
    for (const [from, to] of located.replace ?? []) {
      if (!contents.includes(from)) throw new Error(`${name} no longer contains ${from}`);
      contents = contents.replaceAll(from, to);
    }
    return { contents, loader: "ts" };
  }
}
