import { posix } from "node:path";
import {
  type BundleFiles,
  type Diagnostic,
  type LoadedTree,
  loadCalledTree,
  loadMockFile,
  loadTestFile,
  type MockProvider,
  type ModulePackages,
  selectMockFiles,
  selectTestFiles,
  type TestFile,
  type TestProvider,
  type TestRun,
} from "@stackwright/lang";
import { TEST_MODULES, type TestModule } from "../modules/module-installer.ts";

interface LoadSuiteOptions {
  /** The folder of test files besides the root module itself, such as `tests`. */
  readonly folder: string;
  readonly packages?: ModulePackages;
}

/** The test files of a root module with all that they need. */
export interface LoadedSuite {
  /** In the order in which they are executed. */
  readonly files: readonly TestFile[];
  /** Modules of runs that name one, as far as they could be loaded. */
  readonly modules: readonly TestModule[];
  readonly moduleOf: (file: TestFile, run: TestRun) => LoadedTree | undefined;
  readonly diagnostics: readonly Diagnostic[];
}

/** Loads all test files, mock files, and modules of runs. */
export async function loadSuite(
  files: BundleFiles,
  { folder, packages }: LoadSuiteOptions,
): Promise<LoadedSuite> {
  const diagnostics: Diagnostic[] = [];
  const folders = [...new Set([".", posix.normalize(folder)])];
  const paths = folders.flatMap((at) =>
    selectTestFiles(namesIn(files, at)).map((name) => posix.join(at, name)),
  );
  const loaded = paths.toSorted().map((path) => {
    const { file, diagnostics: found } = loadTestFile(path, files.read(path));
    diagnostics.push(...found);
    return withMockFiles(file, files, diagnostics);
  });
  const trees = new Map<TestRun, LoadedTree>();
  const modules: TestModule[] = [];
  for (const file of loaded) {
    for (const run of file.runs) {
      const { module: call } = run;
      if (call === undefined) continue;
      const path = [TEST_MODULES, ...stem(file.name).split("/"), run.name];
      const tree = await loadCalledTree(files, call, path, { ...(packages && { packages }) });
      diagnostics.push(...tree.diagnostics);
      if (!("root" in tree)) continue;
      trees.set(run, tree);
      modules.push({ path, call, root: tree.root });
    }
  }
  return { files: loaded, modules, moduleOf: (_file, run) => trees.get(run), diagnostics };
}

/** The name of a test file without its ending. */
function stem(path: string): string {
  return path.replace(/\.(?:tf|tofu)test\.(?:hcl|json)$/, "");
}

function namesIn(files: BundleFiles, folder: string): readonly string[] {
  try {
    return files.names(folder);
  } catch {
    // There is no such folder.
    return [];
  }
}

/** A file whose mocks have what their mock files say as well; what is written in the file counts more. */
function withMockFiles(file: TestFile, files: BundleFiles, diagnostics: Diagnostic[]): TestFile {
  const providers = [...file.providers].map(([key, provider]): [string, TestProvider] => {
    const { mock } = provider;
    if (mock?.source === undefined) return [key, provider];
    return [key, { ...provider, mock: withSource(mock, mock.source, files, diagnostics) }];
  });
  return { ...file, providers: new Map(providers) };
}

function withSource(
  mock: MockProvider,
  { path, range }: NonNullable<MockProvider["source"]>,
  files: BundleFiles,
  diagnostics: Diagnostic[],
): MockProvider {
  const folder = posix.normalize(path);
  const names = selectMockFiles(namesIn(files, folder));
  if (names.length === 0) {
    diagnostics.push({
      severity: "error",
      code: "ENGINE_TEST",
      summary: "Mock files not found",
      detail: `There are no mock files (*.tfmock.hcl, *.tfmock.json) in "${path}". The path is relative to the root module.`,
      subject: range,
    });
  }
  const found = names.map((name) => {
    const at = posix.join(folder, name);
    const loaded = loadMockFile(at, files.read(at));
    diagnostics.push(...loaded.diagnostics);
    return loaded.file;
  });
  return {
    ...mock,
    defaults: [...mock.defaults, ...found.flatMap(({ defaults }) => defaults)],
    overrides: [...mock.overrides, ...found.flatMap(({ overrides }) => overrides)],
  };
}
