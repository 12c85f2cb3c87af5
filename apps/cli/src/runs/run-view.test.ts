import { PassThrough } from "node:stream";
import type { Run } from "@stackwright/client";
import { expect, it } from "vitest";
import { createTerminal } from "../terminal/terminal.ts";
import { humanRunView } from "./run-view.ts";

it("the reason of an end cannot write escape sequences to a terminal", () => {
  const output = new PassThrough();
  const terminal = createTerminal({ input: new PassThrough(), output, error: output, env: {} });
  const run = { number: 1, phase: "failed", reason: "no\u001b[2J\u001b]0;x\u0007" } as Run;
  humanRunView(terminal, run).ended(run);
  expect(String(output.read())).toBe("Run 1 failed: no\\u001b[2J\\u001b]0;x\\u0007.\n");
});
