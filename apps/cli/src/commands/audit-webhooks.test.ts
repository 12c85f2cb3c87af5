import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("a webhook of the audit trail is made, shown, changed, tested and deleted", {
  timeout: 60_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "audit-webhooks-"));
  onTestFinished(() => scratch.remove());
  const { server, token } = await startServer("none");
  const env = { HOME: scratch.path, STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: token };
  const say = async (...words: readonly string[]) =>
    tryCommand(["server", "audit-webhooks", ...words], { cwd: scratch.path, env });
  expect((await say("list")).output).toBe("The audit trail is sent nowhere.\n");
  const missing = await say("set", "siem", "--pause");
  expect([missing.code, missing.error]).toEqual([1, expect.stringContaining("--url-file")]);
  await writeFile(join(scratch.path, "url"), "https://siem.invalid/in?key=canary-key\n");
  const made = await say("set", "siem", "--url-file", "url", "--after", "5", "--pause");
  expect(made.output).toMatch(
    /^Created siem: https:\/\/siem\.invalid\/in\?…, has entries to 5, paused\nSecret: whsec_\S+\n/,
  );
  const [listed] = JSON.parse((await say("list", "--json")).output) as object[];
  expect(listed).toMatchObject({ name: "siem", after: 5, paused: true, attempts: 0 });
  expect(JSON.stringify(listed)).not.toMatch(/whsec_|canary/);
  const late = await say("set", "siem", "--after", "7");
  expect([late.code, late.error]).toEqual([1, expect.stringContaining("is for a new webhook")]);
  // What is refused changes nothing: neither the address, nor the secret, nor whether it is paused.
  const other = ["--url", "https://other.invalid/", "--after", "7", "--resume", "--new-secret"];
  const refused = await say("set", "siem", ...other);
  expect([refused.code, refused.error]).toEqual([
    1,
    expect.stringContaining("is for a new webhook"),
  ]);
  expect(JSON.parse((await say("list", "--json")).output)).toEqual([listed]);
  expect((await say("set", "siem", "--new-secret")).output).toMatch(/Secret: whsec_/);
  const tested = await say("test", "siem");
  expect([tested.code, tested.output]).toEqual([1, expect.stringContaining("Not delivered")]);
  expect(tested.output).not.toContain("canary");
  expect((await say("delete", "siem")).output).toBe("Deleted the audit webhook siem.\n");
  expect((await say("delete", "siem")).code).toBe(1);
});
