import { runSuiteCommand } from "./command.ts";
import type { Suite } from "./suites.ts";
import { tallyCommand } from "./tally.ts";

const LIMIT_MINUTES = 30;

/** Types and unit tests of the packages that differ from a commit, and of those that depend on them. */
export function affectedSuite(base: string): Suite {
  return {
    name: "affected",
    what: `types and unit tests of what differs from ${base}`,
    limitMinutes: LIMIT_MINUTES,
    run: async ({ root }) => {
      const argv = ["turbo", "run", "typecheck", "test", "--continue", "--concurrency=2"] as const;
      const result = await runSuiteCommand([...argv, `--filter=...[${base}]`], {
        cwd: root,
        timeoutMs: LIMIT_MINUTES * 60_000,
      });
      return tallyCommand("affected", result);
    },
  };
}
