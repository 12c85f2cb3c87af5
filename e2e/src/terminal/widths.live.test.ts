import { describe, expect, it } from "vitest";
import type { TmuxTerminal } from "../testing/tmux-terminal.ts";
import { waitFor } from "../testing/wait-for.ts";
import { GATE, gateFile, inTerminal, needsTmux, scratchWith } from "../testing/with-terminal.ts";

const MAIN = `${GATE}
variable "title" {
  description = "What it is called. The text is longer than a narrow terminal, so it goes on in a second line."
}
${gateFile("first", '  content = "hello ${var.title}"\n  gate    = "open"')}
${gateFile("second", '  content = jsonencode({ size = gate_file.first.size, words = "some words that go on and on" })')}
resource "terraform_data" "with_a_name_that_is_rather_long_for_a_narrow_terminal" {
  count = 2
  input = { number = count.index }
}
output "size" { value = gate_file.first.size }
`;

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

/** Resizes and waits until something was drawn since: the process hears of its new size by a signal. */
async function resized(terminal: TmuxTerminal, columns: number): Promise<void> {
  await terminal.resize(columns);
  const before = terminal.bytes().length;
  await waitFor("a frame", () => terminal.bytes().length > before);
}

describe("a terminal", () => {
  needsTmux();

  it.each([40, 60, 80, 120, 200])("of %i columns shows a whole run", async (columns) => {
    const scratch = await scratchWith({ "main.tf": MAIN });
    const terminal = await inTerminal(scratch, ["up"], { columns, rows: 50 });
    await terminal.shows("Enter a value:");
    await terminal.type("x");
    const asked = await terminal.shows(/taken as\s+a\s+yes:$/m);
    // Nothing of this depends on time or chance.
    await expect(asked).toMatchFileSnapshot(`captures/plan-${columns}.txt`);

    await terminal.type("yes");
    const live = await terminal.shows(/creating [1-9]s\n.*2\/4 {2}\ds$/m);
    const status = live.trimEnd().split("\n").slice(-2);
    expect(status[0]).toMatch(/^ {2}gate_file\.first: creating \d+s$/);
    expect(status[1]).toMatch(/^█+░+ 2\/4 {2}\d+s$/);
    for (const line of status) expect(line.length).toBeLessThan(columns);

    await scratch.open("open");
    const { code, screen } = await terminal.end();
    expect(code).toBe(0);
    expect(screen).not.toMatch(/[█░]/);
    const flat = screen.replaceAll(/\s+/g, " ");
    expect(flat).toContain("Apply complete: 4 added, 0 changed, 0 destroyed.");
    expect(flat.match(/: Creation complete after/g)).toHaveLength(4);
    expect(flat).toMatch(/\[1\]: Creation complete/);
    if (columns >= 120) expect(screen).toMatch(ID);
    expect(screen).toContain("size = 7");
    // The cursor is there again.
    expect(terminal.bytes().lastIndexOf("\u001b[?25h")).toBeGreaterThan(
      terminal.bytes().lastIndexOf("\u001b[?25l"),
    );
  });

  it("that is resized while a run continues keeps no stale lines", async () => {
    const names = ["first", "second", "third"];
    const scratch = await scratchWith({
      "main.tf": GATE + names.map((name) => gateFile(name, `  gate = "${name}-gate"`)).join("\n"),
    });
    const terminal = await inTerminal(scratch, ["up", "--yes"], { columns: 120 });
    await terminal.shows("third: creating");
    await resized(terminal, 40);
    await scratch.open("first-gate");
    await terminal.shows("1/3");
    await resized(terminal, 30);
    await scratch.open("second-gate");
    await terminal.shows("2/3");
    await resized(terminal, 200);
    await scratch.open("third-gate");
    const { code, screen } = await terminal.end();
    expect(code).toBe(0);
    expect(screen).not.toMatch(/[█░]|creating/);
    const flat = screen.replaceAll(/\s+/g, " ");
    for (const name of names) {
      expect(flat.split(`gate_file.${name}: Creation complete after`)).toHaveLength(2);
    }
  });

  it("without colours gets none, though lines are redrawn", async () => {
    const scratch = await scratchWith({
      "main.tf": GATE + gateFile("a", '  gate = "open"'),
    });
    const env = { NO_COLOR: "1" };
    const terminal = await inTerminal(scratch, ["up", "--yes"], { columns: 80, env });
    await terminal.shows("a: creating");
    await scratch.open("open");
    expect((await terminal.end()).code).toBe(0);
    expect(terminal.bytes()).toContain("\u001b[J");
    expect(terminal.bytes()).not.toMatch(new RegExp(String.raw`${"\u001b"}\[[\d;]*m`));
  });

  it("behind a pipe gets plain lines, and one for every ten seconds that something takes", async () => {
    const scratch = await scratchWith({
      "main.tf": GATE + gateFile("slow", '  gate = "open"'),
    });
    const options = { columns: 80, behind: "--yes 2>&1 | cat" };
    const terminal = await inTerminal(scratch, ["up"], options);
    // The seconds are those that passed: on a busy machine the line may come a little late.
    await terminal.shows(/gate_file\.slow: Still creating\.\.\. \[1\ds elapsed\]/);
    await scratch.open("open");
    const { screen } = await terminal.end();
    expect(screen).toMatch(/^gate_file\.slow: Creating\.\.\.$/m);
    expect(screen).toMatch(/^gate_file\.slow: Creation complete after 1\ds$/m);
    expect(terminal.bytes()).not.toContain("\u001b");
  });
});
