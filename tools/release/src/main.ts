import { join } from "node:path";
import process from "node:process";
import { makeRelease } from "./make-release.ts";
import { ReleaseError } from "./release-error.ts";
import { HELP, releaseOptions } from "./release-options.ts";

const root = join(import.meta.dirname, "../../..");
try {
  const options = releaseOptions(process.argv.slice(2), process.cwd());
  if (options === undefined) process.stdout.write(HELP);
  else await makeRelease(root, options, (line) => process.stdout.write(`${line}\n`));
} catch (error) {
  if (!(error instanceof ReleaseError)) throw error;
  process.stderr.write(`${error.code}: ${error.message}\n`);
  process.exitCode = error.code === "RELEASE_OPTION_INVALID" ? 2 : 1;
}
