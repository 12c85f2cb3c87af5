import { execFile } from "node:child_process";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { FUNCTION_MANIFEST } from "./function-manifest.ts";
import { loadFunctionStart } from "./start-program.ts";

/** Sends events to the handler in turn, as the platform does to one instance. */
const DRIVER = `const { handler } = require("./index.cjs");
(async () => {
  for (let event = 1; event <= 12; event++) {
    await handler({ method_name: "any" }).catch((error) => console.log(event, error.message));
  }
})();
`;

it("ends the process of an event function after ten starts that failed, so that the platform replaces it", {
  timeout: 60_000,
}, async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "starts-"));
  const place = (name: string) => join(scratch.path, name);
  await writeFile(place("index.cjs"), await loadFunctionStart());
  await writeFile(place(FUNCTION_MANIFEST), JSON.stringify({ run: { module: "provider.mjs" } }));
  await writeFile(
    place("provider.mjs"),
    "globalThis.copies = (globalThis.copies ?? 0) + 1;\nthrow new Error(`start ${globalThis.copies} failed`);\n",
  );
  await writeFile(place("driver.cjs"), DRIVER);
  const done = await new Promise<{ code: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, [place("driver.cjs")], (error, stdout, stderr) => {
      resolve({ code: error?.code, stdout, stderr });
    });
  });
  expect(done.stdout.trim().split("\n")).toEqual(
    Array.from({ length: 10 }, (_, index) => `${index + 1} start ${index + 1} failed`),
  );
  expect(done.code).toBe(1);
  expect(done.stderr).toContain("failed to start 10 times");
  expect(done.stderr).toContain("start 10 failed");
});
