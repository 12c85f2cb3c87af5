import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { commandVersion } from "../command-version.ts";
import { startOtherRelease } from "../testing/other-release.ts";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

type Other = Parameters<typeof startOtherRelease>[1];

/** Calls commands of a user of a server of another release, with a run of the stack `web/one` that waits for a worker. */
async function user(other: Other) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "release-"));
  onTestFinished(() => scratch.remove());
  await writeFile(join(scratch.path, "main.tf"), 'resource "terraform_data" "a" {}\n');
  const { server, token } = await startServer("none");
  const at =
    (address: string) =>
    async (...words: string[]) =>
      tryCommand(words, {
        cwd: scratch.path,
        env: { HOME: scratch.path, STACKWRIGHT_SERVER: address, STACKWRIGHT_TOKEN: token },
      });
  const started = await at(server.url)("runs", "start", "--stack", "web/one", "--yes", "--detach");
  expect(started.code, started.error).toBe(0);
  return at(await startOtherRelease(server.url, other));
}

describe("a command and a server of another release", { timeout: 60_000 }, () => {
  it.each([
    ["0.0.1", `an earlier release (0.0.1) than this command (${commandVersion()}): upgrade it`],
    ["99.0.0", `a later release (99.0.0) than this command (${commandVersion()}): use the command`],
    [commandVersion(), `both say the release ${commandVersion()}, and differ`],
    ["of today", `an earlier release than this command (${commandVersion()}): upgrade it`],
  ])(
    "what a server of the release %s has no route for is named with both releases",
    async (version, advice) => {
      const call = await user({ version, lacks: /\/search$/ });
      const refused = await call("search", "a");
      expect(refused.code).toBe(1);
      expect(refused.error).toContain("The server has no such route for GET");
      expect(refused.error).toContain(advice);
      // What both have still works.
      expect(await call("runs", "list", "--stack", "web/one")).toMatchObject({
        code: 0,
        error: "",
      });
    },
  );

  it("what a server does not know of a request is named with both releases, unless they are the same", async () => {
    const refusals = await Promise.all(
      ["0.0.1", commandVersion()].map(async (version) => {
        const call = await user({ version });
        return call("search", "a", "--limit", "many");
      }),
    );
    const [earlier, same] = refusals.map(({ code, error }) => ({ code, error }));
    expect(earlier).toEqual({ code: 1, error: expect.stringContaining("/querystring/limit") });
    expect(earlier?.error).toContain("an earlier release (0.0.1)");
    expect(same).toEqual({ code: 1, error: expect.stringContaining("/querystring/limit") });
    expect(same?.error).not.toContain("release");
  });

  it("members and values of a later release are shown where they are texts, and passed over otherwise", async () => {
    const later = (name: string, value: unknown): unknown => {
      if (name === "phase") return "held_for_review";
      const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
      return isObject ? { ...value, of_later: { members: [1] }, later_too: "x" } : value;
    };
    const call = await user({ version: "99.0.0", answer: later });
    const texts: readonly (readonly [words: string, says: string])[] = [
      ["runs list --stack web/one", "held_for_review"],
      ["runs show --stack web/one 1", "is in the phase held_for_review"],
      ["projects list", "web"],
      ["drift list", ""],
      ["search a", ""],
      ["tokens list", "admin"],
      ["admin doctor", ""],
    ];
    for (const [words, says] of texts) {
      const shown = await call(...words.split(" "));
      expect([words, shown.code, shown.error]).toEqual([
        words,
        0,
        expect.not.stringContaining("Error"),
      ]);
      expect([words, shown.output]).toEqual([words, expect.stringContaining(says)]);
    }
    const json = JSON.parse(
      (await call("runs", "list", "--stack", "web/one", "--json")).output,
    ) as object[];
    expect(json).toMatchObject([{ phase: "held_for_review", later_too: "x" }]);
  });
});
