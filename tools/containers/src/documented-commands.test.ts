import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { documentedCommands } from "./documented-commands.ts";

const PAGE = `# One

\`\`\`sh
a --port 1
\`\`\`

\`\`\`json
{}
\`\`\`

\`\`\`sh
b 1
b 2
\`\`\`

## Two

\`\`\`sh
c
\`\`\`
`;

describe("documentedCommands", () => {
  it("gives the lines of a block of shell under a heading, with other names", () => {
    expect(documentedCommands(PAGE, "One", 0, [["--port 1", "--port 2"]])).toBe("a --port 2\n");
    expect(documentedCommands(PAGE, "One", 1, [["b", "x"]])).toBe("x 1\nx 2\n");
    expect(documentedCommands(PAGE, "Two", 0, [])).toBe("c\n");
  });

  it("refuses what the page does not say", () => {
    expect(() => documentedCommands(PAGE, "Three", 0, [])).toThrow("no heading");
    expect(() => documentedCommands(PAGE, "Two", 1, [])).toThrow("1 blocks");
  });

  it("finds what a trial follows in the page about compose", () => {
    const page = readFileSync(join(import.meta.dirname, "../../../docs/compose.md"), "utf8");
    const block = (heading: string, which: number) => documentedCommands(page, heading, which, []);
    const first = "Stackwright in containers";
    expect(block(first, 0)).toContain("main.ts prepare");
    expect(block(first, 1)).toMatch(/^docker compose .* up --build --detach --wait$/m);
    expect(block(first, 2)).toMatch(/register\.ts .*[^]*^stackwright up$/m);
    expect(block("Stop and start", 0)).toMatch(/ stop$[^]* start$/m);
    expect(block("Stop and start", 1)).toMatch(/ down$[^]* up --detach --wait$/m);
    expect(block("Stop and start", 2)).toMatch(/ down --volumes$/m);
  });
});
