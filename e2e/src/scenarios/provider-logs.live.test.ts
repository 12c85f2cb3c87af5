import { expect, it } from "vitest";
import { cli } from "../testing/cli.ts";
import { GATE, gateFile, scratchWith } from "../testing/with-terminal.ts";

it("what a Terraform provider logs is on standard error with TF_LOG, and nowhere without it", async () => {
  const main = `${GATE}${gateFile("a", '  content = sensitive("hunter2-secret")\n  logs = true')}`;
  const scratch = await scratchWith({ "main.tf": main });
  const quiet = await cli(scratch, ["up", "--yes"]);
  expect(quiet).toMatchObject({ code: 0 });
  expect(quiet.error).not.toContain("writes");
  await cli(scratch, ["destroy", "--yes"]);
  const loud = await cli(scratch, ["up", "--yes"], { env: { TF_LOG: "trace" } });
  expect(loud).toMatchObject({ code: 0 });
  expect(loud.error).toMatch(/^gate: .*writes \(sensitive value\) to a$/m);
  expect(loud.error + loud.output).not.toContain("hunter2");
}, 120_000);
