import { mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createRuntime, type KrtError, kind, type Runtime } from "../index.ts";
import { trackEvents } from "../testing/index.ts";
import { watchFile, watchFolder } from "./index.ts";

interface Config {
  readonly namespace: string;
  readonly name: string;
  readonly value?: number;
}
const CONFIG = kind<Config>()({ name: (one) => one.name, namespace: (one) => one.namespace });
const parse = (text: string): Config[] => [JSON.parse(text) as Config].flat();
const fast = { kind: CONFIG, debounceMs: 10, resyncMs: Number.POSITIVE_INFINITY };

let folder: string;
let rt: Runtime;
let errors: KrtError[];
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "krt-files-")));
  errors = [];
  rt = createRuntime({ onError: (error) => errors.push(error) });
  return async () => {
    rt.dispose();
    await rm(folder, { recursive: true });
  };
});

const put = (name: string, ...configs: Config[]) =>
  writeFile(join(folder, name), configs.length === 0 ? "" : JSON.stringify(configs));
const test = (name: string, value?: number): Config =>
  value === undefined ? { namespace: "default", name } : { namespace: "default", name, value };
const open = () => watchFolder(rt, folder, parse, fast);
const eventually = (check: () => void) => vi.waitFor(check, { timeout: 5000, interval: 5 });

describe("watchFolder", () => {
  it("S141 begins with what is there and follows new files", async () => {
    await put("cm.yaml", test("test"));
    const configs = await open();
    expect(configs.synced).toBe(true);
    const tracker = trackEvents(configs);
    await rt.settled();
    expect(tracker.take()).toEqual(["add/default/test"]);
    await put("cm2.yaml", test("test2"));
    await eventually(() => expect(tracker.events).toHaveLength(1));
    expect(tracker.take()).toEqual(["add/default/test2"]);
  });

  it("S142 takes an emptied file for an absent one", async () => {
    await put("cm.yaml", test("test"));
    const configs = await open();
    const tracker = trackEvents(configs, { replay: false });
    await put("cm.yaml");
    await eventually(() => expect(configs.size).toBe(0));
    await rt.settled();
    expect(tracker.take()).toEqual(["delete/default/test"]);
  });

  it("S143 keeps everything when a file cannot be parsed, and continues when it is fixed", async () => {
    await put("a.json", test("a", 1));
    await put("b.json", test("b", 1));
    const configs = await open();
    const tracker = trackEvents(configs, { replay: false });
    await put("a.json", test("a", 2));
    await writeFile(join(folder, "b.json"), "{");
    await eventually(() => expect(errors.length).toBeGreaterThan(0));
    expect(errors[0]?.code).toBe("KRT_SOURCE");
    expect(errors[0]?.message).toContain("b.json");
    expect(configs.get("default/b")).toEqual(test("b", 1));
    await put("b.json", test("b", 3));
    await eventually(() => expect(configs.get("default/b")?.value).toBe(3));
    await rt.settled();
    expect(configs.get("default/a")?.value).toBe(2);
    expect(tracker.events.every((event) => event.type === "update")).toBe(true);
  });

  it("S144 leaves other files out and follows folders that come later", async () => {
    await put("readme.txt", test("no"));
    const configs = await open();
    expect(configs.size).toBe(0);
    await mkdir(join(folder, "x", "y"), { recursive: true });
    await put("x/y/deep.yml", test("deep"));
    await eventually(() => expect(configs.has("default/deep")).toBe(true));
    await put("x/y/deep.yml", test("deep", 2));
    await eventually(() => expect(configs.get("default/deep")?.value).toBe(2));
    await rm(join(folder, "x"), { recursive: true });
    await eventually(() => expect(configs.size).toBe(0));
    expect(errors).toEqual([]);
  });

  it("S145 leaves out what the function makes nothing of", async () => {
    await put("a.json", test("a"), test("b"));
    const configs = await watchFolder(
      rt,
      folder,
      (text) => parse(text).map((one) => (one.name === "a" ? undefined : one)),
      fast,
    );
    expect([...configs.keys()]).toEqual(["default/b"]);
  });

  it("follows a file that is replaced by renaming", async () => {
    await put("a.json", test("a", 1));
    const configs = await open();
    for (let value = 2; value < 5; value++) {
      await put("a.new", test("a", value));
      await rename(join(folder, "a.new"), join(folder, "a.json"));
      await eventually(() => expect(configs.get("default/a")?.value).toBe(value));
    }
    expect(errors).toEqual([]);
  });

  it("follows links whose folder is exchanged, as mounted configuration is", async () => {
    await mkdir(join(folder, "..one"));
    await put("..one/a.json", test("a", 1));
    await symlink("..one", join(folder, "..data"));
    await symlink(join("..data", "a.json"), join(folder, "a.json"));
    const configs = await open();
    expect(configs.list()).toEqual([test("a", 1)]);
    await mkdir(join(folder, "..two"));
    await put("..two/a.json", test("a", 2));
    await symlink("..two", join(folder, "..next"));
    await rename(join(folder, "..next"), join(folder, "..data"));
    await eventually(() => expect(configs.list()).toEqual([test("a", 2)]));
  });

  it("makes one turn of many files", async () => {
    const configs = await open();
    const tracker = trackEvents(configs);
    await Promise.all(Array.from({ length: 20 }, (_, i) => put(`f${i}.json`, test(`t${i}`))));
    await eventually(() => expect(configs.size).toBe(20));
    await rt.settled();
    expect(tracker.batches.length).toBeLessThan(5);
    expect(tracker.takeSorted()).toHaveLength(20);
  });

  it("refuses the same key in two files, and names the file", async () => {
    await put("a.json", test("a"));
    const configs = await open();
    await put("b.json", test("a", 2));
    await expect(configs.resync()).rejects.toMatchObject({ code: "KRT_SOURCE" });
    expect(errors[0]?.message).toContain("b.json");
    expect(configs.list()).toEqual([test("a")]);
  });

  it("reads by itself after a while even if no change was noticed", async () => {
    const configs = await watchFolder(rt, folder, parse, {
      ...fast,
      debounceMs: 1e8,
      resyncMs: 20,
    });
    await put("a.json", test("a"));
    // What is notified would be put off for a day; only the regular reading can bring it.
    await eventually(() => expect(configs.size).toBe(1));
  });

  it("rejects where the first reading fails, and leaves nothing behind", async () => {
    await expect(watchFolder(rt, join(folder, "absent"), parse, fast)).rejects.toMatchObject({
      code: "KRT_SOURCE",
    });
    expect(rt.inspect().collections()).toEqual([]);
    expect(errors).toEqual([]);
  });

  it("ends with the collection", async () => {
    await put("a.json", test("a", 1));
    const configs = await open();
    configs.dispose();
    await put("a.json", test("a", 2));
    await configs.resync();
    expect(configs.get("default/a")?.value).toBe(1);
    expect(errors).toEqual([]);
  });
});

describe("watchFile", () => {
  const openFile = () => watchFile(rt, join(folder, "one.json"), (text) => parse(text)[0], fast);

  it("S146 rejects a first failure, keeps the value at later ones, and follows changes", async () => {
    await expect(openFile()).rejects.toMatchObject({ code: "KRT_SOURCE" });
    expect(errors).toEqual([]);
    await put("one.json", test("one", 1));
    const one = await openFile();
    expect(one.value).toEqual(test("one", 1));
    const tracker = trackEvents(one, { replay: false });
    await writeFile(join(folder, "one.json"), "{");
    await eventually(() => expect(errors[0]?.code).toBe("KRT_SOURCE"));
    expect(one.value).toEqual(test("one", 1));
    await put("new.json", test("one", 2));
    await rename(join(folder, "new.json"), join(folder, "one.json"));
    await eventually(() => expect(one.value).toEqual(test("one", 2)));
    await rt.settled();
    expect(tracker.take()).toEqual(["update/default/one"]);
  });

  it("keeps the value of a file that is deleted, and follows its return", async () => {
    await put("one.json", test("one", 1));
    const one = await openFile();
    await rm(join(folder, "one.json"));
    await eventually(() => expect(errors.length).toBeGreaterThan(0));
    expect(one.value).toEqual(test("one", 1));
    await put("one.json", test("one", 2));
    await eventually(() => expect(one.value?.value).toBe(2));
  });

  it("follows the file behind a link in another folder", async () => {
    await mkdir(join(folder, "real"));
    await put("real/target.json", test("one", 1));
    await symlink(join("real", "target.json"), join(folder, "one.json"));
    const one = await openFile();
    await put("real/target.json", test("one", 2));
    await eventually(() => expect(one.value?.value).toBe(2));
  });

  it("is a dependency like any other", async () => {
    await put("one.json", test("one", 1));
    const one = await openFile();
    const doubled = rt.deriveSingleton((ctx) => (ctx.fetchOne(one)?.value ?? 0) * 2);
    expect(doubled.value).toBe(2);
    await put("one.json", test("one", 4));
    await eventually(() => expect(doubled.value).toBe(8));
  });
});
