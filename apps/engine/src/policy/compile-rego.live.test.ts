import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { beforeEach, describe, expect, it } from "vitest";
import { compileRego } from "./compile-rego.ts";
import { PolicyRunner } from "./policy-runner.ts";

const OPA = process.env["TEST_TOOL_OPA"] ?? "opa";
const POLICIES = join(import.meta.dirname, "../testing/policies");

async function compile(text: string | Uint8Array<ArrayBuffer>) {
  const content = typeof text === "string" ? new TextEncoder().encode(text) : text;
  const { program } = await compileRego([OPA], new Map([["policy.rego", content]]), []);
  return async (entrypoint: string, document: object) =>
    new PolicyRunner({ clock: systemClock }).evaluate({
      program,
      entrypoints: [entrypoint],
      input: new TextEncoder().encode(JSON.stringify(document)),
    });
}

describe("sources that the opa command compiles", { timeout: 60_000 }, () => {
  beforeEach((context) => {
    const { status } = spawnSync(OPA, ["version"]);
    context.skip(status !== 0, `${OPA} is not installed, and TEST_TOOL_OPA names no other one`);
  });

  it("judge a plan", async () => {
    const source = Uint8Array.from(await readFile(join(POLICIES, "stackwright.rego")));
    const evaluate = await compile(source);
    const change = { address: "x.bad", name: "bad", change: { actions: ["create"] } };
    const judged = await evaluate("stackwright", { plan: { resource_changes: [change] }, run: {} });
    expect(judged).toMatchObject({
      kind: "answer",
      answer: { isForbidden: true, findings: [{ message: "x.bad is called bad" }] },
    });
    const allowed = await evaluate("stackwright", { plan: { resource_changes: [] }, run: {} });
    expect(allowed).toMatchObject({ answer: { isForbidden: false, findings: [] } });
  });

  it("are refused with the words of the command", async () => {
    await expect(compile("package stackwright\n\ndeny contains {{{\n")).rejects.toMatchObject({
      code: "unprocessable",
      message: expect.stringMatching(/cannot be compiled: [^]*rego_parse_error/),
    });
  });

  it("open no connection", async () => {
    const evaluate = await compile(
      'package stackwright\n\ndeny contains "x" if http.send({"method": "get", "url": "http://127.0.0.1:1"}).status_code == 200\n',
    ).catch((error: unknown) => error as { readonly code: string });
    // Its compiled form would need a function of its host, which an upload must not.
    if (typeof evaluate !== "function") expect(evaluate.code).toBe("unprocessable");
    else expect(await evaluate("stackwright", {})).toMatchObject({ kind: "error" });
  });
});
