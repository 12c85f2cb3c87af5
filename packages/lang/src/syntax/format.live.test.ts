import { spawnSync } from "node:child_process";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { configText } from "../testing/config-arbitrary.ts";
import { requireTerraform } from "../testing/terraform-command.ts";
import { formatFile } from "./format.ts";

/** The command deletes keys of this kind when it formats, which is not what a formatter is for. */
const LOST_BY_REFERENCE = /\[\s*(?:true|false|null|")/;

/** What the command makes of a text; undefined where it refuses. */
function reference(command: string, text: string): string | undefined {
  const env = { ...process.env, TF_CLI_CONFIG_FILE: "/dev/null", CHECKPOINT_DISABLE: "1" };
  const { status, stdout } = spawnSync(command, ["fmt", "-"], {
    input: text,
    env,
    encoding: "utf8",
  });
  return status === 0 ? stdout : undefined;
}

describe("the formatter, compared with the command", () => {
  it("gives the same text", { timeout: 600_000 }, (context) => {
    const terraform = requireTerraform(context);
    fc.assert(
      fc.property(configText, (text) => {
        fc.pre(!LOST_BY_REFERENCE.test(text));
        const ours = formatFile({ name: "t", text }).text;
        // Standard output always ends with one line feed, whatever the formatted text ends with.
        const shown = ours === undefined ? undefined : `${ours.replace(/\n$/, "")}\n`;
        expect(shown).toBe(reference(terraform, text));
      }),
    );
  });
});
