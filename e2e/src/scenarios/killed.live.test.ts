import { describe, expect, it } from "vitest";
import { cli, startCli } from "../testing/cli.ts";
import { scratchWith } from "../testing/with-terminal.ts";

const COUNT = 5000;
const MAIN = `resource "terraform_data" "a" {
  count = ${COUNT}
  input = count.index
}
`;

describe("an up that is killed", () => {
  it("is noticed by the next, which continues without further arguments", async () => {
    const scratch = await scratchWith({ "main.tf": MAIN });
    const first = startCli(scratch, ["up", "--yes"]);
    await first.says("terraform_data.a[100]: Creation complete");
    first.signal("SIGKILL");
    await first.end();
    const second = await cli(scratch, ["up", "--yes"]);
    expect(second).toMatchObject({ code: 0 });
    expect(second.error).toContain(`process ${first.child.pid}`);
    const added = Number(/Apply complete: (\d+) added, 0 changed/.exec(second.output)?.[1]);
    expect(added).toBeGreaterThan(0);
    expect(added).toBeLessThan(COUNT - 100);
    expect((await cli(scratch, ["state", "list"])).output.trim().split("\n")).toHaveLength(COUNT);
    expect((await cli(scratch, ["plan"])).output).toContain("No changes.");
  });

  it("is noticed by unlock as well", async () => {
    const scratch = await scratchWith({ "main.tf": MAIN });
    const first = startCli(scratch, ["up", "--yes"]);
    await first.says("terraform_data.a[100]: Creation complete");
    first.signal("SIGKILL");
    await first.end();
    const unlocked = await cli(scratch, ["unlock"]);
    expect(unlocked).toMatchObject({ code: 0 });
    expect(unlocked.output).toContain("A run was interrupted");
  });
});
