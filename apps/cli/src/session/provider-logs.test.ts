import { PassThrough } from "node:stream";
import { expect, it } from "vitest";
import { createTerminal } from "../terminal/terminal.ts";
import { providerLogs } from "./provider-logs.ts";

function shown(env: NodeJS.ProcessEnv, unset: "info" | "off"): string[] {
  const error = new PassThrough();
  const terminal = createTerminal({
    input: new PassThrough(),
    output: new PassThrough(),
    error,
    env,
  });
  const log = providerLogs({ terminal, env, directory: "/" }, unset);
  for (const severity of ["debug", "info", "warning", "error"] as const) {
    log({ provider: "p", severity, message: severity });
  }
  const text = (error.read() as Buffer | null)?.toString() ?? "";
  return text.split("\n").flatMap((line) => line.split(": ").at(-1) || []);
}

it.each([
  [{}, "off", []],
  [{}, "info", ["info", "warning", "error"]],
  [{ TF_LOG: "warn" }, "off", ["warning", "error"]],
  [{ TF_LOG: "TRACE" }, "off", ["debug", "info", "warning", "error"]],
  [{ TF_LOG: "nonsense" }, "off", ["debug", "info", "warning", "error"]],
  [{ TF_LOG: "OFF" }, "info", []],
  [{ TF_LOG: "TRACE", TF_LOG_PROVIDER: "ERROR" }, "info", ["error"]],
  [{ TF_LOG: "" }, "off", []],
  [{ STACKWRIGHT_DEBUG: "1", TF_LOG: "OFF" }, "off", ["debug", "info", "warning", "error"]],
] as const)("%j shows from its level on, else from %s on", (env, unset, expected) => {
  expect(shown({ ...env }, unset)).toEqual(expected);
});
