import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { keepCompiledCode, reporters, workspaceProjects } from "./vitest.projects.ts";

keepCompiledCode(import.meta.dirname);

/** `npm test`: everything that needs no outside server, no Go and no network. */
export default defineConfig({
  test: {
    setupFiles: [join(import.meta.dirname, "vitest.setup.ts")],
    testTimeout: 30_000,
    // The default is a second, which is not enough on a loaded machine.
    expect: { poll: { timeout: 10_000 } },
    // The line of a failure is all that CI prints of it: it has the values, not their lengths.
    chaiConfig: { truncateThreshold: 400 },
    // Vitest leaves one core to itself, which is half of a machine with two; its own part is a few percent.
    maxWorkers: "100%",
    reporters: reporters(import.meta.dirname),
    projects: workspaceProjects(import.meta.dirname, {
      include: ["src/**/*.test.ts"],
      exclude: ["src/**/*.live.test.ts"],
    }),
  },
});
