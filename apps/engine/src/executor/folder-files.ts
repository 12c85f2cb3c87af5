import { posix } from "node:path";
import { type BundleFiles, createDirectoryFiles, FunctionError } from "@stackwright/lang";

/** The command uploads the folder and the modules that it calls: other files come with a folder above them. */
const ADVICE_OUTSIDE =
  'a run has the files that were uploaded for it: keep the file in the folder of the configuration, or upload a folder above both, as with "stackwright runs start FOLDER --root ABOVE"';

/** The files of an unpacked bundle as the root module in one of its folders sees them. */
export function uploadedFiles(bundle: string, root: string): BundleFiles {
  return filesFrom(createDirectoryFiles(bundle, { adviceOutside: ADVICE_OUTSIDE }), root);
}

/**
 * The files of a bundle as the root module in one of its folders sees them: paths start there and may climb with `..`, up to the
 * root of the bundle. All else is refused as in any bundle.
 */
function filesFrom(files: BundleFiles, folder: string): BundleFiles {
  if (folder === "") return files;
  // An absolute path stays one, which the bundle refuses.
  const within = (path: string): string => (path.startsWith("/") ? path : posix.join(folder, path));
  return {
    ...files,
    machine: { workingDirectory: ".", home: "/" },
    // Beside the folder there are whole folders that were uploaded, and those above them, which have no files.
    isPartial: (path) => {
      if (!/^\.\.(?:\/|$)/.test(path)) return false;
      for (let place = within(path); ; place = posix.dirname(place)) {
        if (files.names(place).length > 0) return false;
        if (place === ".") return true;
      }
    },
    read: (path) => {
      const place = within(path);
      // Beside the folder lies what else was uploaded, which need not be all that lies there in the repository.
      if (path.startsWith("../") && !files.exists(place)) {
        throw new FunctionError(
          `no file exists at ${JSON.stringify(path)} of what was uploaded; ${ADVICE_OUTSIDE}`,
          0,
        );
      }
      return files.read(place);
    },
    exists: (path) => files.exists(within(path)),
    names: (path) => files.names(within(path)),
    brokenLinks: (path) => files.brokenLinks?.(within(path)) ?? [],
    list: (path, pattern) => files.list(within(path), pattern),
    absolute: (path) => files.absolute(within(path)),
  };
}
