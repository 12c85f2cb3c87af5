import { appendFile, mkdir, mkdtempDisposable, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "@stackwright-tools/processes";
import { expect, it } from "vitest";
import { SUMS, writeSums } from "./sums.ts";

const INSTALL = join(import.meta.dirname, "../../../docs/install.md");

/** The commands with sums that the page of installations tells readers to run. */
async function documented(): Promise<readonly string[]> {
  const page = await readFile(INSTALL, "utf8");
  return [...page.matchAll(/^sha256sum .*$/gm)].map(([line]) => line);
}

it("sums of a release are checked by the commands that the page says", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-sums-"));
  const at = (name: string) => join(scratch.path, name);
  await mkdir(at("packages"));
  const names = ["packages/tool-1.0.0.tgz", "tool-1.0.0-linux-x64.tar.gz", "tool image.tar.gz"];
  for (const name of names) await writeFile(at(name), `content of ${name}`);
  expect(await writeSums(scratch.path)).toBe(3);
  // A second time gives the same: the file has no sum of its own.
  const sums = await readFile(at(SUMS), "utf8");
  expect(await writeSums(scratch.path)).toBe(3);
  expect(await readFile(at(SUMS), "utf8")).toBe(sums);
  expect(sums.match(/^[0-9a-f]{64} {2}(.*)$/gm)).toHaveLength(3);

  const [all = "", some = ""] = await documented();
  const check = async (command: string) =>
    (await runCommand(["sh", "-c", command], { cwd: scratch.path })).code;
  expect(all).toContain("--strict");
  expect([await check(all), await check(some)]).toEqual([0, 0]);
  await rm(at("tool image.tar.gz"));
  expect([await check(all), await check(some)]).not.toContain(undefined);
  expect(await check(all)).not.toBe(0);
  expect(await check(some)).toBe(0);
  await appendFile(at("packages/tool-1.0.0.tgz"), "more");
  expect(await check(some)).not.toBe(0);
});
