import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Mark, Value } from "@stackwright/cty";
import type { ProviderLogEntry } from "@stackwright/tfplugin/launch";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEngine } from "../engine.ts";
import { installedOrigin } from "../providers/installed-origin.ts";
import { ProviderInstancePool } from "../providers/provider-instance-pool.ts";
import { loadText } from "../testing/simulation/sim-parts.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { redactLog, redactProcess } from "./redact-log.ts";
import { createRedactor, REDACTED } from "./redactor.ts";

const SECRET = "Tr0ub4dor&3 and a staple\nof two\n\nand more lines: four";

const entry = (message: string): ProviderLogEntry => ({ level: "debug", message, fields: {} });

function redactAll(secret: string, lines: readonly string[]): string[] {
  const secrets = createRedactor();
  secrets.add(secret);
  const redact = redactLog(secrets);
  return lines.map((line) => redact(entry(line)).message);
}

describe("the log of a provider", () => {
  it("has no secret that goes over several lines", () => {
    expect(redactAll(SECRET, [...`the text is ${SECRET}`.split("\n"), "the end"])).toEqual([
      `the text is ${REDACTED}`,
      REDACTED,
      "",
      REDACTED,
      "the end",
    ]);
  });

  it("has no secret that is cut anywhere, but for fewer characters than the shortest searched part", () => {
    const secret = "correct horse battery";
    for (let at = 1; at < secret.length; at += 1) {
      const [one, two] = redactAll(secret, [`<${secret.slice(0, at)}`, `${secret.slice(at)}>`]);
      expect(two, String(at)).toBe(`${REDACTED}>`);
      expect(one, String(at)).toBe(at < 4 ? `<${secret.slice(0, at)}` : `<${REDACTED}`);
    }
  });

  it("has no secret in any pieces, however small", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "\n"), minLength: 4, maxLength: 30 });
    fc.assert(
      fc.property(text, fc.array(fc.nat(6)), (secret, sizes) => {
        const pieces: string[] = [];
        let at = 0;
        for (const size of [...sizes, secret.length]) {
          if (at >= secret.length) break;
          pieces.push(secret.slice(at, at + size));
          at += size;
        }
        const shown = redactAll(secret, ["ccc", ...pieces, "ccc"]).join("");
        const rest = shown.replaceAll(REDACTED, "").replaceAll("ccc", "").replaceAll("\n", "");
        expect(rest.length).toBeLessThan(4);
      }),
    );
  });

  it("keeps what only begins like a secret, if it is short, and what comes after it", () => {
    expect(redactAll("password-1", ["a pas", "s the salt"])).toEqual(["a pas", "s the salt"]);
    expect(redactAll("password-1", ["a passw", "all"])).toEqual([`a ${REDACTED}`, "all"]);
  });

  it("keeps streams of one process apart", () => {
    const secrets = createRedactor();
    secrets.add("one line\nand a next");
    const redact = redactProcess(secrets);
    const lines = (
      [
        ["stderr", "x one line"],
        ["stdout", "and all"],
        ["stderr", "and a next y"],
      ] as const
    ).map(([stream, text]) => redact({ stream, text }).text);
    expect(lines).toEqual([`x ${REDACTED}`, "and all", `${REDACTED} y`]);
  });
});

const SOURCE = "example.com/acme/notes";
const CONFIG = `terraform {
  required_providers {
    notes = { source = "${SOURCE}" }
  }
}
variable "text" {
  type      = string
  sensitive = true
}
resource "notes_note" "a" {
  name = "a"
  text = var.text
}
`;

/** Applies a note with a secret text by a process that logs everything it is given. */
async function run({ secret = SECRET, kept = false, dies = false }) {
  const folder = await mkdtemp(join(tmpdir(), "babbling-"));
  const log: string[] = [];
  const keeping = new ProviderInstancePool();
  try {
    const program = join(import.meta.dirname, "../testing/notes/babbling-program.ts");
    const note = (data: object, message: string): void =>
      void log.push(JSON.stringify({ ...data, message }));
    const origin = installedOrigin({
      providers: new Map([[SOURCE, { version: undefined, executable: process.execPath }]]),
      launch: {
        args: [program],
        env: { PATH: process.env.PATH ?? "", NOTES: folder, ...(dies && { NOTES_DIE: "1" }) },
        onLog: (line) => log.push(line.message, JSON.stringify(line)),
        logger: { debug: note, info: note, warn: note, error: note },
      },
    });
    const engine = createEngine({ origins: [kept ? keeping.keep(origin) : origin] });
    const { state } = createTestState();
    const configuration = await loadText(CONFIG);
    const variables = new Map([["text", Value.string(secret).mark(Mark.sensitive)]]);
    const { plan, diagnostics: found } = await engine.plan({ state, configuration, variables });
    if (plan === undefined) throw new Error(`there is no plan: ${JSON.stringify(found)}`);
    const { status, diagnostics } = await engine.apply({ state, configuration, variables, plan });
    const written = dies ? "" : await readFile(join(folder, "a"), "utf8");
    return { status, written, log, diagnostics: JSON.stringify(diagnostics) };
  } finally {
    await keeping[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Parts of the secret that nothing else consists of. */
const PARTS = ["ub4dor", "of two", "more lines"];

describe("a process that logs what it is given", { timeout: 30_000 }, () => {
  it.each([false, true])("leaves no secret in its log (kept: %s)", async (kept) => {
    const { status, written, log } = await run({ kept });
    expect(status).toBe("applied");
    expect(written).toBe(SECRET);
    const text = log.join("\n");
    expect(log.filter((line) => line === "the end")).toHaveLength(1);
    expect(text).toContain(`the text is ${REDACTED}`);
    expect(text).toContain(`got ${REDACTED}`);
    expect(text).toContain(`${REDACTED} behind a long line`);
    for (const part of PARTS) expect(text).not.toContain(part);
  });

  it("leaves none in its last words", async () => {
    const { diagnostics, log } = await run({ dies: true });
    expect(diagnostics).toContain("behind a long line");
    for (const part of PARTS) expect(`${diagnostics}${log.join("\n")}`).not.toContain(part);
  });

  it("is heard by these tests", async () => {
    const { log } = await run({ secret: "x" });
    expect(log.join("\n")).toContain("the text is x");
  });
});
