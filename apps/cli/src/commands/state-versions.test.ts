import { mkdtempDisposable, readFile, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "state-versions-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const { server, token } = await startServer("none");
  const env = {
    HOME: cwd,
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: token,
    STACKWRIGHT_STACK: "web/shop",
  };
  const store = async (serial: number): Promise<string> => {
    const state = JSON.stringify({ version: 4, serial, lineage: "line", resources: [] });
    const answer = await fetch(new URL("/state/v1/default/web/shop", server.url), {
      method: "POST",
      headers: { authorization: `Basic ${Buffer.from(`any:${token}`).toString("base64")}` },
      body: state,
    });
    expect(answer.status).toBe(200);
    return state;
  };
  const versions = async (...words: readonly string[]) =>
    tryCommand(["state-versions", ...words], { cwd, env });
  return { cwd, store, versions };
}

it("lists, downloads and restores what a command stored", { timeout: 60_000 }, async () => {
  const { cwd, store, versions } = await start();
  const first = await store(1);
  const second = await store(2);
  const listed = await versions("list");
  expect(listed.code, listed.error).toBe(0);
  expect(listed.output.split("\n")).toEqual([
    expect.stringMatching(/^2: serial 2, \d+ bytes, stored at .+, by .+, present$/),
    expect.stringMatching(/^1: serial 1, \d+ bytes, stored at [^,]+, by [^,]+$/),
    "",
  ]);
  expect((await versions("download")).output).toBe(second);
  expect((await versions("download", "1", "--output", "old.tfstate")).output).toBe(
    "Wrote old.tfstate.\n",
  );
  const file = join(cwd, "old.tfstate");
  expect(await readFile(file, "utf8")).toBe(first);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const again = await versions("download", "--output", "old.tfstate");
  expect([again.code, again.error]).toEqual([1, expect.stringContaining("exists already")]);
  expect((await versions("restore", "1")).output).toBe(
    "web/shop has the state of version 1 again: as version 3, with the serial 3.\n",
  );
  expect((await versions("download")).output).toBe(first.replace('"serial":1', '"serial":3'));
  const json = JSON.parse((await versions("list", "--json")).output) as object[];
  expect(json[0]).toMatchObject({ version: 3, restored_from: 1, current: true });
});

it("says what is missing", { timeout: 60_000 }, async () => {
  const { store, versions } = await start();
  await store(1);
  for (const words of [
    ["download", "7"],
    ["restore", "7"],
  ]) {
    const { code, error } = await versions(...words);
    expect([code, error]).toEqual([1, expect.stringContaining("has no state version 7")]);
  }
  for (const word of ["0", "one", "1.5"]) {
    const { code, error } = await versions("restore", word);
    expect([code, error]).toEqual([1, expect.stringContaining("not the number")]);
  }
  const other = await versions("download", "--stack", "web/other");
  expect(other.code).toBe(1);
});
