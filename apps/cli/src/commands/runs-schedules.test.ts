import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "schedules-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const { server, token } = await startServer("none");
  const env = {
    HOME: cwd,
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: token,
    STACKWRIGHT_STACK: "web/one",
    TZ: "Europe/Berlin",
  };
  const runs = async (...words: readonly string[]) => tryCommand(["runs", ...words], { cwd, env });
  const made = await fetch(new URL("/api/v1/projects/web/stacks", server.url), {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: '{"name": "one"}',
  });
  expect(made.status).toBe(201);
  return { runs };
}

it("a schedule is made, listed, paused, resumed and deleted", { timeout: 60_000 }, async () => {
  const { runs } = await start();
  expect((await runs("schedules")).output).toBe("No runs of web/one are scheduled.\n");
  const made = await runs(
    "schedule",
    "0 3 * * *",
    "--plan-only",
    "--message",
    "drift",
    "--zone",
    "UTC",
  );
  expect(made.code, made.error).toBe(0);
  expect(made.output).toMatch(
    /^[0-9A-Z]{26}: "0 3 \* \* \*" UTC, plan only, drift, next at \d{4}-\d\d-\d\dT03:00:00\.000Z\n$/,
  );
  const id = made.output.slice(0, 26);
  expect((await runs("schedules")).output).toBe(made.output);
  expect((await runs("pause-schedule", id.slice(-6).toLowerCase())).output).toContain("paused");
  const [shown] = JSON.parse((await runs("schedules", "--json")).output) as object[];
  expect(shown).toMatchObject({ id, paused: true, mode: "plan_only" });
  expect((await runs("resume-schedule", id)).output).toBe(made.output);
  expect((await runs("unschedule", id)).output).toBe(`Deleted the schedule ${id}.\n`);
  const gone = await runs("unschedule", id);
  expect([gone.code, gone.error]).toEqual([1, expect.stringContaining(`no schedule "${id}"`)]);
});

it("says what is wrong with a schedule", { timeout: 60_000 }, async () => {
  const { runs } = await start();
  for (const [words, message] of [
    [[], "either times or a single one"],
    [["0 3 * * *", "--at", "2099-01-01T00:00:00Z"], "either times or a single one"],
    [["0 3 * * *", "--destroy", "--plan-only"], "one of --destroy"],
    [["* * * * *"], "at least 5 minutes"],
    [["0 3 * * *", "--zone", "Nowhere"], "not a valid time zone"],
    [["--at", "2020-01-01T00:00:00Z", "--destroy"], "has passed"],
  ] as const) {
    const refused = await runs("schedule", ...words);
    expect([refused.code, refused.error]).toEqual([1, expect.stringContaining(message)]);
  }
  const weekly = await runs(
    "schedule",
    "0 3 * * MON",
    "--refresh-only",
    "--auto-approve",
    "--json",
  );
  expect(JSON.parse(weekly.output)).toMatchObject({
    mode: "refresh_only",
    auto_apply: true,
    zone: expect.stringMatching(/./),
  });
});
