import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { keepCompiledCode, reporters, workspaceProjects } from "./vitest.projects.ts";

keepCompiledCode(import.meta.dirname);

/** Tests against real servers, provider binaries and commands, which `.ci/run` installs and starts. */
export default defineConfig({
  test: {
    setupFiles: [join(import.meta.dirname, "vitest.setup.ts")],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 30_000 } },
    // A server that several files share is easier to reason about with one file at a time.
    fileParallelism: false,
    // The line of a failure is all that CI prints of it: it has the values, not their lengths.
    chaiConfig: { truncateThreshold: 400 },
    // Processes and servers share a machine of which nothing is known. What passes the second time is named as flaky.
    retry: 1,
    reporters: reporters(import.meta.dirname),
    projects: workspaceProjects(
      import.meta.dirname,
      { include: ["src/**/*.live.test.ts"], exclude: [] },
      true,
    ),
  },
});
