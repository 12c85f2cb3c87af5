import { mkdtempDisposable, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

it("makes credentials without a server, once, and again where that is asked for", async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "bootstrap-"));
  const cwd = scratch.path;
  const bootstrap = async (...words: string[]) =>
    tryCommand(["bootstrap", "--store", "sqlite:store", "--account", "acme", ...words], { cwd });
  const first = await bootstrap("--output", "first.json");
  expect(first).toEqual({ code: 0, output: "", error: "" });
  expect((await stat(join(cwd, "first.json"))).mode & 0o777).toBe(0o600);
  const made: unknown = JSON.parse(await readFile(join(cwd, "first.json"), "utf8"));
  expect(made).toMatchObject({ account: "acme", token: expect.any(String) });

  const second = await bootstrap();
  expect(second.code).toBe(1);
  expect(second.error).toContain("--again");
  const again = await bootstrap("--again");
  expect(JSON.parse(again.output)).toMatchObject({ account: "acme" });
  expect(again.output).not.toContain((made as { token: string }).token);
  const wrong = await bootstrap("--nothing");
  expect(wrong.code).toBe(1);
  expect(wrong.error).toContain("--nothing");
});
