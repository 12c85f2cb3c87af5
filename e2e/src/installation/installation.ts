import { join } from "node:path";

/** What the tests run. */
interface Installation {
  /** The command: a Node, and what it is started with. */
  readonly command: readonly [string, string];
  /** Code of functions for the scenarios, in a place where it finds the libraries. */
  readonly functions: string;
}

const ROOT = join(import.meta.dirname, "../../..");

/** The built packages, where `E2E_INSTALLATION` says that they are laid out; else the sources of the workspace. */
export function installation(): Installation {
  const folder = process.env["E2E_INSTALLATION"];
  return {
    command: [process.execPath, join(folder ?? ROOT, "apps/cli/bin/stackwright.mjs")],
    functions: join(folder ?? join(ROOT, "e2e/src/scenarios"), "functions"),
  };
}
