import { existsSync, readFileSync } from "node:fs";
import { expect, it, onTestFinished } from "vitest";
import { folderWith } from "../testing/adoption-folder.ts";
import { spawnCommand } from "../testing/spawned-command.ts";

const CONFIG = `resource "terraform_data" "a" {
  provisioner "local-exec" { command = "echo $$ > pid; exec sleep 600" }
}
`;

it("force-unlock is refused for a run that lives, and frees the stack of one that was killed", {
  timeout: 180_000,
}, async () => {
  const { run, path } = await folderWith({ "main.tf": CONFIG });
  await using command = spawnCommand(["up", "--yes"], { cwd: path(".") });
  const pid = (): number =>
    existsSync(path("pid")) ? Number(readFileSync(path("pid"), "utf8")) : 0;
  await expect.poll(pid, { timeout: 60_000 }).toBeGreaterThan(0);
  const sleeper = pid();
  onTestFinished(() => {
    try {
      process.kill(sleeper, "SIGKILL");
    } catch {
      // It has ended with the command.
    }
  });
  const other = await run(["force-unlock", "-force", "another"]);
  expect(other.code).toBe(1);
  const [, id = ""] = /force-unlock ([\w-]+)/.exec(other.error) ?? [];
  expect(id, other.error).not.toBe("");

  const refused = await run(["force-unlock", "-force", id]);
  expect(refused.code, refused.output + refused.error).toBe(1);
  expect(refused.error).toContain("in use");

  await command.stop("SIGKILL");
  const freed = await run(["force-unlock", "-force", id]);
  expect(freed.code, freed.output + freed.error).toBe(0);
  // What it was doing is known to the next plan, which nothing keeps waiting.
  expect((await run(["plan", "-lock-timeout=0s"])).output).toContain("must be replaced");
});
