import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

it("a destination is created, changed, listed, tested and deleted", {
  timeout: 60_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "notifications-command-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const { server, token } = await startServer("none", { notificationHosts: ["127.0.0.1"] });
  const env = {
    HOME: cwd,
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: token,
    STACKWRIGHT_PROJECT: "web",
  };
  const say = async (...words: readonly string[]) =>
    tryCommand(["notifications", ...words], { cwd, env });
  await writeFile(join(cwd, "address"), "http://127.0.0.1:1/hidden\n");

  expect((await say("list")).output).toBe("No notifications of the project web are sent.\n");
  const incomplete = await say("set", "ops");
  expect([incomplete.code, incomplete.error]).toEqual([1, expect.stringContaining("--url-file")]);
  const url = "http://127.0.0.1:1/in";
  const made = await say("set", "ops", "--kind", "webhook", "--url", url, "--for", "net*");
  expect(made.code, made.error).toBe(0);
  expect(made.output).toMatch(
    /^Created ops: webhook http:\/\/127\.0\.0\.1:1\/in, all events, stacks net\*\nSecret: whsec_\S+\n/,
  );
  const changed = await say("set", "ops", "--event", "run.failed", "--pause", "--new-secret");
  expect(changed.output).toMatch(/^Changed ops: .*, run\.failed, stacks net\*, paused\nSecret: /);
  const chat = await say("set", "chat", "--kind", "slack", "--url-file", "address");
  expect(chat.output).toBe("Created chat: slack http://127.0.0.1:1/…, all events\n");
  await writeFile(join(cwd, "mail-server"), "smtps://relay:hidden@127.0.0.1:1\n");
  const address = ["--from", "a@example.com", "--to", "b@example.com", "--to", "c@example.com"];
  const mail = await say("set", "mail", "--kind", "email", "--url-file", "mail-server", ...address);
  expect(mail.output).toBe(
    "Created mail: email smtps://127.0.0.1:1, to b@example.com c@example.com, all events\n",
  );
  const listed = await say("list", "--json");
  expect(JSON.parse(listed.output)).toMatchObject([
    { name: "ops", paused: true },
    { name: "chat" },
    { name: "mail", from: "a@example.com" },
  ]);
  expect(listed.output).not.toMatch(/whsec_|hidden/);
  expect((await say("deliveries", "ops")).output).toBe("Nothing was sent to ops.\n");
  const test = await say("test", "ops");
  expect([test.code, test.output]).toEqual([
    1,
    expect.stringMatching(/^[0-9A-Z]{26}: test, dead, 1 attempt, /),
  ]);
  const id = test.output.slice(0, 26);
  expect((await say("deliveries", "ops")).output).toContain(id);
  expect((await say("redeliver", "ops", id)).output).toBe(`${id} is sent again.\n`);
  for (const [words, message] of [
    [["set", "ops", "--event", "nothing"], "not valid for --event"],
    [["set", "ops", "--kind", "slack"], "is of the kind webhook"],
    [["set", "ops", "--url", url, "--url-file", "x"], "--url or by --url-file"],
    [["set", "local", "--kind", "webhook", "--url", "http://127.0.0.2/"], "--notification-host"],
    [["test", "nothing"], 'no destination "nothing"'],
  ] as const) {
    const refused = await say(...words);
    expect([refused.code, refused.error]).toEqual([1, expect.stringContaining(message)]);
  }
  expect((await say("delete", "ops")).output).toBe("Deleted the destination ops.\n");
});
