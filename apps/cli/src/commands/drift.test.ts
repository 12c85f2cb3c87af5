import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "drift-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const { server, token } = await startServer("none");
  const env = {
    HOME: cwd,
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: token,
    STACKWRIGHT_STACK: "web/one",
  };
  const drift = async (...words: readonly string[]) =>
    tryCommand(["drift", ...words], { cwd, env });
  const made = await fetch(new URL("/api/v1/projects/web/stacks", server.url), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: '{"name": "one"}',
  });
  expect(made.status).toBe(201);
  return { drift };
}

it("a rule is set, shown, paused and taken away", { timeout: 60_000 }, async () => {
  const { drift } = await start();
  const none = "Not checked yet.\nIt is not checked by itself; stackwright drift set says when.\n";
  expect((await drift("show")).output).toBe(none);
  const set = await drift("set", "--every", "6h", "--reaction", "plan");
  expect(set.code, set.error).toBe(0);
  expect(set.output).toMatch(
    /^It is checked every 6h, by the rule of the stack, with the reaction plan; next at \S+Z\.\n$/,
  );
  const paused = await drift("set", "--paused");
  expect(paused.output).toBe(
    "Checks are paused (every 6h, by the rule of the stack, with the reaction plan).\n",
  );
  const { rule } = JSON.parse((await drift("show", "--json")).output) as { rule: object };
  expect(rule).toMatchObject({ every_minutes: 360, reaction: "plan", paused: true });
  const parts = await drift("set", "--part", "aws_iam_*,aws_kms_*=15m", "--part", "lab_object=1h");
  expect(parts.output).toMatch(
    /^It is checked every 6h, aws_iam_\* and aws_kms_\* every 15m, lab_object every 1h, by the rule of the stack/,
  );
  // What is not said stays.
  expect((await drift("set", "--every", "1d")).output).toContain("lab_object every 1h");
  expect((await drift("set", "--part", "none")).output).not.toContain("lab_object");
  expect((await drift("unset")).output).toContain("not checked by itself");
  const again = await drift("unset");
  expect([again.code, again.error]).toEqual([1, expect.stringContaining("no rule of its own")]);
  const list = await drift("list", "--detailed-exitcode");
  expect([list.code, list.output]).toEqual([0, "0 of 0 checked stacks have drift.\n"]);
});

it("a difference is ignored with a reason and until a time, and heeded again", {
  timeout: 60_000,
}, async () => {
  const { drift } = await start();
  const of = ["lab_object.a", "--attribute", "size"];
  const made = await drift("ignore", ...of, "--reason", "a trial", "--for", "5d");
  expect(made.code, made.error).toBe(0);
  expect(made.output).toMatch(
    /^The drift of attribute size of lab_object\.a is ignored until \S+Z\. Nothing of it is known to differ now\.\n$/,
  );
  expect((await drift("show")).output).toMatch(
    /^Ignored until \S+Z: attribute size of lab_object\.a, by \S+: a trial$/m,
  );
  const other = await drift("heed", "lab_object.a");
  expect([other.code, other.error]).toEqual([
    1,
    expect.stringContaining("The stack ignores attribute size of lab_object.a."),
  ]);
  await drift("ignore", "lab_object.a\nAll is well", "--reason", "a trial", "--for", "5d");
  expect((await drift("heed", "lab_object.b")).error).toContain("lab_object.a\\u000aAll is well.");
  await drift("heed", "lab_object.a\nAll is well");
  expect((await drift("heed", ...of)).output).not.toContain("Ignored");
  const endless = await drift("ignore", ...of, "--reason", "a trial", "--for", "ever");
  expect([endless.code, endless.error]).toEqual([1, expect.stringContaining("Say --for 12h")]);
});

it("several objects are ignored at once, each is reported, and it is all of them or none", {
  timeout: 60_000,
}, async () => {
  const { drift } = await start();
  const terms = ["--reason", "a trial", "--for", "5d"];
  const both = ["lab_object.a", 'lab_object.b["x"]'];
  const made = await drift("ignore", ...both, "--attribute", "size", ...terms);
  expect(made.code, made.error).toBe(0);
  const ends = String.raw`is ignored until \S+Z\. Nothing of it is known to differ now\.`;
  expect(made.output).toMatch(
    new RegExp(
      String.raw`^The drift of attribute size of lab_object\.a ${ends}\nThe drift of attribute size of lab_object\.b\["x"\] ${ends}\n$`,
    ),
  );
  const json = await drift("ignore", ...both, ...terms, "--json");
  const { ignores } = JSON.parse(json.output) as { ignores: { address: string }[] };
  expect(ignores.map(({ address }) => address)).toEqual(both);
  // 50 are the most, and four are there.
  const many = Array.from({ length: 47 }, (_, at) => `lab_object.m${at}`);
  const refused = await drift("ignore", ...many, ...terms);
  expect([refused.code, refused.error]).toEqual([1, expect.stringContaining("at most 50")]);
  expect((await drift("show")).output).not.toContain("lab_object.m");
  const none = await drift("ignore", ...terms);
  expect([none.code, none.error]).toEqual([1, expect.stringContaining("address")]);
});

it("says what is wrong", { timeout: 60_000 }, async () => {
  const { drift } = await start();
  for (const [words, message] of [
    [["set", "--every", "soon"], '"soon" is not a valid time between two checks'],
    [["set", "--every", "1m"], "every_minutes"],
    [["set", "--part", "lab_object"], '"lab_object" is not a valid part of the rule'],
    [["set", "--part", "A B=1h"], "types"],
    [["check"], "Nothing was applied to the stack by this server yet"],
  ] as const) {
    const refused = await drift(...words);
    expect([refused.code, refused.error]).toEqual([1, expect.stringContaining(message)]);
  }
});

it("a hook is made with its address and a secret that is shown once, listed and deleted", {
  timeout: 60_000,
}, async () => {
  const { drift } = await start();
  const project = ["--project", "web"];
  expect((await drift("hooks", ...project)).output).toBe("The project web has no drift hooks.\n");
  const made = await drift("hook", "cloud", "--for", "o*", ...project, "--json");
  expect(made.code, made.error).toBe(0);
  const hook = JSON.parse(made.output) as Record<string, string>;
  expect(hook).toMatchObject({
    name: "cloud",
    stacks: ["o*"],
    webhook_path: "/hooks/drift/default/web/cloud",
    webhook_secret: expect.stringMatching(/^[\w-]{43}$/),
  });
  const again = await drift("hook", "cloud", ...project);
  expect([again.code, again.error]).toEqual([1, expect.stringContaining("has a drift hook")]);
  const listed = await drift("hooks", ...project);
  expect(listed.output).toMatch(/^cloud: o\*, by \S+\n$/);
  expect(listed.output).not.toContain(hook["webhook_secret"]);
  const gone = await drift("unhook", "cloud", ...project);
  expect([gone.code, gone.output]).toEqual([0, "Deleted the drift hook cloud.\n"]);
});
