import { describe, expect, it } from "vitest";
import { cli } from "../testing/cli.ts";
import { inTerminal, needsTmux, scratchWith } from "../testing/with-terminal.ts";

const MAIN = `
variable "word" {}
variable "password" {
  sensitive = true
}
resource "terraform_data" "a" {
  input = "\${var.word} \${nonsensitive(length(var.password))}"
}
output "it" { value = terraform_data.a.output }
`;

describe("questions", () => {
  needsTmux();

  it("for variables come first, and what is secret is not shown", async () => {
    const scratch = await scratchWith({ "main.tf": MAIN });
    const terminal = await inTerminal(scratch, ["up"]);
    await terminal.shows("var.word");
    await terminal.type("hello");
    await terminal.shows("var.password");
    await terminal.type("hunter2");
    await terminal.shows("taken as a yes");
    await terminal.type("yes");
    const { code, screen } = await terminal.end();
    expect(code).toBe(0);
    expect(screen).toContain('it = "hello 7"');
    expect(terminal.bytes()).not.toContain("hunter2");
  });

  it.each([
    ["no", "Nothing was done.", 1],
    ["y", "Nothing was done.", 1],
    ["", "Nothing was done.", 1],
    ["C-d", "Nothing was done.", 1],
    ["C-c", "Stopped before anything was done.", 130],
  ])("of approval answered by %j do nothing", async (answer, told, exit) => {
    const scratch = await scratchWith({ "main.tf": 'resource "terraform_data" "a" {}' });
    const terminal = await inTerminal(scratch, ["up"]);
    await terminal.shows("taken as a yes");
    if (answer.startsWith("C-")) await terminal.press(answer);
    else await terminal.type(answer);
    const { code, screen } = await terminal.end();
    expect(code).toBe(exit);
    expect(screen.trimEnd().split("\n").at(-1)).toBe(told);
    expect((await cli(scratch, ["state", "list"])).output).toBe("");
  });

  it("are not asked where the input is not a terminal", async () => {
    const scratch = await scratchWith({ "main.tf": MAIN });
    const { code, output, error } = await cli(scratch, ["up"], { input: "yes\nyes\n" });
    expect(code).toBe(1);
    expect(output).not.toContain("Enter a value");
    expect(error).toContain('The variable "password" has no default');
    const none = await inTerminal(scratch, ["plan", "-input=false"]);
    expect((await none.end()).screen).not.toContain("Enter a value");
  });
});
