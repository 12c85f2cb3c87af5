import { mkdir, readFile, writeFile } from "node:fs/promises";
import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { createTerminal } from "../terminal/terminal.ts";
import { folderWith } from "../testing/adoption-folder.ts";
import { tryCommand } from "../testing/try-command.ts";
import { REFERENCE_VARIABLES } from "./reference-variables.ts";

const MAIN = `variable "v" { default = "d" }\nresource "terraform_data" "a" { input = var.v }\noutput "v" { value = var.v }\n`;

describe("variables of the reference command", { timeout: 120_000 }, () => {
  it.each(Object.entries(REFERENCE_VARIABLES).filter(([, { kind }]) => kind === "ignored"))(
    "%s has no effect, and the command reports it",
    async (name, variable) => {
      const { code, error } = await tryCommand(["version"], { env: { [name]: "x" } });
      expect(code).toBe(0);
      expect(error).toContain(`Note: the variable ${name} has no effect`);
      expect(variable.kind === "ignored" && error.includes(variable.because)).toBe(true);
      expect((await tryCommand(["version"], { env: { [name]: "" } })).error).toBe("");
    },
  );

  it("TF_VAR_name sets declared variables, and passes over others", async () => {
    const { run } = await folderWith({ "main.tf": MAIN });
    const env = { TF_VAR_v: "e", TF_VAR_other: "x" };
    expect(await run(["apply", "-auto-approve"], env)).toMatchObject({ code: 0, error: "" });
    expect((await run(["output", "-raw", "v"])).output).toBe("e");
    expect((await run(["plan", "-var", "other=x"])).code).toBe(1);
  });

  it("TF_IN_AUTOMATION omits the hint about the next command", async () => {
    const { run } = await folderWith({ "main.tf": MAIN });
    expect((await run(["plan", "-out=p"])).output).toContain("stackwright up p");
    const quiet = await run(["plan", "-out=p"], { TF_IN_AUTOMATION: "1" });
    expect(quiet.output).not.toContain("stackwright up p");
  });

  it.each([
    [{}, true],
    [{ TF_INPUT: "1" }, true],
    [{ TF_INPUT: "0" }, false],
    [{ TF_INPUT: "false" }, false],
  ])("TF_INPUT: %j allows questions: %s", (env, expected) => {
    const stream = (): PassThrough & { isTTY: true } =>
      Object.assign(new PassThrough(), { isTTY: true as const });
    const streams = { input: stream(), output: stream(), error: new PassThrough(), env };
    expect(createTerminal(streams).interactive).toBe(expected);
  });

  it("TF_LOG=JSON and TF_LOG_PATH append lines of JSON, without arguments", async () => {
    const { run, path } = await folderWith({ "main.tf": MAIN });
    const env = { TF_LOG: "JSON", TF_LOG_PATH: "log" };
    for (const words of [["plan", "-var=v=canary"], ["output"]]) await run(words, env);
    const text = await readFile(path("log"), "utf8");
    const lines = text.trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as Record<string, string>)["@message"])).toEqual([
      "plan started",
      "plan ended with exit code 0",
      "output started",
      "output ended with exit code 0",
    ]);
    expect(text).not.toContain("canary");
  });

  it.each([
    ["INFO", "stackwright: version started"],
    ["ERROR", ""],
    ["off", ""],
  ])("TF_LOG_CORE=%s shows the log of the command from its level on", async (level, text) => {
    const { error } = await tryCommand(["version"], { env: { TF_LOG_CORE: level } });
    expect(error.split("\n")[0]).toBe(text);
  });

  it("TF_LOG_PATH that is not writable is an error", async () => {
    const { code, error } = await tryCommand(["version"], {
      env: { TF_LOG: "INFO", TF_LOG_PATH: "/does/not/exist/log" },
    });
    expect(code).toBe(1);
    expect(error).toContain("TF_LOG_PATH");
  });

  it("TERRAFORM_CONFIG and TF_CLI_CONFIG_FILE name the CLI configuration", async () => {
    const main = `terraform {\n  required_providers {\n    x = { source = "example.com/acme/x" }\n  }\n}\n`;
    const { run, path } = await folderWith({ "main.tf": main });
    await mkdir(path("empty"));
    await writeFile(path("rc"), "provider_installation {");
    for (const name of ["TERRAFORM_CONFIG", "TF_CLI_CONFIG_FILE"]) {
      const { code, error } = await run(["init"], { [name]: path("rc") });
      expect(code).toBe(1);
      expect(error).toContain(path("rc"));
    }
  });

  it("TF_REATTACH_PROVIDERS is refused where it cannot be read, and its providers are not installed", async () => {
    const main = `terraform {\n  required_providers {\n    x = { source = "example.com/acme/x" }\n  }\n}\nresource "x_y" "z" {}\n`;
    const { run } = await folderWith({ "main.tf": main });
    const invalid = await run(["init"], { TF_REATTACH_PROVIDERS: "{" });
    expect(invalid.code).toBe(1);
    expect(invalid.error).toContain("TF_REATTACH_PROVIDERS");
    const at = { Network: "unix", String: "/does/not/exist" };
    const entry = { Protocol: "grpc", ProtocolVersion: 6, Pid: 1, Test: true, Addr: at };
    const env = { TF_REATTACH_PROVIDERS: JSON.stringify({ "example.com/acme/x": entry }) };
    expect(await run(["init"], env)).toMatchObject({ code: 0 });
    // The provider is the one of the variable: its address is in the error.
    const planned = await run(["plan"], env);
    expect(planned.code).toBe(1);
    expect(planned.error).toMatch(/example\.com\/acme\/x/);
  });
});
