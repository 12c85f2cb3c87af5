import { existsSync } from "node:fs";
import { mkdtempDisposable, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { writeCredentials } from "./bootstrap.ts";

const FIRST = { account: "default", token: "t", accessKey: "a", secretKey: "s" };

async function folder(): Promise<string> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "bootstrap-"));
  onTestFinished(() => scratch.remove());
  return scratch.path;
}

it("puts credentials into a file of its owner, in a folder that is made for it", async () => {
  const path = join(await folder(), "server/first.json");
  await writeCredentials(path, async () => FIRST);
  expect(JSON.parse(await readFile(path, "utf8"))).toEqual(FIRST);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

it("makes no credentials where they cannot be written, as no other command would show them", async () => {
  const place = await folder();
  await writeFile(join(place, "first.json"), "of another server");
  let made = 0;
  const make = async (): Promise<typeof FIRST> => {
    made += 1;
    return FIRST;
  };
  for (const name of ["first.json", "first.json/below.json"]) {
    await expect(writeCredentials(join(place, name), make)).rejects.toMatchObject({
      code: "ENGINE_CONFIG_INVALID",
      message: expect.stringContaining("none were made"),
    });
  }
  expect(made).toBe(0);
  expect(await readFile(join(place, "first.json"), "utf8")).toBe("of another server");
});

it("leaves no empty file where there are credentials already", async () => {
  const path = join(await folder(), "first.json");
  const make = async (): Promise<never> => Promise.reject(new Error("there are some"));
  await expect(writeCredentials(path, make)).rejects.toThrow("there are some");
  expect(existsSync(path)).toBe(false);
});
