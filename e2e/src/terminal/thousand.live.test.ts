import { describe, expect, it } from "vitest";
import { inTerminal, needsTmux, scratchWith } from "../testing/with-terminal.ts";

const COUNT = 1000;
/** At most so many frames a second are drawn; each is one write. */
const FRAMES = 10;

describe("a thousand objects", () => {
  needsTmux();

  it("are shown line by line above a bar that only moves on", async ({ annotate }) => {
    const scratch = await scratchWith({
      "main.tf": `resource "terraform_data" "many" {\n  count = ${COUNT}\n}\n`,
    });
    const begun = performance.now();
    const terminal = await inTerminal(scratch, ["up", "--yes"]);
    const { code, screen } = await terminal.end(120_000);
    const seconds = (performance.now() - begun) / 1000;
    expect(code).toBe(0);
    expect(screen).not.toMatch(/[█░]/);
    expect(screen).toContain(`Apply complete: ${COUNT} added, 0 changed, 0 destroyed.`);
    for (const index of [0, 1, COUNT - 1]) {
      expect(screen.split(`many[${index}]: Creation complete`)).toHaveLength(2);
    }
    expect(screen.match(/: Creation complete after/g)).toHaveLength(COUNT);

    const bytes = terminal.bytes();
    // Nothing that makes a whole screen blink.
    expect(bytes).not.toMatch(new RegExp(String.raw`${"\u001b"}(?:\[[23]J|\[H|c)`));
    const frames = bytes.split("\u001b[J").length - 1;
    expect(frames).toBeLessThanOrEqual(seconds * FRAMES + 2);
    const plain = bytes.length - frames * 400;
    expect(plain).toBeLessThan(COUNT * 600);
    const counts = [...bytes.matchAll(new RegExp(`(\\d+)/${COUNT} {2}`, "g"))].map(([, at]) =>
      Number(at),
    );
    expect(counts).toEqual(counts.toSorted((left, right) => left - right));
    await annotate(
      `${frames} frames, ${bytes.length} bytes in ${seconds.toFixed(1)} s with planning`,
      "notice",
    );
  });
});
