import { execFile } from "node:child_process";
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const MAIN = fileURLToPath(new URL("../main.ts", import.meta.url));
/** Writes the addresses of all loaded modules into the file that the variable names. */
const HOOK = `
import { writeFileSync } from "node:fs";
import { registerHooks } from "node:module";
const urls = [];
registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
process.on("exit", () => writeFileSync(process.env.LOADED_MODULES, urls.join("\\n")));
`;

it("validates without loading what only other configurations need", {
  timeout: 60_000,
}, async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "loaded-modules-"));
  const loaded = join(scratch.path, "loaded.txt");
  await writeFile(join(scratch.path, "main.tf"), 'resource "terraform_data" "a" {}\n');
  const hook = `data:text/javascript,${encodeURIComponent(HOOK)}`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ["--import", hook, MAIN, "validate"],
    {
      cwd: scratch.path,
      env: { PATH: process.env["PATH"], HOME: scratch.path, LOADED_MODULES: loaded },
      timeout: 50_000,
    },
  );
  expect(stdout).toContain("The configuration is valid");
  const urls = (await readFile(loaded, "utf8")).split("\n");
  expect(urls.some((url) => url.includes("/packages/lang/src/"))).toBe(true);
  const needless = ["typebox", "yaml", "@grpc/grpc-js", "fastify", "@aws-sdk"];
  const found = needless.filter((name) =>
    urls.some((url) => url.includes(`/node_modules/${name}/`)),
  );
  expect(found).toEqual([]);
});
