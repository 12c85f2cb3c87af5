import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { spawnCommand } from "../testing/spawned-command.ts";

it("serves the documentation until it is stopped", { timeout: 60_000 }, async () => {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "docs-"));
  await using command = spawnCommand(["docs"], { cwd: scratch.path });
  const [, url = ""] = await command.waitFor(/The documentation is at (\S+)/);
  const page = await fetch(new URL("apps/cli/docs/command.html", url));
  expect(page.status).toBe(200);
  expect(await page.text()).toContain("stackwright plan");
  expect((await fetch(new URL("/", url))).url).toBe(url);
  expect(await command.stop("SIGINT")).toBe(0);
});
