import { readFileSync } from "node:fs";
import { rotatingSlice } from "@stackwright/base/testing";
import { describe, expect, it } from "vitest";
import { commandMissing, commandVerdict } from "../testing/misuse/command-verdict.ts";
import { MISUSE_CASES } from "../testing/misuse/misuse-cases.ts";
import { RECORDED_VERDICTS } from "../testing/misuse/recorded-verdicts.ts";

/* The recorded answers, which the engine is compared with, are those of the real command. */

const recorded = JSON.parse(readFileSync(RECORDED_VERDICTS, "utf8")) as Record<string, unknown>;

describe("the reference command answers as recorded to an ephemeral value in", () => {
  it.for(rotatingSlice(MISUSE_CASES, 4))("$name", { timeout: 60_000 }, async (one, ctx) => {
    const missing = await commandMissing();
    ctx.skip(missing !== undefined, missing ?? "");
    expect(await commandVerdict(one)).toEqual(recorded[one.name]);
  });
});
