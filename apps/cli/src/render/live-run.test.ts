import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { createStyle } from "../terminal/style.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { duration, LiveRun } from "./live-run.ts";

function setUp(interactive: boolean, columns = 60) {
  const writes: string[] = [];
  let now = 0;
  let tick: (() => void) | undefined;
  const terminal: Terminal = {
    write: (text) => {
      writes.push(text);
    },
    writeError: () => undefined,
    style: createStyle(false),
    width: 78,
    columns,
    rows: 24,
    interactive,
    redraws: true,
    typed: interactive,
    mayAsk: false,
    ask: async () => undefined,
    lines: async function* () {
      // Nobody types anything.
    },
    promptedEntries: async function* () {
      // Nor here.
    },
    readAll: async () => "",
  };
  const run = new LiveRun({
    terminal,
    total: 3,
    clock: {
      now: () => now,
      every: (_interval, call) => {
        tick = call;
        return () => {
          tick = undefined;
        };
      },
    },
  });
  return {
    run,
    writes,
    pass: (ms: number) => {
      now += ms;
      tick?.();
    },
    stopped: () => tick === undefined,
  };
}

const CONTROL = new RegExp(String.raw`${"\u001b"}\[([?0-9;]*[A-Za-z])|.`, "gsu");

/** What a terminal shows after these writes. */
function screen(writes: readonly string[]): string[] {
  const rows: string[] = [""];
  let row = 0;
  let column = 0;
  for (const [found, control] of writes.join("").matchAll(CONTROL)) {
    if (control === "J") {
      rows.splice(row + 1);
      rows[row] = (rows[row] ?? "").slice(0, column);
    } else if (control?.endsWith("A") === true) row -= Number(control.slice(0, -1));
    else if (control !== undefined) continue;
    else if (found === "\n") {
      row++;
      column = 0;
      rows[row] ??= "";
    } else if (found === "\r") column = 0;
    else {
      rows[row] = (rows[row] ?? "").slice(0, column) + found;
      column++;
    }
  }
  return rows;
}

describe("a run that is shown", () => {
  it("is plain lines where the output is not a terminal", () => {
    const { run, writes } = setUp(false);
    run.show({ kind: "begin", subject: "a.b", action: "create" });
    run.show({ kind: "done", subject: "a.b", action: "create", id: "i-1" });
    run.show({ kind: "skipped", subject: "a.c", cause: "a.b failed" });
    expect(writes).toEqual([
      "a.b: Creating...\n",
      "a.b: Creation complete after 0s [id=i-1]\n",
      "a.c: Skipped, a.b failed\n",
    ]);
  });

  it("shows an ID that moves no cursor", () => {
    const { run, writes } = setUp(false);
    run.show({ kind: "done", subject: "a.b", action: "create", id: "i\u001b[2J\n\u009b1" });
    expect(writes).toEqual(["a.b: Creation complete after 0s [id=i\\u001b[2J\\u000a\\u009b1]\n"]);
  });

  it("says every ten seconds what is still going on", () => {
    const { run, writes, pass } = setUp(false);
    run.show({ kind: "begin", subject: "a.b", action: "delete" });
    pass(9_999);
    pass(1);
    pass(1_000);
    pass(9_000);
    expect(writes.slice(1)).toEqual([
      "a.b: Still destroying... [10s elapsed]\n",
      "a.b: Still destroying... [20s elapsed]\n",
    ]);
  });

  it("keeps finished lines above a bar and what is in progress on a terminal", () => {
    const { run, writes, pass } = setUp(true);
    run.show({ kind: "begin", subject: "a.b", action: "create" });
    run.show({ kind: "begin", subject: "a.c", action: "create" });
    pass(1_000);
    run.show({ kind: "done", subject: "a.b", action: "create" });
    pass(100);
    expect(screen(writes)).toEqual([
      "a.b: Creation complete after 1s",
      "  a.c: creating 1s",
      "████████░░░░░░░░░░░░░░░░ 1/3  1s",
    ]);
  });

  it("leaves nothing behind but the lines that stay", () => {
    const { run, writes, pass, stopped } = setUp(true);
    run.show({ kind: "begin", subject: "a.b", action: "create" });
    pass(100);
    run.show({ kind: "done", subject: "a.b", action: "create" });
    run[Symbol.dispose]();
    expect(screen(writes)).toEqual(["a.b: Creation complete after 0s", ""]);
    expect(writes.join("")).toContain("\u001b[?25h");
    expect(stopped()).toBe(true);
  });

  it("writes once a frame, however much happens", () => {
    const { run, writes, pass } = setUp(true);
    for (let index = 0; index < 1_000; index++) {
      run.show({ kind: "begin", subject: `a.b[${index}]`, action: "create" });
      run.show({ kind: "done", subject: `a.b[${index}]`, action: "create" });
    }
    pass(100);
    expect(writes).toHaveLength(1);
  });

  it("never draws a line that would wrap", () => {
    const { run, writes, pass } = setUp(true, 40);
    run.show({ kind: "begin", subject: `module.${"x".repeat(80)}.a.b`, action: "create" });
    pass(100);
    for (const row of screen(writes)) expect(stringWidth(row)).toBeLessThan(40);
  });

  it("shows a note as long as the run continues", () => {
    const { run, writes, pass } = setUp(true);
    run.note("stopping; Ctrl-C again to stop at once");
    pass(100);
    expect(screen(writes)[0]).toBe("stopping; Ctrl-C again to stop at once");
  });

  it.each([
    [0, "0s"],
    [59_999, "59s"],
    [125_000, "2m05s"],
    [3_720_000, "1h02m"],
  ])("tells %i ms as %s", (elapsed, text) => {
    expect(duration(elapsed)).toBe(text);
  });
});
