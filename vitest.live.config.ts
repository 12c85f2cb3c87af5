import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { workspaceProjects } from "./vitest.projects.ts";

/** Tests against real servers, provider binaries and commands, which `.ci/run` installs and starts. */
export default defineConfig({
  test: {
    setupFiles: [join(import.meta.dirname, "vitest.setup.ts")],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: workspaceProjects(import.meta.dirname, {
      include: ["src/**/*.live.test.ts"],
      exclude: [],
    }),
  },
});
