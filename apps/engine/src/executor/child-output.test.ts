import { createRedactor } from "@stackwright/core";
import { expect, it } from "vitest";
import { ChildOutput } from "./child-output.ts";

function start(...secrets: string[]) {
  const redactor = createRedactor();
  for (const secret of secrets) redactor.add(secret);
  const lines: string[] = [];
  return { lines, output: new ChildOutput(redactor, (text) => lines.push(text)) };
}

it("no secret of a job reaches the log, however its bytes are cut", () => {
  const secret = "s3cret-canary-ä-0123456789";
  const text = Buffer.from(`before ${secret} after\nkey: ${secret}\n${secret}`);
  for (let size = 1; size < text.length; size += 1) {
    const { lines, output } = start(secret);
    for (let at = 0; at < text.length; at += size) output.take(text.subarray(at, at + size));
    output.end();
    const all = lines.join("\n");
    expect(all).not.toContain("canary");
    expect(all).toContain("before ");
    expect(all).toContain(" after");
  }
});

it("a secret of several lines, and one in a line without an end, are found", () => {
  const secret = `first-line-of-a-key\n${"k".repeat(64)}\nlast-line-of-a-key`;
  const { lines, output } = start(secret, "canary".repeat(40));
  output.take(Buffer.from(`x\n${secret}\n${"-".repeat(4_000)}${"canary".repeat(40)}`));
  output.end();
  expect(lines.join("")).not.toMatch(/line-of-a-key|kkkk|canary/);
});

it("an executor that writes without end costs a bounded part of the log", () => {
  const { lines, output } = start("secret");
  const chunk = Buffer.alloc(64 * 1024, "x");
  for (let count = 0; count < 1_000; count += 1) output.take(chunk);
  output.end();
  expect(lines.join("").length).toBeLessThan(80 * 1024);
  expect(lines.at(-1)).toMatch(/^\([0-9]{8} bytes more were dropped\)$/);
});
